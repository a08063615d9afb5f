package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/engine/idempotency"
	"remit/internal/toolsets/learning"
)

// MemoryOptions configures the memory files in a database.
type MemoryOptions struct {
	Folder string // the folder of the memory files, as path policies name it
	// Files holds the memory files of the workspace. A file is read from there until its first
	// entry is stored here. Then its content is copied in front of that entry, and the file itself
	// stays unchanged.
	Files learning.Memory
	Now   func() time.Time
}

// Memory stores memory files in PostgreSQL, for all processes that share the database.
type Memory struct {
	MemoryOptions
	source Source

	mu     sync.Mutex
	queues map[string]*lineQueue
	closed bool
}

var _ learning.Memory = (*Memory)(nil)

// Memory returns the memory files in a PostgreSQL database.
func (s Source) Memory(o MemoryOptions) *Memory {
	return &Memory{MemoryOptions: o, source: s, queues: map[string]*lineQueue{}}
}

const statLog = `SELECT lines, bytes, changed_at FROM logs WHERE log = $1`

func memoryLog(file string) string { return "memory/" + file }

// Append implements learning.Memory.
func (m *Memory) Append(
	ctx context.Context, file string, body []byte, follows *learning.Extent,
) func(context.Context) (learning.Position, error) {
	e := m.queue(file).append(&entry{body: bytes.Clone(body), durable: true, follows: follows, effect: audit.EffectFrom(ctx)})
	return func(ctx context.Context) (learning.Position, error) {
		err := e.wait(ctx)
		if is[*CommitUnknownError](err) {
			err = contract.Errorf(contract.Unavailable, "It is unknown whether the entry was written; read %s "+
				"before you send it again", file).
				// So that the call keeps its idempotency key.
				Because(fmt.Errorf("%w: %w", idempotency.ErrUnknown, err))
		}
		if err != nil {
			return learning.Position{}, err
		}
		return learning.Position{Line: e.line, Bytes: e.size}, nil
	}
}

func (m *Memory) queue(file string) *lineQueue {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.queues[file] == nil {
		store := func(ctx context.Context, batch []*entry) error { return m.store(ctx, file, batch) }
		m.queues[file] = &lineQueue{store: store, closed: m.closed}
	}
	return m.queues[file]
}

// store stores a batch of entries of one file.
func (m *Memory) store(ctx context.Context, file string, batch []*entry) error {
	log := memoryLog(file)
	db, err := m.source(ctx)
	if err != nil {
		return err
	}
	var effects []*audit.Effect
	err = db.transact(ctx, "append to "+file, func(ctx context.Context, tx runner) error {
		effects = nil
		count, isNew, err := lockCount(ctx, tx, log, m.Now())
		if err != nil {
			return fmt.Errorf("lock the log: %w", err)
		}
		if isNew {
			if err := m.copyFromWorkspace(ctx, tx, file, &count); err != nil {
				return fmt.Errorf("copy the file from the workspace: %w", err)
			}
		}
		var rows [][]any
		before := count
		for _, e := range batch {
			if e.refused, err = refusal(ctx, db, log, before, e.follows); err != nil {
				return err
			}
			if e.refused != nil {
				continue
			}
			if e.effect != nil {
				e.effect.Appends(audit.Appended(file, count.bytes, e.body))
				effects = append(effects, e.effect)
			}
			e.line, e.size = count.lines+1, len(e.body)+1
			count.add(e.body)
			rows = append(rows, []any{log, e.line, e.body})
		}
		if len(rows) > 0 { // none if all were refused
			err = addLines(ctx, tx, rows)
		}
		if err != nil {
			return err
		}
		if err := storeCount(ctx, tx, log, count, m.Now()); err != nil {
			return err
		}
		return db.recordAll(ctx, tx, effects...)
	})
	if err == nil {
		for _, effect := range effects {
			effect.Committed()
		}
	}
	return err
}

// refusal returns learning.ErrChanged if a log does not have the extent that an entry follows.
func refusal(ctx context.Context, db *DB, log string, count logCount, follows *learning.Extent) (refused, err error) {
	if follows == nil {
		return nil, nil
	}
	from := follows.End - max(1, int64(follows.Size))
	if from < 0 || count.bytes < follows.End {
		return follows.Check(bytes.NewReader(nil)), nil
	}
	text, err := lastText(ctx, db, log, count.lines, count.bytes-from)
	if err != nil {
		return nil, err
	}
	tail := learning.Tail{Text: text, Before: count.bytes - int64(len(text))}
	return follows.Check(tail), nil
}

// add counts an entry.
func (c *logCount) add(body []byte) {
	c.lines += 1 + int64(bytes.Count(body, []byte{'\n'}))
	c.bytes += int64(len(body)) + 1
}

// copyFromWorkspace copies the content of a file from the workspace, line by line.
func (m *Memory) copyFromWorkspace(ctx context.Context, tx runner, file string, count *logCount) error {
	tail, err := m.Files.Tail(ctx, file, &contract.PathPolicy{}, math.MaxInt64)
	switch {
	case err != nil && contract.AsError(err).Kind == contract.NotFound:
		return nil
	case err != nil || len(tail.Text) == 0:
		return err
	}
	lines := bytes.Split(bytes.TrimSuffix(tail.Text, []byte{'\n'}), []byte{'\n'})
	for some := range slices.Chunk(lines, maxBatch) {
		var rows [][]any
		for _, line := range some {
			rows = append(rows, []any{memoryLog(file), count.lines + 1, line})
			count.add(line)
		}
		if err := addLines(ctx, tx, rows); err != nil {
			return err
		}
	}
	return nil
}

// Stat implements learning.Memory.
func (m *Memory) Stat(ctx context.Context, file string, policy *contract.PathPolicy) (fs.FileInfo, error) {
	if err := m.checkPolicy(file, policy); err != nil {
		return nil, err
	}
	info, err := m.stat(ctx, file)
	switch {
	case err != nil:
		return nil, err
	case info == nil:
		return m.Files.Stat(ctx, file, policy)
	}
	return info, nil
}

// checkPolicy applies the path policy. Its error is the same as for a file that may not be read.
func (m *Memory) checkPolicy(file string, policy *contract.PathPolicy) error {
	name := path.Join(m.Folder, file)
	if policy == nil || policy.Denies(name) || !policy.Allows(name) {
		return contract.Errorf(contract.Denied, "Access denied: %s", name).With("path", name)
	}
	return nil
}

// Has reports whether the database has entries of a file. If it does, the copy in the workspace
// is no longer used.
func (m *Memory) Has(ctx context.Context, file string) (bool, error) {
	info, err := m.stat(ctx, file)
	return info != nil, err
}

// stat returns the current state of a log, or nil if the log was never started.
func (m *Memory) stat(ctx context.Context, file string) (*logInfo, error) {
	db, err := m.source(ctx)
	if err != nil {
		return nil, err
	}
	info := &logInfo{db: db, name: file}
	read := into(&info.lines, &info.size, (*timeColumn)(&info.changed))
	_, found, err := lookUp(ctx, db, "stat "+file, statLog, read, memoryLog(file))
	if !found {
		return nil, err
	}
	return info, nil
}

// Tail implements learning.Memory. It leaves out entries that are appended meanwhile.
func (m *Memory) Tail(ctx context.Context, file string, policy *contract.PathPolicy, limit int64) (learning.Tail, error) {
	if err := m.checkPolicy(file, policy); err != nil {
		return learning.Tail{}, err
	}
	info, err := m.stat(ctx, file)
	switch {
	case err != nil:
		return learning.Tail{}, err
	case info == nil:
		return m.Files.Tail(ctx, file, policy, limit)
	}
	text, err := lastText(ctx, info.db, memoryLog(file), info.lines, min(limit, info.size))
	if err != nil {
		return learning.Tail{}, fmt.Errorf("read %s: %w", file, err)
	}
	return learning.Tail{Text: text, Before: info.size - int64(len(text))}, nil
}

// lastText returns the last lines of a log, up to line last, that fit into limit bytes.
func lastText(ctx context.Context, db *DB, log string, last, limit int64) ([]byte, error) {
	text := make([]byte, limit) // filled from the end
	start := limit
	for more := true; more && last > 0; {
		some, err := collect(ctx, db.reader(ctx), linesBefore, scanLine, log, last+1, maxBatch)
		if err != nil {
			return nil, err
		}
		last = 0
		for _, line := range some {
			kept := lastLines(line.Text, start)
			start -= int64(len(kept))
			copy(text[start:], kept)
			if more, last = len(kept) > len(line.Text), line.Offset-1; !more {
				break
			}
		}
	}
	return text[start:], nil
}

// lastLines returns the lines at the end of an entry, including its final newline, that fit into
// limit bytes.
func lastLines(body []byte, limit int64) []byte {
	text := append(slices.Clip(body), '\n')
	if int64(len(text)) <= limit {
		return text
	}
	cut := text[int64(len(text))-limit-1:] // the byte before tells whether a line begins there
	return cut[bytes.IndexByte(cut, '\n')+1:]
}

// Close waits until everything that was appended is stored or has failed.
func (m *Memory) Close() error {
	m.mu.Lock()
	m.closed = true
	all := m.queues
	m.queues = map[string]*lineQueue{}
	m.mu.Unlock()
	var problems []error
	for _, q := range all {
		problems = append(problems, q.close())
	}
	return errors.Join(problems...)
}
