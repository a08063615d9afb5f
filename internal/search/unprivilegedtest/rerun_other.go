//go:build !unix

package unprivilegedtest

import "testing"

// Rerun reports that the test does not run in another process.
func Rerun(*testing.T) bool { return false }
