package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
)

// TestRecordLink checks the record of a link's use, and that nobody waits for that of a read.
func TestRecordLink(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	r := newRig(t, func(o *engine.Options) { o.Now = func() time.Time { return now } })
	use := engine.LinkUse{
		Kind: engine.UploadLink, Principal: "agent:ci", Client: "curl/8", Link: "L1", Path: "books/a/assets/images/b.png", Address: "192.0.2.1",
		Started: now.Add(-time.Second), Size: 5, Sent: 7, Admitted: true, Effect: true,
	}
	read := engine.LinkUse{Kind: engine.AssetLink, Path: "x", Address: "192.0.2.1", Admitted: true}
	read.Err = contract.Errorf(contract.NotFound, "Content not found: x").Because(errors.New("/host/path"))
	for _, one := range []*engine.LinkUse{&use, &read} {
		if err := r.engine.RecordLink(t.Context(), one); err != nil {
			t.Error(err)
		}
	}
	got := r.records[0]
	if got.Tool != "links/upload" || got.Principal != "agent:ci" || got.Outcome != "ok" || got.Frontend != "http" || got.Client != "curl/8" ||
		got.Duration != time.Second || got.Bytes != 7 || !r.durable[0] ||
		string(got.Arguments.Append(nil)) != `{"path":"books/a/assets/images/b.png","address":"192.0.2.1","link":"L1","size":5}` {
		t.Errorf("recorded %+v %s, durable %t", got, got.Arguments.Append(nil), r.durable[0])
	}
	if got := r.records[1]; got.Outcome != "not_found" || r.durable[1] ||
		string(got.Arguments.Append(nil)) != `{"path":"x","address":"192.0.2.1","reason":"Content not found: x"}` {
		t.Errorf("recorded %+v %s, durable %t", got, got.Arguments.Append(nil), r.durable[1])
	}
	r.auditErr = errors.New("the disk is full")
	if r.engine.RecordLink(t.Context(), &use) == nil || r.engine.RecordLink(t.Context(), &read) != nil {
		t.Error("only a lost record of an effect is an error")
	}
}

// TestRefusedLinksAreRecorded checks that refused links are recorded, but not without limit, and
// that forged ones do not hide those of others.
func TestRefusedLinksAreRecorded(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	r := newRig(t, func(o *engine.Options) { o.Now = func() time.Time { return now } })
	refused := func(by, path string) {
		err := r.engine.RecordLink(t.Context(), &engine.LinkUse{
			Kind: engine.ArchiveLink, Principal: by, Path: path, Err: contract.Errorf(contract.Denied, "This link was altered"),
		})
		if err != nil {
			t.Error(err)
		}
	}
	for range 100 {
		refused("", strings.Repeat("x", 1000)+"\xff")
	}
	refused("agent:ci", "a")
	now = now.Add(time.Minute)
	refused("", "again")
	if len(r.records) != 32 {
		t.Fatalf("%d records, want 30, 1 of an agent, and 1 more", len(r.records))
	}
	first, agent, last := r.records[0].Arguments.Append(nil), r.records[30], r.records[31].Arguments.Append(nil)
	if len(first) > 400 || agent.Principal != "agent:ci" || agent.Outcome != "denied" || !strings.Contains(string(last), `"left_out":70`) {
		t.Errorf("recorded %s, %+v, %s", first, agent, last)
	}
}
