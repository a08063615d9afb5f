package tree

import "golang.org/x/sys/unix"

func makeFIFO(path string) { _ = unix.Mkfifo(path, 0o600) }

// withoutOpenat2 makes a root handle open paths element by element.
func withoutOpenat2(p *rootHandle) *rootHandle {
	p.noOpenat2 = true
	return p
}
