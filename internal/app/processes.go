package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"remit/internal/frontends/cli"
)

// maxProcessFile bounds the size of the file of a process.
const maxProcessFile = 64 << 10

// describe creates the file of this process, with the command that it runs, and the address that it
// serves, if any.
func (p *process) describe(command, address string) error {
	if err := p.begin(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := json.Marshal(cli.Process{
		Owner: p.id, PID: os.Getpid(), Command: command, Address: address, Version: Version, Started: started.UTC(),
	})
	if err == nil {
		err = p.file.Truncate(0)
	}
	if err == nil {
		_, err = p.file.Write(append(text, '\n'))
	}
	return err
}

// running returns the processes that use the data folder, without this one. A process may have
// several files.
func (p *process) running() (list []cli.Process, err error) {
	entries, err := os.ReadDir(filepath.Dir(p.path(p.id)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	index := map[int]int{} // by process id
	for _, entry := range entries {
		if entry.Name() == p.id || p.hasEnded(entry.Name()) {
			continue
		}
		found, readErr := readProcess(p.path(entry.Name()))
		err = errors.Join(err, readErr)
		i, known := index[found.PID]
		switch {
		case readErr != nil || found.PID == os.Getpid():
		case !known:
			index[found.PID] = len(list)
			list = append(list, found)
		case found.Command != "":
			list[i] = found
		}
	}
	return list, err
}

// readProcess reads the file of a process.
func readProcess(path string) (found cli.Process, err error) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return found, errors.Join(err, fmt.Errorf("%s is not a file of Remit", path))
	}
	file, err := os.Open(path)
	if err != nil {
		return found, fmt.Errorf("read the file of a process: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxProcessFile))
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		return found, fmt.Errorf("read the file of a process: %s: %w", path, err)
	}
	return found, nil
}
