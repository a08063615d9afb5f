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

// guessRate is how many requests with bad credentials from one address are answered with a reason
// and recorded. Only failures count.
var guessRate = ratelimit.Rate{Requests: 30, Per: time.Minute}

// countGuess counts a failed attempt and returns how long to wait if there were too many. The
// counts stay in memory: an unknown caller must not cause writes to a database.
func (d *Authenticator) countGuess(key string, now time.Time) time.Duration {
	d.guessesOnce.Do(func() { d.guesses = ratelimit.NewMemory() })
	// Fails only for an invalid rate.
	wait, _ := d.guesses.Allow(context.Background(), key, guessRate, now)
	return wait
}

// ClientAddress returns the client's address as text: an IPv4 address or an IPv6 network. It
// returns "unknown" if the request has no valid address.
func (d *Authenticator) ClientAddress(r *http.Request) string {
	return formatNetwork(d.clientNetwork(r))
}

func formatNetwork(from netip.Prefix) string {
	switch {
	case !from.IsValid():
		return "unknown"
	case from.IsSingleIP():
		return from.Addr().String()
	}
	return from.String()
}

// clientNetwork returns the network that a request comes from. IPv6 addresses count by their /64
// network, because one client usually controls all of it.
func (d *Authenticator) clientNetwork(r *http.Request) netip.Prefix {
	if d.BehindProxy {
		// Only the last address was written by the proxy; a client can forge the others.
		if hops := r.Header["X-Forwarded-For"]; len(hops) > 0 {
			last := hops[len(hops)-1]
			if from := parseNetwork(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])); from.IsValid() {
				return from
			}
		}
	}
	return parseNetwork(r.RemoteAddr)
}

// parseNetwork returns the network of an address with or without a port. The result is not valid if
// the text is not an address; all such addresses count as one.
func parseNetwork(address string) netip.Prefix {
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
	from, _ := ip.Prefix(bits) // fails only for a prefix length that does not fit the address
	return from
}

// recordFailure counts and records a request with bad credentials, and returns the refusal to send.
// It does not count or record a request that could not be checked, and does not record one that
// exceeds guessRate.
func (d *Authenticator) recordFailure(r *http.Request, ref *refusal, now time.Time) *refusal {
	if ref.status >= http.StatusInternalServerError {
		return ref
	}
	from := d.clientNetwork(r)
	if wait := d.countGuess(from.String(), now); wait > 0 {
		return rateLimitedf(wait, tooManyGuesses)
	}
	d.Log.Info("credentials rejected", "path", truncate(r.URL.Path), "address", formatNetwork(from), "reason", ref.message, "cause", ref.cause)
	d.record(r, "auth/token", ref.message, now)
	return ref
}

// RecordRejected records a request that was rejected whatever it asked for: because of where it
// came from, or because only people may send it. It records no more than guessRate from one
// address.
func (d *Authenticator) RecordRejected(r *http.Request, reason string) {
	if now := d.Now(); d.countGuess("rejected "+d.clientNetwork(r).String(), now) == 0 {
		d.record(r, "auth/request", reason, now)
	}
}

// record writes an audit record of a rejected request.
func (d *Authenticator) record(r *http.Request, tool, reason string, now time.Time) {
	if d.Audit == nil {
		return
	}
	err := d.Audit.Write(context.WithoutCancel(r.Context()), &audit.Record{
		Time: now, Frontend: "http", Client: truncate(r.UserAgent()), Tool: tool,
		Arguments: jsontree.Obj(
			jsontree.M("address", jsontree.Str(d.ClientAddress(r))),
			jsontree.M("path", jsontree.Str(truncate(r.URL.Path))),
			jsontree.M("reason", jsontree.Str(reason)),
		),
		Outcome: "denied", Duration: d.Now().Sub(now),
	}, false)
	if err != nil {
		d.Log.Error("write audit record failed", "tool", tool, "error", err)
	}
}

const tooManyGuesses = "Too many requests with bad credentials came from your address"

// truncate truncates a text for an audit or log record.
func truncate(text string) string {
	const maxBytes = 100
	return strings.ToValidUTF8(text[:min(len(text), maxBytes)], "")
}

// maxTokenBytes is the maximum size of a token in bytes. Tokens of issuers that list many groups
// take several thousand.
const maxTokenBytes = 8 << 10

// bearer returns the token of a request that follows RFC 6750. Its error messages never contain any
// part of the token.
func bearer(r *http.Request) (string, *refusal) {
	given := r.Header["Authorization"]
	switch {
	case hasQueryToken(r.URL):
		return "", malformedf("A token in the URL ends up in logs; send it as the header Authorization: Bearer TOKEN, and create a new one")
	case len(given) > 1:
		return "", malformedf("The header Authorization was sent %d times; send it once", len(given))
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.Trim(token, " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return "", &refusal{
			status: http.StatusUnauthorized, message: "This server accepts bearer tokens only; send the header Authorization: Bearer TOKEN",
		}
	case token == "":
		return "", invalidTokenf("The header Authorization has no token; send Bearer TOKEN")
	case len(token) > maxTokenBytes:
		return "", invalidTokenf("The token has %d bytes; the limit is %d", len(token), maxTokenBytes)
	case !isToken68(token):
		return "", invalidTokenf("The token has characters that are not allowed; perhaps it was copied with quotation marks or a line break")
	}
	return token, nil
}

// isToken68 reports whether the text has only the characters of token68 in RFC 9110.
func isToken68(text string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/"
	body := strings.TrimRight(text, "=")
	return body != "" && strings.Trim(body, characters) == ""
}

// isRemitToken reports whether a token was made by this server.
func isRemitToken(token string) bool { return strings.HasPrefix(token, identity.Prefix) }

// hasQueryToken reports whether the query has a parameter access_token, in any encoding.
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
