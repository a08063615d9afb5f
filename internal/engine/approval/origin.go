package approval

import (
	"encoding/json"
	"strings"

	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
	"remit/internal/visible"
)

// Origin says where a request comes from, for the person who decides. Only Frontend is known; the
// rest is what the caller says about itself, and proves nothing.
type Origin struct {
	Frontend string // the front end that received the call
	Client   string // the client's own name
	Session  string // identifies the connection or the session, if there is one
	// CallerReason is why the caller wants the call, in its own words. Pages must mark it as such.
	CallerReason string
}

// Limits of what a caller says about itself, in characters.
const (
	MaxCallerReason = 400
	maxClientName   = 100
	maxTarget       = 300
)

// public returns the origin as people may see it: in one line each, shortened, with hidden
// characters escaped and credentials masked as in audit records.
func (o Origin) public() Origin {
	return Origin{
		Frontend:     visible.Line(o.Frontend),
		Client:       words(o.Client, maxClientName),
		Session:      words(o.Session, maxClientName),
		CallerReason: words(o.CallerReason, MaxCallerReason),
	}
}

// words returns a caller's text as people may see it, of at most limit characters and a sign that
// there are more.
func words(text string, limit int) string {
	const longest = 16 // bytes for each character that is shown, so that a long text costs little
	text = strings.ToValidUTF8(text[:min(len(text), longest*limit)], "\ufffd")
	text = visible.Line(audit.Mask(strings.Join(strings.Fields(text), " "), "***"))
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return text
}

// Via names the way on which a call came, for people: the front end, and the client if it said its
// name.
func (o Origin) Via() string {
	if o.Client == "" {
		return o.Frontend
	}
	return strings.TrimSpace(o.Frontend + ", client " + Quote(o.Client))
}

// CallerWords introduces a CallerReason wherever people read it.
const CallerWords = "The caller's words, not checked by Remit"

// ReasonLine returns the caller's reason as a line that says whose words it has, or "".
func (r Request) ReasonLine() string {
	if r.CallerReason == "" {
		return ""
	}
	return CallerWords + ": “" + quotes.Replace(visible.Line(r.CallerReason)) + "”\n"
}

// Words returns the texts by which a search finds the request, in lower case.
func (r Request) Words() string {
	const maxArguments = 2000 // bytes of the arguments that can be searched
	var arguments string
	if json.Valid(r.Arguments) {
		arguments = string(r.Arguments[:min(len(r.Arguments), maxArguments)])
	}
	all := strings.Join([]string{r.ID, r.Tool, r.Principal, r.Summary, r.Target, r.Client, r.CallerReason, arguments}, " ")
	return strings.ReplaceAll(strings.ToLower(strings.ToValidUTF8(all, "")), "\x00", "")
}

// askSeal proves what a request says about its call besides the arguments, to which its key binds
// it: the person who decides reads it.
func (s *Sealed) askSeal(r *Request) string {
	return identity.Seal(s.Secret, "asked 1", r.ID, r.Key, r.Principal, r.Tool, r.Version, r.Summary, r.Target,
		r.Frontend, r.Client, r.Session, r.CallerReason, stamp(r.CreatedAt))
}
