package approval

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
)

// The states of a request that Stage returns besides those that are stored, and DecidedState for
// every request that somebody has decided.
const (
	UsedState    = "used"
	ExpiredState = "expired"
	DecidedState = "decided"
)

// ListStates returns the states that ListOptions can select.
func ListStates() []string {
	return []string{
		string(Pending), string(Approved), string(Denied), string(Changed), string(Withdrawn), UsedState, ExpiredState, DecidedState,
	}
}

// ListOptions select what List returns. The zero value of each selects everything, except that
// without All and State only requests that wait are listed.
type ListOptions struct {
	All   bool      // include decided and expired requests
	State string    // only those in this state, one of ListStates; All does not matter then
	Agent string    // only those of this principal
	Tool  string    // only those of this tool: "set/name", or the name alone
	Text  string    // only those in which this text occurs, in any letter case; see Request.Words
	After string    // the Cursor of the last request of the page before
	Limit int       // zero is 100
	Brief bool      // leave out the arguments
	Now   time.Time // the time for Expired
}

// Cursor returns what ListOptions.After takes to continue a list after the request.
func (r Request) Cursor() string { return stamp(r.CreatedAt) + "." + r.ID }

// ParseCursor returns the time and the id in a cursor, or a contract.Invalid error.
func ParseCursor(cursor string) (at time.Time, id string, err error) {
	micros, id, found := strings.Cut(cursor, ".")
	n, err := strconv.ParseInt(micros, 10, 64)
	if err != nil || !found {
		return at, "", contract.Errorf(contract.Invalid, "%q is no cursor; send that of the last page", cursor)
	}
	return time.UnixMicro(n), id, nil
}

// CheckState returns a contract.Invalid error if a request can have no such state; "" is none.
func CheckState(state string) error {
	if state == "" {
		return nil
	}
	if err := contract.OneOf(state, ListStates()...); err != nil {
		return contract.Errorf(contract.Invalid, "state: %s", err)
	}
	return nil
}

// Group is how many requests of an agent wait for calls of one tool that change the same.
type Group struct {
	Principal string `json:"principal"`
	Tool      string `json:"tool"`
	Target    string `json:"target"`
	Count     int    `json:"count"`
}

// Sum adds the counts of groups by what of returns, such as the principal.
func Sum(groups []Group, of func(Group) string) map[string]int {
	sums := map[string]int{}
	for _, g := range groups {
		sums[of(g)] += g.Count
	}
	return sums
}

// SimilarOptions select what Similar returns.
type SimilarOptions struct {
	Principal string
	Tool      string    // "set/name"
	Since     time.Time // the earliest decision
	Limit     int       // zero is MaxSimilar
}

// MaxSimilar is how many decisions Similar looks back at unless it is told otherwise.
const MaxSimilar = 100

// SimilarPeriod is how far back people are shown what was decided for similar requests.
const SimilarPeriod = 7 * 24 * time.Hour

// SimilarTo returns the options with which Similar finds the decisions before a request.
func SimilarTo(r Request, now time.Time) SimilarOptions {
	return SimilarOptions{Principal: r.Principal, Tool: r.Tool, Since: now.Add(-SimilarPeriod)}
}

// SimilarText says how similar requests were decided, such as "6 approved, 1 denied", or "" if none
// was. Of a used approval only the approval counts.
func SimilarText(similar []Request) string {
	counts := map[State]int{}
	for i := range similar {
		counts[similar[i].State]++
	}
	var parts []string
	for _, state := range []State{Approved, Denied, Changed} {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}
