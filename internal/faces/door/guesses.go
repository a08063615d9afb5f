package door

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// How many requests with bad credentials of one address are answered with a reason and
// recorded: so many at once, and then one each step.
const (
	mostGuesses = 30
	guessStep   = time.Minute / mostGuesses
	guessSpan   = mostGuesses * guessStep
)

// guesses counts bad credentials by the address that they come from. It is kept in
// memory, because nobody who is unknown should cause writes to a database. Limiters
// count whatever they are asked about, and here only failures count: so this is a
// bucket of its own.
type guesses struct {
	mu      sync.Mutex
	full    map[netip.Prefix]time.Time // when an address has all its guesses again
	sweepAt int
}

// count notes a bad guess, and gives how long to wait if it was one too many.
func (g *guesses) count(from netip.Prefix, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	full := g.bucket(from, now).Add(guessStep)
	if wait := full.Sub(now) - guessSpan; wait > 0 {
		return wait
	}
	g.makeRoom(now)
	g.full[from] = full
	return 0
}

// bucket is when an address has all its guesses again: now at the earliest, and after
// the whole span at the latest, whatever the clock was.
func (g *guesses) bucket(from netip.Prefix, now time.Time) time.Time {
	full := g.full[from]
	switch latest := now.Add(guessSpan); {
	case full.Before(now):
		return now
	case full.After(latest):
		return latest
	}
	return full
}

// makeRoom forgets who has been quiet, once there are twice as many as before.
func (g *guesses) makeRoom(now time.Time) {
	if g.full != nil && len(g.full) < g.sweepAt {
		return
	}
	busy := map[netip.Prefix]time.Time{}
	for from, full := range g.full {
		if full.After(now) {
			busy[from] = full
		}
	}
	g.full, g.sweepAt = busy, max(64, 2*len(busy))
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
	if wait := d.guesses.count(from, now); wait > 0 {
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
