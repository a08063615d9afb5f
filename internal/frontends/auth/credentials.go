package auth

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

// guessRate is how many requests with bad credentials of one address are answered with
// a reason and recorded. Only failures count.
var guessRate = ratelimit.Rate{Requests: 30, Per: time.Minute}

// countGuess counts a bad guess, and returns how long to wait if it was one too many.
// The counts stay in memory: an unknown caller must not cause writes to a database.
func (d *Door) countGuess(from netip.Prefix, now time.Time) time.Duration {
	d.guessesOnce.Do(func() { d.guesses = ratelimit.NewMemory() })
	wait, _ := d.guesses.Allow(context.Background(), from.String(), guessRate, now) // fails for an invalid rate only
	return wait
}

// Address tells from where a request comes, as people write it: an address, or the
// network of one of IPv6. Requests from nowhere that can be told are all "unknown".
func (d *Door) Address(r *http.Request) string { return shown(d.sender(r)) }

func shown(from netip.Prefix) string {
	switch {
	case !from.IsValid():
		return "unknown"
	case from.IsSingleIP():
		return from.Addr().String()
	}
	return from.String()
}

// sender is the address that a request comes from. Whoever has one of IPv6 has a whole
// network of them, so that is what counts.
func (d *Door) sender(r *http.Request) netip.Prefix {
	if d.BehindProxy {
		// Only the last hop was written by the proxy; the others by whoever likes to.
		if hops := r.Header["X-Forwarded-For"]; len(hops) > 0 {
			last := hops[len(hops)-1]
			if from := network(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])); from.IsValid() {
				return from
			}
		}
	}
	return network(r.RemoteAddr)
}

// network is that of an address, with a port or without. It is not valid if the text
// is no address; all of those count as one.
func network(address string) netip.Prefix {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	ip, err := netip.ParseAddr(strings.Trim(address, "[]"))
	if err != nil {
		return netip.Prefix{}
	}
	bits := 64
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		bits = 32
	}
	from, _ := ip.Prefix(bits) // fails for a length that the kind of address does not have
	return from
}

// failed counts and records bad credentials, and gives what their sender is told. What
// could not be checked, or is one too many, is neither.
func (d *Door) failed(r *http.Request, no *refusal, now time.Time) *refusal {
	if no.status >= http.StatusInternalServerError {
		return no
	}
	from := d.sender(r)
	if wait := d.countGuess(from, now); wait > 0 {
		return tooOften(wait, tooManyGuesses)
	}
	d.Log.Info("refused", "path", clip(r.URL.Path), "address", shown(from), "reason", no.why, "cause", no.cause)
	if d.Audit == nil {
		return no
	}
	err := d.Audit.Write(context.WithoutCancel(r.Context()), &audit.Record{
		Time: now, Face: "http", Client: clip(r.UserAgent()), Tool: "door/token",
		Arguments: jsontree.Obj(
			jsontree.M("address", jsontree.Str(shown(from))),
			jsontree.M("path", jsontree.Str(clip(r.URL.Path))),
			jsontree.M("reason", jsontree.Str(no.why)),
		),
		Outcome: "denied", Duration: d.Now().Sub(now),
	}, false)
	if err != nil {
		d.Log.Error("the audit record could not be kept", "tool", "door/token", "error", err)
	}
	return no
}

const tooManyGuesses = "Too many requests with bad credentials came from your address"

// clip cuts what goes into every record.
func clip(text string) string {
	const most = 100
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// longestToken is how many bytes a token may have. Those of issuers that name many
// groups take several thousand.
const longestToken = 8 << 10

// bearer reads the token of a request, as RFC 6750 says that it is sent. Nothing that
// it says of a token repeats any of it.
func bearer(r *http.Request) (string, *refusal) {
	given := r.Header["Authorization"]
	switch {
	case hasQueryToken(r.URL):
		return "", malformed("A token in the address ends up in logs; send it as the header Authorization: Bearer TOKEN, and make a new one")
	case len(given) > 1:
		return "", malformed("The header Authorization was sent %d times; send it once", len(given))
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.Trim(token, " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return "", &refusal{status: http.StatusUnauthorized, why: "This server takes tokens alone; send the header Authorization: Bearer TOKEN"}
	case token == "":
		return "", bad("The header Authorization has no token; send Bearer TOKEN")
	case len(token) > longestToken:
		return "", bad("The token has %d bytes; %d are the most that are looked at", len(token), longestToken)
	case !isToken68(token):
		return "", bad("The token has characters that no token has; perhaps it was copied with quotation marks or a line break")
	}
	return token, nil
}

// isToken68 tells whether the text is written in the characters of tokens.
func isToken68(text string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/"
	body := strings.TrimRight(text, "=")
	return body != "" && strings.Trim(body, characters) == ""
}

// isOurs tells a token of this server from those of others.
func isOurs(token string) bool { return strings.HasPrefix(token, identity.Prefix) }

// hasQueryToken tells whether an address carries a token, however that is spelled.
func hasQueryToken(u *url.URL) bool {
	if u.RawQuery == "" {
		return false
	}
	for pair := range strings.FieldsFuncSeq(u.RawQuery, func(c rune) bool { return c == '&' || c == ';' }) {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil && plain == "access_token" {
			return true
		}
	}
	return false
}
