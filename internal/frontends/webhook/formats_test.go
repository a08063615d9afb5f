package webhook_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine/approval"
	"remit/internal/frontends/webhook"
)

// hostile is a name that a caller chose, with control sequences of Slack, of headers and of
// terminals.
const hostile = "<!channel> *b* <https://evil.example|Approve> &amp;\r\nPriority: max\u202e"

// delivered returns the message that a request becomes in a format.
func delivered(t *testing.T, f webhook.Format, change func(*webhook.Sender, *approval.Request)) (http.Header, string) {
	t.Helper()
	type received struct {
		header http.Header
		body   string
	}
	got := make(chan received, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- received{r.Header, string(body)}
	}))
	defer server.Close()
	sender := &webhook.Sender{
		URL: server.URL, Format: f, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Link:  func(id string) string { return "https://remit.example.com/console/approvals/" + id },
		About: func(string) (string, bool) { return "Add a task", false },
	}
	asked := request("k3v9q2xa7m", time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC))
	change(sender, &asked)
	sender.Requested(asked, approval.Shown{Title: "Add milk", After: "milk\n"})
	one := <-got
	sender.Close()
	for _, secret := range []string{"milk", "Webhook-Signature"} {
		if strings.Contains(one.body, secret) || one.header.Get(secret) != "" {
			t.Errorf("the message contains %s:\n%v\n%s", secret, one.header, one.body)
		}
	}
	return one.header, one.body
}

func TestSlack(t *testing.T) {
	header, body := delivered(t, webhook.Slack, func(*webhook.Sender, *approval.Request) {})
	want := `{"text":"Waiting for approval: Add a task, asked by agent:ci","mrkdwn":false,"unfurl_links":false,"unfurl_media":false,"blocks":[` +
		`{"type":"section","text":{"type":"plain_text","text":"Waiting for approval: Add a task"}},` +
		`{"type":"context","elements":[{"type":"plain_text","text":"agent:ci"},{"type":"plain_text","text":"tasks/add_task"},` +
		`{"type":"mrkdwn","text":"<https://remit.example.com/console/approvals/k3v9q2xa7m|Review the request>, ` +
		`expires <!date^1794834000^{date_short_pretty} at {time}|2026-11-16 13:00 UTC>","verbatim":true}]}]}`
	if diff := cmp.Diff(want, body); diff != "" || header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s", header.Get("Content-Type"), diff)
	}
}

// TestSlackEscapes checks that no name can mention a channel, show a link or break a line.
func TestSlackEscapes(t *testing.T) {
	_, body := delivered(t, webhook.Slack, func(s *webhook.Sender, r *approval.Request) {
		r.Principal, r.Summary = "agent:"+hostile, hostile
		s.Link, s.About = nil, func(string) (string, bool) { return "Add a task", true }
	})
	const escaped = `agent:&lt;!channel&gt; *b* &lt;https://evil.example|Approve&gt; &amp;amp;\\r\\nPriority: max\\u202e`
	if strings.Count(body, escaped) != 2 || strings.Count(body, "<") != 1 || !strings.Contains(body, `"text":"destructive, expires <!date`) {
		t.Error(body)
	}
}

func TestNtfy(t *testing.T) {
	header, body := delivered(t, webhook.Ntfy, func(*webhook.Sender, *approval.Request) {})
	if diff := cmp.Diff("agent:ci asks for tasks/add_task. It expires at 2026-11-16 13:00 UTC.", body); diff != "" {
		t.Error(diff)
	}
	got := []string{header.Get("Title"), header.Get("Priority"), header.Get("Click"), header.Get("Tags"), header.Get("Content-Type")}
	want := []string{"Waiting for approval: Add a task", "default", "https://remit.example.com/console/approvals/k3v9q2xa7m", "", "text/plain; charset=utf-8"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNtfyPriority checks what counts as urgent, and that names cannot add headers.
func TestNtfyPriority(t *testing.T) {
	header, body := delivered(t, webhook.Ntfy, func(s *webhook.Sender, r *approval.Request) {
		r.Principal = "agent:" + hostile
		s.Link, s.About = nil, func(string) (string, bool) { return "Aufgabe löschen\n", true }
	})
	if header.Get("Priority") != "high" || header.Get("Tags") != "warning" || header.Get("Click") != "" ||
		header.Get("Title") != "=?utf-8?b?V2FpdGluZyBmb3IgYXBwcm92YWw6IEF1ZmdhYmUgbMO2c2NoZW5cbg==?=" {
		t.Errorf("%v", header)
	}
	if !strings.Contains(body, `&amp;\r\nPriority: max\u202e asks for tasks/add_task, which is destructive.`) {
		t.Error(body)
	}
	header, _ = delivered(t, webhook.Ntfy, func(_ *webhook.Sender, r *approval.Request) { r.ExpiresAt = r.CreatedAt.Add(10 * time.Minute) })
	if header.Get("Priority") != "high" {
		t.Errorf("%v", header)
	}
}
