package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"remit/internal/engine/approval"
)

// answered returns the responses of a batch by id.
func answered(t testing.TB, text string) map[string]map[string]any {
	t.Helper()
	var all []map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("not a list of answers: %s", text)
	}
	byID := map[string]map[string]any{}
	for _, one := range all {
		byID[mustJSON(t, one["id"])] = one
	}
	if len(byID) != len(all) {
		t.Errorf("an id twice: %s", text)
	}
	return byID
}

// TestBatch checks that 2025-03-26 has batches, whose responses are one list.
func TestBatch(t *testing.T) {
	s := newRig(t, setup{}).initialize("2025-03-26", allThree)
	got := s.post(`[` + strings.Join([]string{
		ping, call("a", "test_simple_text", `{}`), message(nil, "notifications/initialized", `{}`),
		message(3, "no/such", `{}`), message(4, "initialize", `{"protocolVersion":"2025-03-26"}`), ping,
	}, ",") + `]`)
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %v", got.status, got.header)
	}
	var all []map[string]any
	if err := json.Unmarshal([]byte(got.body), &all); err != nil || len(all) != 5 {
		t.Fatalf("got %s", got.body)
	}
	if all[0]["id"] != 7.0 || all[1]["id"] != "a" || at(mustJSON(t, all[2]), "error", "code") != -32601.0 || at(mustJSON(t, all[3]), "error", "code") != -32600.0 {
		t.Errorf("got %s", got.body)
	}
	if s.http.Sessions() != 1 {
		t.Errorf("a greeting in a batch opened a session")
	}
	one := s.post(`[` + ping + `]`)
	if answered(t, one.body)["7"]["result"] == nil {
		t.Errorf("a batch of one: %s", one.body)
	}
}

func TestBatchRefusals(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-03-26", allThree)
	for _, tc := range []struct {
		name, body string
		status     int
	}{
		{"notifications alone", `[` + message(nil, "notifications/initialized", `{}`) + `,` + message(nil, "notifications/x", `{}`) + `]`, 202},
		{"answers alone", `[{"jsonrpc":"2.0","id":"remit-9","result":{}}]`, 202},
		{"nothing", `[]`, 400},
		{"too many", `[` + strings.Repeat(ping+",", 100) + ping + `]`, 400},
		{"something else", `[` + ping + `,7]`, 400},
		{"a batch in a batch", `[[` + ping + `]]`, 400},
	} {
		if got := s.post(tc.body); got.status != tc.status || tc.status == 202 && got.body != "" || tc.status == 400 && got.code() != -32600.0 {
			t.Errorf("%s: %d %s, want %d", tc.name, got.status, got.body, tc.status)
		}
	}
	for _, version := range []string{"2025-11-25", "2025-06-18", "2024-11-05"} {
		r.initialize(version, `{}`).post(`[`+ping+`]`).want(t, version, 400, -32600)
	}
	r.post(`[`+ping+`]`).want(t, "no session", 400, -32600)
	r.post(`[`+modern(1, "server/discover", "", `{}`)+`]`, "MCP-Protocol-Version", "2026-07-28").want(t, "modern", 400, -32600)
}

// TestBatchThatAsks checks that questions come first and the responses together.
func TestBatchThatAsks(t *testing.T) {
	s := newRig(t, setup{}).initialize("2025-03-26", allThree)
	stream := s.start(`[` + call(1, "test_elicitation", `{"message":"m"}`) + `,` + call(2, "test_sampling", `{"prompt":"p"}`) + `,` + ping + `]`)
	for range 2 {
		s.post(answerTo(stream.next()))
	}
	rest := stream.ended()
	if len(rest) != 1 {
		t.Fatalf("got %+v", rest)
	}
	if got := answered(t, rest[0].data); got["1"]["result"] == nil || got["2"]["result"] == nil || got["7"]["result"] == nil {
		t.Errorf("got %s", rest[0].data)
	}
}

// TestBatchCanceled checks that canceled requests get no response, even if none is left.
func TestBatchCanceled(t *testing.T) {
	s := newRig(t, setup{}).initialize("2025-03-26", allThree)
	for _, others := range []string{"", "," + ping} {
		answers := make(chan reply, 1)
		go func() { answers <- s.post(`[` + call(1, "slow_compute", `{"seconds":60}`) + others + `]`) }()
		eventually(t, "the batch was taken back", func() bool {
			s.post(message(nil, "notifications/cancelled", `{"requestId":1}`))
			return len(answers) == 1
		})
		got := <-answers
		if others == "" {
			if got.body == "[]" || got.at("result") != nil {
				t.Errorf("got %s", got.body)
			}
			continue
		}
		if all := answered(t, got.body); len(all) != 1 || all["7"] == nil {
			t.Errorf("got %s", got.body)
		}
	}
}

// TestBatchOverStdio checks batches over stdio.
func TestBatchOverStdio(t *testing.T) {
	a, _ := open(t, approval.Auto)
	greeting := message(0, "initialize", `{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	for _, tc := range []struct {
		name, batch string
		want        []string // ids
		none        bool
	}{
		{"requests", `[` + ping + `,` + hello + `]`, []string{"7", "99"}, false},
		{"with a notification", `[` + message(nil, "notifications/initialized", `{}`) + `,` + ping + `]`, []string{"7"}, false},
		{"with a greeting", `[` + message(5, "initialize", `{}`) + `,` + ping + `]`, []string{"5", "7"}, false},
		{"notifications alone", `[` + message(nil, "notifications/initialized", `{}`) + `]`, nil, true},
		{"with a stream of the other era", `[` + modern("l", "subscriptions/listen", `"notifications":{}`, `{}`) + `,` + ping + `]`, []string{`"l"`, "7"}, false},
		{"with the other era", `[` + modern("d", "server/discover", ``, `{}`) + `,` + ping + `]`, []string{`"d"`, "7"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := converse(t, a)
			c.send(greeting)
			c.receive()
			c.send(tc.batch)
			c.send(message("last", "ping", `{}`))
			var list string
			for range 2 {
				line := c.receive()
				if strings.HasPrefix(line, "[") {
					list = line
				} else if strings.Contains(line, `"last"`) && (tc.none || list != "") {
					break
				}
			}
			c.end()
			if tc.none {
				return
			}
			got := answered(t, list)
			if len(got) != len(tc.want) {
				t.Errorf("got %s, want %v", list, tc.want)
			}
			for _, id := range tc.want {
				if got[id] == nil {
					t.Errorf("no answer to %s: %s", id, list)
				}
			}
		})
	}
	c := converse(t, a)
	c.send(greeting)
	c.receive()
	for _, bad := range []string{`[]`, `[` + strings.Repeat(ping+",", 100) + ping + `]`, `[7]`} {
		c.send(bad)
		if got := c.receive(); at(got, "error", "code") != -32600.0 {
			t.Errorf("%.20s: %s", bad, got)
		}
	}
	c.end()
}
