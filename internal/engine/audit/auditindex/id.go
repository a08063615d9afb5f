package auditindex

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
)

// Position is the position of a record: the day and the place in it. Later records have greater
// positions.
type Position struct {
	Day    string
	Offset int64
}

func (s Position) less(t Position) bool {
	return s.Day < t.Day || s.Day == t.Day && s.Offset < t.Offset
}

func (s Position) String() string { return s.Day + "." + strconv.FormatInt(s.Offset, 36) }

func parsePosition(text string) (s Position, ok bool) {
	day, place, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(place, 36, 64)
	_, notADay := time.Parse(time.DateOnly, day)
	return Position{day, n}, err == nil && notADay == nil && n >= 0
}

func idOf(s Position, mark uint32) string { return fmt.Sprintf("%s.%08x", s, mark) }

func parseID(id string) (s Position, mark uint32, err error) {
	at := strings.LastIndexByte(id, '.')
	if at > 0 {
		n, err := strconv.ParseUint(id[at+1:], 16, 32)
		if s, ok := parsePosition(id[:at]); ok && err == nil {
			return s, uint32(n), nil
		}
	}
	return s, 0, contract.Errorf(contract.NotFound, "The audit log has no call %q", id)
}

// markOf returns the start of a hash, which distinguishes records that were at the same position.
func markOf(hash string) uint32 {
	// The mark is 0 for a text that is not a hash.
	mark, _ := strconv.ParseUint(hash[:min(len(hash), 8)], 16, 32)
	return uint32(mark)
}
