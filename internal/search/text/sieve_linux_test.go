package text

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSieveReadsNothingBeyond hands over texts that end where memory does: a byte further is a fault.
func TestSieveReadsNothingBeyond(t *testing.T) {
	page := unix.Getpagesize()
	memory, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	if err := unix.Mprotect(memory[page:], unix.PROT_NONE); err != nil {
		t.Skip(err)
	}
	s := newSieve([]Literal{{Text: "quixotic"}, {Text: "\x00\x00x"}})
	for size := range 200 {
		if at := s.next(memory[page-size:page], 0, nil); at >= 0 {
			t.Fatalf("in %d zeros: %d", size, at)
		}
	}
	for _, pattern := range []string{"a", "aaaa", "aaaaaaaaaa"} {
		p, _ := compile(t, pattern, false)
		copy(memory, bytes.Repeat([]byte("aaaaaaaaaaaaaaa\n"), page/16))
		for size := range page {
			if n, _ := p.Count(memory[page-size:page], nil); n < size/16 || n > size/16+1 {
				t.Fatalf("%q in %d bytes: %d lines", pattern, size, n)
			}
		}
	}
}
