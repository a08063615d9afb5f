//go:build unix && !linux

package blob

// openBeneath opens what is beneath a folder.
func openBeneath(dir int, name string, flags int) (int, error) { return walkBeneath(dir, name, flags) }
