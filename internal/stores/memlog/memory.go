package memlog

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/engine/idempotency"
	"remit/internal/toolsets/learning"
)

// Memory stores the memory files of a workspace, with one log per file.
type Memory struct {
	Files  Files
	Reader Reader // reads the same files
	Folder string // the folder of the memory files, within Files
	Place  Place  // that folder; see Options

	mu   sync.Mutex
	logs map[string]*Log
}

var _ learning.Memory = (*Memory)(nil)

// Append implements learning.Memory.
func (m *Memory) Append(
	ctx context.Context, file string, entry []byte, follows *learning.Extent,
) (wait func(context.Context) (learning.Position, error)) {
	effect, log := audit.EffectFrom(ctx), m.log(file)
	ticket := &Ticket{body: entry, durable: true, announcing: effect != nil}
	if follows != nil {
		ticket.check = follows.Check
	}
	queued := log.append(ticket)
	return func(ctx context.Context) (learning.Position, error) {
		if effect != nil && queued {
			ticket.announce(ctx, effect, audit.Appended(path.Base(file), m.endOf(file, log), entry))
		}
		place, err := ticket.Wait(ctx)
		if errors.Is(err, ErrUnknown) {
			err = contract.Errorf(contract.Unavailable, "It is unknown whether the entry was written; read %s "+
				"before you send it again", file).
				// So that the call keeps its idempotency key.
				Because(fmt.Errorf("%w: %w", idempotency.ErrUnknown, err))
		}
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
	m.logs[file] = New(Options{Files: m.Files, Name: path.Join(m.Folder, file), Format: formatOf(file), Place: m.Place})
	return m.logs[file]
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
	return errors.Join(problems...)
}
