package sqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/stores/sqlstore"
)

func subject() approval.Subject {
	return approval.Subject{Workspace: "/w", Principal: "ann", Tool: "demo/note", Digest: "sha256:1", Arguments: []byte(`{"a":1}`), Window: time.Hour}
}

func sealedGate(t *testing.T, url, secret string) (*approval.Gate, *approval.Sealed) {
	t.Helper()
	store := &approval.Sealed{Store: open(t, url).Approvals(), Secret: []byte(secret)}
	return &approval.Gate{Mode: approval.Ask, Store: store, Now: noon}, store
}

func pendingID(t *testing.T, g *approval.Gate, s approval.Subject) string {
	t.Helper()
	_, err := g.Pass(t.Context(), s, nil)
	e := contract.AsError(err)
	if e.Kind != contract.Pending {
		t.Fatalf("Pass = %v, want pending", e)
	}
	return e.Details["approval"].(map[string]any)["id"].(string)
}

func TestSealedApprovalCountsOnce(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		g, store := sealedGate(t, url(t), "secret")
		id := pendingID(t, g, subject())
		if _, err := store.Decide(t.Context(), id, approval.Verdict{Approve: true, By: "grace"}, noon(), noon().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Pass(t.Context(), subject(), nil); err != nil {
			t.Errorf("an approved call does not pass: %v", err)
		}
		pendingID(t, g, subject())
	})
}

// TestDatabaseCannotApprove checks that no change of the database makes an unapproved call pass.
func TestDatabaseCannotApprove(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		const approveAll = `UPDATE approvals SET state = 'approved', open_key = NULL, decided_by = 'cli:alice', decided_at = created_at`
		for _, tc := range []struct{ name, statement string }{
			{"a row", approveAll},
			{"a row with a seal", approveAll + `, seal = 'aaaa'`},
			{"a trigger", `CREATE TRIGGER t AFTER INSERT ON approvals BEGIN ` + approveAll + ` WHERE id = new.id; END`},
		} {
			t.Run(tc.name, func(t *testing.T) {
				at := url(t)
				if tc.name == "a trigger" && sqlstore.IsPostgres(at) {
					t.Skip("a file can be brought along, a server cannot; and it has another SQL for triggers")
				}
				g, _ := sealedGate(t, at, "secret")
				pendingID(t, g, subject())
				behind(t, at, tc.statement)
				for range 3 {
					pendingID(t, g, subject())
				}
			})
		}
	})
}

func TestDecisionOfAnotherMachine(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		theirs, store := sealedGate(t, at, "their secret")
		id := pendingID(t, theirs, subject())
		if _, err := store.Decide(t.Context(), id, approval.Verdict{Approve: true, By: "mallory"}, noon(), noon().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		ours, _ := sealedGate(t, at, "our secret")
		pendingID(t, ours, subject())
	})
}

// TestPersonSeesWhatIsApproved checks that a request cannot be decided if it shows other arguments
// than those it stands for.
func TestPersonSeesWhatIsApproved(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		g, store := sealedGate(t, at, "secret")
		id := pendingID(t, g, subject())
		behind(t, at, `UPDATE approvals SET arguments = '{"a":"harmless"}'`)
		_, err := store.Decide(t.Context(), id, approval.Verdict{Approve: true, By: "grace"}, noon(), noon().Add(time.Hour))
		if err == nil || contract.AsError(err).Kind != contract.Conflict {
			t.Errorf("Decide = %v, want a conflict", err)
		}
	})
}

// TestDatabaseCannotDescribe checks that a person is told nothing about a call that was put into
// the database, and can still decide about it: an older version asked without a seal.
func TestDatabaseCannotDescribe(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		about := subject()
		about.Summary, about.Target = "Add a note", "a.md"
		about.Origin = approval.Origin{Frontend: "http", Client: "agent", Session: "s", CallerReason: "why"}
		at := url(t)
		g, store := sealedGate(t, at, "secret")
		id := pendingID(t, g, about)
		r, err := store.Get(t.Context(), id)
		if err != nil || r.Summary != about.Summary || r.Target != about.Target || r.Origin != about.Origin {
			t.Errorf("asked %+v, error %v", r, err)
		}
		for _, column := range []string{"summary", "target", "frontend", "client", "session", "caller_reason", "principal", "tool", "version", "asked_seal"} {
			t.Run(column, func(t *testing.T) {
				behind(t, at, `UPDATE approvals SET `+column+` = 'x'`)
				list, err := store.List(t.Context(), approval.ListOptions{Now: noon()})
				if err != nil || len(list) != 1 || list[0].Summary != "Call "+list[0].Tool || list[0].Target != "" || list[0].Origin != (approval.Origin{}) {
					t.Errorf("listed %+v, error %v", list, err)
				}
				if r, err := store.Get(t.Context(), id); err != nil || r.Origin != (approval.Origin{}) {
					t.Errorf("got %+v, error %v", r, err)
				}
				original := map[string]string{
					"summary": "Add a note", "target": "a.md", "frontend": "http", "client": "agent", "session": "s",
					"caller_reason": "why", "principal": "ann", "tool": "demo/note", "version": "", "asked_seal": "",
				}
				behind(t, at, `UPDATE approvals SET `+column+` = '`+original[column]+`'`)
			})
		}
		decided, err := store.Decide(t.Context(), id, approval.Verdict{Approve: true, By: "grace"}, noon(), noon().Add(time.Hour))
		if err != nil || decided.Summary != "Call demo/note" {
			t.Errorf("without a seal, decided %+v, error %v", decided, err)
		}
	})
}

// TestDatabaseCannotSetAnExample checks that a forged decision is no decision of before.
func TestDatabaseCannotSetAnExample(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		g, store := sealedGate(t, at, "secret")
		var last string
		for i := range 2 {
			s := subject()
			s.Arguments = fmt.Appendf(nil, `{"a":%d}`, i)
			last = pendingID(t, g, s)
		}
		if _, err := store.Decide(t.Context(), last, approval.Verdict{By: "grace"}, noon(), noon().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		behind(t, at, `UPDATE approvals SET state = 'approved', decided_by = 'grace', decided_at = created_at WHERE state = 'pending'`)
		like, err := store.Get(t.Context(), last)
		if err != nil {
			t.Fatal(err)
		}
		similar, err := store.Similar(t.Context(), approval.SimilarTo(like, noon()))
		if err != nil || len(similar) != 1 || similar[0].ID != last {
			t.Errorf("similar: %+v, error %v", similar, err)
		}
	})
}

func TestApprovalsAreForOneWorkspace(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		g, store := sealedGate(t, url(t), "secret")
		id := pendingID(t, g, subject())
		if _, err := store.Decide(t.Context(), id, approval.Verdict{Approve: true, By: "grace"}, noon(), noon().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		elsewhere := subject()
		elsewhere.Workspace = "/other"
		pendingID(t, g, elsewhere)
	})
}

func TestOpenRequestsAreLimited(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		g, store := sealedGate(t, url(t), "secret")
		s := subject()
		var first string
		for i := range approval.MaxPending {
			s.Arguments = fmt.Appendf(nil, `{"a":%d}`, i)
			id := pendingID(t, g, s)
			if i == 0 {
				first = id
			}
		}
		pendingID(t, g, s) // a request that is open already may be repeated
		s.Arguments = []byte(`{"a":"one too many"}`)
		if _, err := g.Pass(t.Context(), s, nil); contract.AsError(err).Kind != contract.Limited {
			t.Errorf("Pass = %v, want limited", err)
		}
		other := s
		other.Principal = "bob"
		pendingID(t, g, other)
		if _, err := store.Decide(t.Context(), first, approval.Verdict{By: "grace"}, noon(), noon().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		pendingID(t, g, s)
	})
}

func TestOldRequestsAreDeleted(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		g, store := sealedGate(t, at, "secret")
		old := pendingID(t, g, subject())
		g.Now = func() time.Time { return noon().AddDate(0, 2, 0) }
		s := subject()
		s.Arguments = []byte(`{"a":2}`)
		pendingID(t, g, s)
		if _, err := store.Get(t.Context(), old); err == nil {
			t.Error("a request of two months ago is still there")
		}
	})
}
