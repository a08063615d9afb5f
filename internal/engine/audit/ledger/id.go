package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
)

// spot is where a record stands: the day and the place in its file. Later records
// stand at greater spots.
type spot struct {
	day   string
	place int64
}

func (s spot) after(t spot) bool {
	return s.day > t.day || s.day == t.day && s.place > t.place
}

func (s spot) String() string { return s.day + "." + strconv.FormatInt(s.place, 36) }

func parseSpot(text string) (s spot, ok bool) {
	day, place, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(place, 36, 64)
	_, notADay := time.Parse(time.DateOnly, day)
	return spot{day, n}, err == nil && notADay == nil && n >= 0
}

// idOf names a record for ever: where it stands, and the start of its hash.
func idOf(day string, place int64, mark uint32) string {
	return fmt.Sprintf("%s.%08x", spot{day, place}, mark)
}

func parseID(id string) (s spot, mark uint32, err error) {
	at := strings.LastIndexByte(id, '.')
	if at > 0 {
		n, err := strconv.ParseUint(id[at+1:], 16, 32)
		if s, ok := parseSpot(id[:at]); ok && err == nil {
			return s, uint32(n), nil
		}
	}
	return s, 0, contract.Errorf(contract.NotFound, "There is no call %q on record", id)
}
