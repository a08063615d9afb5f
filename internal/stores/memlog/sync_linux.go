package memlog

import (
	"os"

	"golang.org/x/sys/unix"
)

// dataSync leaves out what is not needed to read the data back, such as times.
func dataSync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err != unix.EINTR {
			return err
		}
	}
}
