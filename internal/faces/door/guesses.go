package door

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/limit"
)

// guessRate is how many requests with bad credentials of one address are answered with
// a reason and recorded. Only failures count.
var guessRate = limit.Rate{Requests: 30, Per: time.Minute}

// countGuess counts a bad guess, and returns how long to wait if it was one too many.
// The counts stay in memory: an unknown caller must not cause writes to a database.
func (d *Door) countGuess(from netip.Prefix, now time.Time) time.Duration {
	d.guessesOnce.Do(func() { d.guesses = limit.NewMemory() })
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
