package memlog

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"

	"remit/internal/engine/audit"
	"remit/internal/toolsets/learning"
)

// Memory stores the memory files of a workspace, with one log per file.
type Memory struct {
	Files  Files
	Reader Reader // reads the same files
	Folder string // the folder of the memory files, within Files
	// Path is the host path of that folder; "" if any folder at that name is the right one. Check
	// returns an error if the workspace above it is not where it was.
	Path  string
	Check func() error

	mu     sync.Mutex
	logs   map[string]*Log
	folder *memoryFolder
}

var _ learning.Memory = (*Memory)(nil)

// Append implements learning.Memory.
func (m *Memory) Append(
	ctx context.Context, file string, entry []byte, follows *learning.Extent,
) (wait func(context.Context) (learning.Position, error)) {
	ticket, effect, log := &Ticket{body: entry, durable: true}, audit.EffectFrom(ctx), m.log(file)
	if follows != nil {
		ticket.check = follows.Check
	}
	if effect != nil {
		ticket.announced = make(chan struct{})
	}
	log.append(ticket)
	queued := !ticket.settled
	return func(ctx context.Context) (learning.Position, error) {
		if effect != nil && queued {
			ticket.announce(ctx, effect, audit.Appended(path.Base(file), m.endOf(file, log), entry))
		}
		place, err := ticket.Wait(ctx)
		return learning.Position(place), err
	}
}

func (m *Memory) log(file string) *Log {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.logs[file]; ok {
		return l
	}
	if m.logs == nil {
		m.logs = map[string]*Log{}
	}
	o := Options{Files: m.Files, Name: path.Join(m.Folder, file), Format: formatOf(file)}
	if m.Path != "" {
		o.Place = memoryPlace{m.watched(), file}
	}
	m.logs[file] = New(o)
	return m.logs[file]
}

// watched returns the folder of the memory files. The caller holds the mutex.
func (m *Memory) watched() *memoryFolder {
	if m.folder == nil {
		m.folder = &memoryFolder{path: m.Path, root: m.Check}
	}
	return m.folder
}

// Ready returns an error if entries cannot be stored, because the folder that holds earlier ones is
// gone.
func (m *Memory) Ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Path == "" {
		return nil
	}
	return memoryPlace{m.watched(), ""}.Before(false)
}

func formatOf(file string) Format {
	if strings.HasSuffix(file, ".jsonl") {
		return JSONLines
	}
	return Text
}

// Close writes what is queued and closes the files.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var problems []error
	for _, l := range m.logs {
		problems = append(problems, l.Close())
	}
	if m.folder != nil {
		m.folder.release()
	}
	return errors.Join(problems...)
}
