//go:build unix && !linux

package blob

// openBeneath opens a file or folder below a folder without following links.
func openBeneath(dir int, name string, flags int) (int, error) { return walkBeneath(dir, name, flags) }
