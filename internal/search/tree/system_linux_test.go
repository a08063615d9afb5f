package tree

import "golang.org/x/sys/unix"

func makeFIFO(path string) { _ = unix.Mkfifo(path, 0o600) }

// plainly makes a place that opens paths element by element.
func plainly(p *place) *place {
	p.plain = true
	return p
}
