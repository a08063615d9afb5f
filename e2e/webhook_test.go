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

// webhookReceiver is a server that receives webhook messages.
type webhookReceiver struct {
	arrived chan delivery
	answers chan int // the status of each answer; 200 when the channel is empty
	secret  string
}

type delivery struct {
	id, path string
	genuine  bool
	body     struct{ Type, ID, Tool, Principal, URL, Summary string }
}

func (h *webhookReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	got := delivery{id: r.Header.Get("Webhook-Id"), path: r.URL.Path}
	mac := hmac.New(sha256.New, []byte(h.secret)) // verified as documented, without our own code
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

// next returns the next message.
func (h *webhookReceiver) next(t *testing.T) delivery {
	t.Helper()
	select {
	case got := <-h.arrived:
		if !got.genuine || got.path != "/hook" {
			t.Errorf("got %+v, want a signed message at /hook", got)
		}
		return got
	case <-time.After(timeout):
		t.Fatal("no message before the timeout")
		return delivery{}
	}
}

// TestWebhook checks that a request is sent to the webhook, sent again after a failure or a
// redirect, and not after a success. The webhook's answer decides nothing, only a person does.
func TestWebhook(t *testing.T) {
	t.Parallel()
	h := &webhookReceiver{arrived: make(chan delivery, 10), answers: make(chan int, 2), secret: "a secret of many characters"}
	server := httptest.NewServer(h)
	defer server.Close()
	h.answers <- http.StatusFound
	s := newWorkspace(t, nil)
	agent := s.token("--name", "bot", "--scopes", "*", "--user", "ada")
	w := s.serveWith([]string{"REMIT_WEBHOOK_SECRET=" + h.secret}, "--webhook", server.URL+"/hook")
	began := time.Now()
	if got := w.post("/tools/write_memory_entry", entryArgs, bearer(agent)); got.status != http.StatusForbidden || !strings.Contains(string(got.body), `"pending"`) {
		t.Fatalf("the write is not pending: %d %s", got.status, got.body)
	}
	first, second := h.next(t), h.next(t)
	if first.id != second.id || time.Since(began) < time.Second {
		t.Errorf("got %+v and then %+v after %s, want the same message again after a second", first, second, time.Since(began))
	}
	told := second.body
	if told.Type != "approval.requested" || told.Tool != "learning-os/write_memory_entry" || told.Principal != "agent:bot" || told.URL != w.url+"/console/approvals/"+told.ID {
		t.Errorf("got %+v", told)
	}
	if got := w.post("/tools/write_memory_entry", entryArgs, bearer(agent)); got.status != http.StatusForbidden || !strings.Contains(string(got.body), `"pending"`) || s.read(".claude/memory/decisions.jsonl") != "" {
		t.Errorf("without an approval: %d %s", got.status, got.body)
	}
	if got := s.person("approvals", "approve", told.ID, "--root", s.root); got.code != 0 {
		t.Fatalf("approve: %+v", got)
	}
	if got := w.post("/tools/write_memory_entry", entryArgs, bearer(agent)); got.status != 200 || !strings.Contains(s.read(".claude/memory/decisions.jsonl"), "SQLite") {
		t.Errorf("with an approval: %d %s", got.status, got.body)
	}
	w.kill()
	if len(h.arrived) > 0 {
		t.Errorf("got another message about the same request: %+v", <-h.arrived)
	}
	if log := w.stderr.String(); !strings.Contains(log, "webhook failed; will retry") || strings.Contains(log, "/hook") || strings.Contains(log, h.secret) {
		t.Errorf("the log lacks the failure, or contains the path or the secret: %s", log)
	}
}

// TestWebhookNeedsItsSecret checks that a webhook without a secret is rejected, and that the
// configuration of a workspace cannot set a webhook.
func TestWebhookNeedsItsSecret(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	if got := s.remit("tools", "--root", s.root, "--webhook", "https://hooks.example.com/x"); got.code == 0 || !strings.Contains(got.errOut, "REMIT_WEBHOOK_SECRET") {
		t.Errorf("without a secret: %+v", got)
	}
	s.write("remit.yaml", "webhook: https://evil.example.com/x\n")
	if got := s.remit("tools", "--root", s.root); got.code == 0 || !strings.Contains(got.errOut, "webhook") {
		t.Errorf("from the workspace: %+v", got)
	}
}
