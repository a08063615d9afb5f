//go:build unix && !linux

package corpus

// prepared is not known to these systems: pages come when they are touched.
const prepared = 0
