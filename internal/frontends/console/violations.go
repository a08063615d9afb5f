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

// violation is a kind of rejected request. Each is recorded at most maxPerMinute times a minute per
// address or person, so that nobody can flood the audit log.
type violation struct {
	action       string // its name in audit records
	plural       string // its name in messages
	maxPerMinute int
}

var (
	badLinks   = violation{"console/sign_in", "attempts to sign in from your address", 10}
	badCookies = violation{"console/session", "requests without a valid session from your address", 30}
	refusals   = violation{"console/refused", "rejected requests", 30}
)

// errDenied is the outcome of violations in audit records.
var errDenied = contract.Errorf(contract.Denied, "refused")

// countViolation counts a violation of an address or person. It returns a contract.Limited error if
// there were too many.
func (v *visit) countViolation(kind violation, by string) error {
	rate := ratelimit.Rate{Requests: kind.maxPerMinute, Per: time.Minute}
	wait, err := v.Limiter.Allow(v.r.Context(), kind.action+"\x00"+by, rate, v.Now())
	if err != nil {
		return contract.Errorf(contract.Unavailable, "The rate limit cannot be checked right now; try again").Because(err)
	}
	if wait == 0 {
		return nil
	}
	seconds := int(math.Ceil(wait.Seconds()))
	return contract.Errorf(contract.Limited, "Too many %s; try again in %d s", kind.plural, seconds).With("retry_after", seconds)
}

// authenticate sets v.person from the session cookie. It counts and records invalid cookies; a
// valid one is always accepted.
func (v *visit) authenticate() error {
	person, err := v.currentPerson(v.r)
	if errors.Is(err, errBadCookie) {
		if limited := v.countViolation(badCookies, v.Address(v.r)); limited != nil {
			return limited
		}
		v.record(badCookies.action, identity.Person{}, errDenied, v.recordedPath())
	}
	v.person = person
	return err
}

// recordRefusal records that a request was rejected, and why.
func (v *visit) recordRefusal(reason, by string) {
	if v.countViolation(refusals, by) == nil {
		v.record(refusals.action, v.person, errDenied, v.recordedPath(), jsontree.M("reason", jsontree.Str(reason)))
	}
}

// recordedPath returns the path of the request for an audit record, shortened.
func (v *visit) recordedPath() jsontree.Member {
	path := v.r.URL.Path
	return jsontree.M("path", jsontree.Str(strings.ToValidUTF8(path[:min(len(path), 100)], "")))
}
