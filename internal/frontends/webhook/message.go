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
)

// requested is the body of a message.
type requested struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Version   string `json:"version"`
	Principal string `json:"principal"`
	Summary   string `json:"summary"`
	Arguments string `json:"arguments_preview"`
	CreatedAt string `json:"created_at"`
	ExpiresAt string `json:"expires_at"`
	URL       string `json:"url,omitempty"`
}

// longestPreview is how many bytes of arguments are told. The page of the request
// shows all of them.
const longestPreview = 4 << 10

// compose writes the message of a request.
func (s *Sender) compose(r approval.Request) *message {
	says := requested{
		Type: "approval.requested", ID: r.ID, Tool: r.Tool, Version: r.Version, Principal: approval.Plain(r.Principal), Summary: approval.Plain(r.Summary),
		Arguments: preview(string(r.Arguments)), CreatedAt: r.CreatedAt.UTC().Format(time.RFC3339), ExpiresAt: r.ExpiresAt.UTC().Format(time.RFC3339),
	}
	if s.Link != nil {
		says.URL = s.Link(r.ID)
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(says) // texts can always be written
	now := s.Now()
	until := now.Add(longest)
	if r.ExpiresAt.Before(until) {
		until = r.ExpiresAt // nobody can decide later
	}
	return &message{id: r.ID, body: bytes.TrimSuffix(body.Bytes(), []byte("\n")), due: now, until: until}
}

// preview is the start of a text, with whatever does not show itself spelt out, so
// that a caller cannot word it to read like another.
func preview(text string) string {
	const more = "…"
	head := cut(text, longestPreview) // a text may be large, and most of it is not needed
	shown := approval.Plain(head)
	if len(head) == len(text) && len(shown) <= longestPreview {
		return shown
	}
	return cut(shown, longestPreview-len(more)) + more
}

// cut leaves at most so many bytes of a text, and no half character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// post makes one attempt. The error says nothing of the address but what the network
// does.
func (s *Sender) post(ctx context.Context, m *message) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(m.body))
	if err != nil {
		return errors.New("the address of the webhook is none")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "remit")
	id, stamp := "msg_"+m.id, strconv.FormatInt(s.Now().Unix(), 10)
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", stamp)
	r.Header.Set("Webhook-Signature", "v1,"+sign(s.Secret, id, stamp, m.body))
	answer, err := s.client.Do(r)
	var wrapped *url.Error
	switch {
	case errors.As(err, &wrapped):
		return wrapped.Err // without the address
	case err != nil:
		return err
	}
	_ = answer.Body.Close() // what it says is nobody's business
	switch {
	case answer.StatusCode == http.StatusGone:
		return errGone
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return fmt.Errorf("the server answered %d", answer.StatusCode)
	}
	return nil
}

// sign is the signature of Standard Webhooks.
func sign(secret []byte, id, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// leastSecret is how many bytes a secret must have: whoever sees one message can try
// guesses on it for ever.
const leastSecret = 16

// ParseSecret reads a secret as people write it: whsec_ and base64, as servers show
// it, or plain text. No error tells any of it.
func ParseSecret(text string) ([]byte, error) {
	secret := []byte(text)
	if rest, ok := strings.CutPrefix(text, "whsec_"); ok {
		var err error
		if secret, err = base64.StdEncoding.DecodeString(rest); err != nil {
			return nil, errors.New("what follows whsec_ must be base64")
		}
	}
	if len(secret) < leastSecret {
		return nil, fmt.Errorf("it has %d bytes and needs at least %d, such as those of: openssl rand -base64 32", len(secret), leastSecret)
	}
	return secret, nil
}
