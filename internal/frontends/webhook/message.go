package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/visible"
)

// payload is the JSON body of a message.
type payload struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Version   string `json:"version"`
	Principal string `json:"principal"`
	Summary   string `json:"summary"`
	Arguments string `json:"arguments_preview"`
	Effect    string `json:"effect_preview,omitempty"`
	CreatedAt string `json:"created_at"`
	ExpiresAt string `json:"expires_at"`
	URL       string `json:"url,omitempty"`
}

// maxPreviewBytes is the maximum size of each preview in bytes. The approval page shows
// all arguments.
const maxPreviewBytes = 4 << 10

// compose creates the message for an approval request.
func (s *Sender) compose(r approval.Request, shown approval.Shown) *message {
	now := s.Now()
	m := &message{id: r.ID, header: http.Header{}, due: now, until: now.Add(maxRetryTime)}
	if r.ExpiresAt.Before(m.until) {
		m.until = r.ExpiresAt // after that, nobody can decide
	}
	switch s.Format {
	case Slack:
		s.notice(r).forSlack(m)
	case Ntfy:
		s.notice(r).forNtfy(m)
	default:
		m.setJSON(s.payload(r, shown))
	}
	return m
}

func (s *Sender) payload(r approval.Request, shown approval.Shown) payload {
	content := payload{
		Type: "approval.requested", ID: r.ID, Tool: r.Tool, Version: r.Version,
		Principal: visible.Line(r.Principal), Summary: masked(visible.Line(r.Summary)), Arguments: preview(masked(string(r.Arguments))),
		Effect:    cut(masked(shown.Text()), maxPreviewBytes),
		CreatedAt: r.CreatedAt.UTC().Format(time.RFC3339), ExpiresAt: r.ExpiresAt.UTC().Format(time.RFC3339),
	}
	if s.Link != nil {
		content.URL = s.Link(r.ID)
	}
	return content
}

// setJSON sets the body and its type.
func (m *message) setJSON(content any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(content) // structs of strings never fail
	m.body = bytes.TrimSuffix(body.Bytes(), []byte("\n"))
	m.header.Set("Content-Type", "application/json")
}

// masked replaces credentials: a message may be stored and forwarded where the call may not. The
// approval page shows them.
func masked(text string) string {
	const enough = 4 * maxPreviewBytes // of a large text only the start is sent
	return audit.Mask(cut(text, enough), "***")
}

// preview returns the start of a text with invisible characters escaped, so that a caller cannot
// disguise the arguments.
func preview(text string) string {
	const more = "…"
	head := cut(text, maxPreviewBytes) // do not escape a large text in full
	shown := visible.Line(head)
	if len(head) == len(text) && len(shown) <= maxPreviewBytes {
		return shown
	}
	return cut(shown, maxPreviewBytes-len(more)) + more
}

// cut truncates a text to at most limit bytes, without splitting a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// post makes one attempt. Its error does not contain the URL.
func (s *Sender) post(ctx context.Context, m *message) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(m.body))
	if err != nil {
		return errors.New("the webhook URL is not valid")
	}
	r.Header = m.header.Clone()
	r.Header.Set("User-Agent", "remit")
	if s.Format.Signed() {
		id, stamp := "msg_"+m.id, strconv.FormatInt(s.Now().Unix(), 10)
		r.Header.Set("Webhook-Id", id)
		r.Header.Set("Webhook-Timestamp", stamp)
		r.Header.Set("Webhook-Signature", "v1,"+sign(s.Secret, id, stamp, m.body))
	}
	response, err := s.client.Do(r)
	var wrapped *url.Error
	switch {
	case errors.As(err, &wrapped):
		return wrapped.Err // without the URL
	case err != nil:
		return err
	}
	_ = response.Body.Close() // the response body is not used
	switch {
	case response.StatusCode == http.StatusGone:
		return errGone
	case response.StatusCode < 200 || response.StatusCode > 299:
		return fmt.Errorf("the server answered %d", response.StatusCode)
	}
	return nil
}

// sign returns the signature of a message as the Standard Webhooks specification defines it.
func sign(secret []byte, id, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// minSecretBytes is the minimum size of a secret in bytes. A receiver of one message can try to
// guess it offline, without limit.
const minSecretBytes = 16

// ParseSecret parses a secret: either whsec_ and base64, as services show it, or plain text. Its
// errors do not contain the secret.
func ParseSecret(text string) ([]byte, error) {
	secret := []byte(text)
	if rest, ok := strings.CutPrefix(text, "whsec_"); ok {
		var err error
		if secret, err = base64.StdEncoding.DecodeString(rest); err != nil {
			return nil, errors.New("what follows whsec_ must be base64")
		}
	}
	if len(secret) < minSecretBytes {
		return nil, fmt.Errorf("it has %d bytes and needs at least %d; create one with: openssl rand -base64 32", len(secret), minSecretBytes)
	}
	return secret, nil
}
