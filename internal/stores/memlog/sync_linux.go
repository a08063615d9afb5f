package memlog

import (
	"os"

	"golang.org/x/sys/unix"
)

// dataSync syncs the data of a file, without metadata such as times.
func dataSync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err != unix.EINTR {
			return err
		}
	}
}
