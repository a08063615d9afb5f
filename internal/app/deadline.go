package app

import (
	"fmt"
	"strconv"

	"remit/internal/frontends/cli"
)

// factorVariable is the environment variable that multiplies the deadlines of all contracts, and
// the time that a server has to accept another process. It is for the tests of this repository,
// which may run on busy machines. No flag and no file sets it, and it can only lengthen deadlines.
const factorVariable = "REMIT_DEADLINE_FACTOR"

// maxFactor is the largest factor.
const maxFactor = 100

// deadlineFactor reads the factor from the environment. It is 1 unless a test sets it.
func deadlineFactor(s cli.Settings) (int, error) {
	text, _ := environmentOf(s)(factorVariable)
	if text == "" {
		return 1, nil
	}
	factor, err := strconv.Atoi(text)
	if err != nil || factor < 1 || factor > maxFactor {
		return 0, fmt.Errorf("%s is %q, must be a whole number from 1 to %d; it is for tests", factorVariable, text, maxFactor)
	}
	return factor, nil
}
