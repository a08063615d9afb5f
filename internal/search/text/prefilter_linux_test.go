package text

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPrefilterReadsNothingBeyond searches texts at the end of a memory mapping: reading a byte
// more is a fault.
func TestPrefilterReadsNothingBeyond(t *testing.T) {
	page := unix.Getpagesize()
	memory, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	if err := unix.Mprotect(memory[page:], unix.PROT_NONE); err != nil {
		t.Skip(err)
	}
	s := newPrefilter([]Literal{{Text: "quixotic"}, {Text: "\x00\x00x"}})
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
