package console

import (
	"errors"
	"math"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

// misdeed is something that is refused, and recorded so often a minute: nobody may fill
// the audit with it.
type misdeed struct {
	what   string // as records name it
	plural string // as people read it
	most   int    // a minute, from one address or by one person
}

var (
	badLinks   = misdeed{"console/sign_in", "attempts to sign in from your address", 10}
	badCookies = misdeed{"console/session", "requests without a session that is good from your address", 30}
	refusals   = misdeed{"console/refused", "requests that were refused", 30}
)

// errDenied is what records have for a misdeed.
var errDenied = contract.Errorf(contract.Denied, "refused")

// count counts a misdeed. An error is a contract.Limited: it was one too many.
func (v *visit) count(m misdeed, whose string) error {
	wait, err := v.Limiter.Allow(v.r.Context(), m.what+"\x00"+whose, ratelimit.Rate{Requests: m.most, Per: time.Minute}, v.Now())
	if err != nil {
		return contract.Errorf(contract.Unavailable, "The limit of attempts cannot be checked; try again").Because(err)
	}
	if wait == 0 {
		return nil
	}
	seconds := int(math.Ceil(wait.Seconds()))
	return contract.Errorf(contract.Limited, "Too many %s; try again in %d s", m.plural, seconds).With("retry_after", seconds)
}

// enter finds out who sends the request. Cookies of no session are counted and
// recorded; one that is good always lets in.
func (v *visit) enter() error {
	person, err := v.signedIn(v.r)
	if errors.Is(err, errBadCookie) {
		if many := v.count(badCookies, v.Address(v.r)); many != nil {
			return many
		}
		v.record(badCookies.what, identity.Person{}, errDenied, v.where())
	}
	v.person = person
	return err
}

// refused records that a request was not carried out, and why.
func (v *visit) refused(why, whose string) {
	if v.count(refusals, whose) == nil {
		v.record(refusals.what, v.person, errDenied, v.where(), jsontree.M("reason", jsontree.Str(why)))
	}
}

// where is what a request was for, as records have it.
func (v *visit) where() jsontree.Member {
	path := v.r.URL.Path
	return jsontree.M("path", jsontree.Str(strings.ToValidUTF8(path[:min(len(path), 100)], "")))
}
