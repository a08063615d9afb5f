//go:build unix

package cli

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openTTY opens the controlling terminal and discards what was typed before: it was not typed as an
// answer. It fails for a process in the background, which could not read an answer.
func openTTY() (*os.File, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, errors.New("there is no controlling terminal")
	}
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	if err == nil && group != unix.Getpgrp() {
		err = errors.New("the process runs in the background")
	}
	if err == nil {
		err = discardInput(int(tty.Fd()))
	}
	if err != nil {
		return nil, errors.Join(err, tty.Close())
	}
	return tty, nil
}
