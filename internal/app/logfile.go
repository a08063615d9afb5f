package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// logFile is the file that --log-file names. It is opened again when another file, or none, has
// its name, and on SIGHUP, so that it can be rotated.
type logFile struct {
	path   string
	errOut io.Writer // gets the lines while the file cannot be written

	mu      sync.Mutex
	file    *os.File
	failing bool // it was reported that the file cannot be written
}

func openLogFile(path string, errOut io.Writer) (*logFile, error) {
	l := &logFile{path: path, errOut: errOut}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("--log-file: %w; name a file in a folder that you can write to", err)
	}
	onHangup(l.reopen)
	return l, nil
}

// open opens the file for appending. The previous one stays open if that fails.
func (l *logFile) open() error {
	info, err := os.Stat(l.path)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", l.path)
	}
	file, err := os.OpenFile(filepath.Clean(l.path), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if l.file != nil {
		_ = l.file.Close() // everything is written
	}
	l.file = file
	return nil
}

func (l *logFile) reopen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		l.report(err)
	}
}

// Write implements io.Writer. Lines that cannot be written to the file go to errOut.
func (l *logFile) Write(lines []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.isRotated() {
		err = l.open()
	}
	if err == nil {
		_, err = l.file.Write(lines)
	}
	if err == nil {
		l.failing = false
		return len(lines), nil
	}
	l.report(err)
	return l.errOut.Write(lines)
}

// isRotated reports whether the name belongs to another file now, or to none.
func (l *logFile) isRotated() bool {
	named, err := os.Stat(l.path)
	open, openErr := l.file.Stat()
	return err != nil || openErr != nil || !os.SameFile(named, open)
}

// report says once that the file cannot be written.
func (l *logFile) report(err error) {
	if l.failing {
		return
	}
	l.failing = true
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		err = pathErr.Err
	}
	fmt.Fprintf(l.errOut, "remit: cannot write the log to %s, so it goes here: %v\n", l.path, err)
}
