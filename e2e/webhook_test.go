package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// hook is a server that is told of requests.
type hook struct {
	arrived chan hooked
	answers chan int // the status of each answer; 200 when there is none left
	secret  string
}

type hooked struct {
	id, path string
	genuine  bool
	body     struct{ Type, ID, Tool, Principal, URL, Summary string }
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	got := hooked{id: r.Header.Get("Webhook-Id"), path: r.URL.Path}
	mac := hmac.New(sha256.New, []byte(h.secret)) // by the words of the documentation, not with our own code
	mac.Write([]byte(got.id + "." + r.Header.Get("Webhook-Timestamp") + "." + string(data)))
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	got.genuine = hmac.Equal([]byte(r.Header.Get("Webhook-Signature")), []byte(want)) && json.Unmarshal(data, &got.body) == nil
	status := http.StatusOK
	select {
	case status = <-h.answers:
	default:
	}
	if status == http.StatusFound {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
	h.arrived <- got
}

// await gives the next message.
func (h *hook) await(t *testing.T) hooked {
	t.Helper()
	select {
	case got := <-h.arrived:
		if !got.genuine || got.path != "/hook" {
			t.Errorf("got %+v, want a message that is signed, at /hook", got)
		}
		return got
	case <-time.After(patience):
		t.Fatal("nobody was told")
		return hooked{}
	}
}

// TestWebhook: a server is told of a request, again if it fails or leads elsewhere, and only
// once it worked; the answer decides nothing, a person does.
func TestWebhook(t *testing.T) {
	t.Parallel()
	h := &hook{arrived: make(chan hooked, 10), answers: make(chan int, 2), secret: "a secret of many characters"}
	server := httptest.NewServer(h)
	defer server.Close()
	h.answers <- http.StatusFound
	s := newSpace(t, nil)
	agent := s.token("--name", "bot", "--scopes", "*", "--user", "ada")
	w := s.serveWith([]string{"REMIT_WEBHOOK_SECRET=" + h.secret}, "--webhook", server.URL+"/hook")
	began := time.Now()
	if got := w.post("/tools/write_memory_entry", entryArgs, bearer(agent)); got.status != http.StatusAccepted {
		t.Fatalf("a write does not wait: %d %s", got.status, got.body)
	}
	first, second := h.await(t), h.await(t)
	if first.id != second.id || time.Since(began) < time.Second {
		t.Errorf("%+v and then %+v after %s, want the same again after a second", first, second, time.Since(began))
	}
	told := second.body
	if told.Type != "approval.requested" || told.Tool != "learning-os/write_memory_entry" || told.Principal != "agent:bot" || told.URL != w.url+"/console/approvals/"+told.ID {
		t.Errorf("told %+v", told)
	}
	if got := w.post("/tools/write_memory_entry", entryArgs, bearer(agent)); got.status != http.StatusAccepted || s.read(".claude/memory/decisions.jsonl") != "" {
		t.Errorf("nobody has approved: %d %s", got.status, got.body)
	}
	if got := s.remit("approvals", "approve", told.ID, "--root", s.root); got.code != 0 {
		t.Fatalf("approve: %+v", got)
	}
	if got := w.post("/tools/write_memory_entry", entryArgs, bearer(agent)); got.status != 200 || !strings.Contains(s.read(".claude/memory/decisions.jsonl"), "SQLite") {
		t.Errorf("approved: %d %s", got.status, got.body)
	}
	w.kill()
	if len(h.arrived) > 0 {
		t.Errorf("told of the same request again: %+v", <-h.arrived)
	}
	if log := w.stderr.String(); !strings.Contains(log, "webhook failed; will retry") || strings.Contains(log, "/hook") || strings.Contains(log, h.secret) {
		t.Errorf("the log says too little, or too much: %s", log)
	}
}

// TestWebhookNeedsItsSecret: what cannot be signed is not begun, and a workspace that came
// from elsewhere cannot name who is told.
func TestWebhookNeedsItsSecret(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	if got := s.remit("tools", "--root", s.root, "--webhook", "https://hooks.example.com/x"); got.code == 0 || !strings.Contains(got.errOut, "REMIT_WEBHOOK_SECRET") {
		t.Errorf("without a secret: %+v", got)
	}
	s.write("remit.yaml", "webhook: https://evil.example.com/x\n")
	if got := s.remit("tools", "--root", s.root); got.code == 0 || !strings.Contains(got.errOut, "webhook") {
		t.Errorf("from the workspace: %+v", got)
	}
}
