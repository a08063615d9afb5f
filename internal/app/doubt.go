package app

import (
	"fmt"

	"remit/internal/contract"
)

// doubtError says that a storage is not known to be the one of this workspace. Until it is, or a
// person decides, nothing is written.
type doubtError struct {
	why, fix string
	cause    error // for the operator, because it may name a host path; or nil
}

func (e *doubtError) Error() string { return "the storage is in doubt" + e.Detail() }

// Detail returns what only the operator is told.
func (e *doubtError) Detail() string {
	if e.cause == nil {
		return ""
	}
	return fmt.Sprintf(" (%v)", e.cause)
}

// unavailable returns the error for callers.
func (e *doubtError) unavailable() error {
	return contract.Errorf(contract.Unavailable, "%s; %s", e.why, e.fix).Because(e)
}

func doubt(fix, why string) error {
	e := &doubtError{why: why, fix: fix}
	return e.unavailable()
}

const (
	fixMoved = `if the workspace was moved, a person runs "remit trust --moved" at a terminal; if it is a copy, or the key ` +
		`folder was lost, "remit trust --copied"`
	fixNewData = `put the right one back, or a person runs "remit trust --new-data" at a terminal to go on with what is there now`
	fixDamaged = `stop the server and restore a backup with "remit restore", or a person runs "remit trust --new-data" at a ` +
		`terminal, which moves the damaged file aside`
	fixKeys = `put right what "remit doctor" says, restore the key folder from a backup, or a person runs "remit trust --copied" at a terminal`
)
