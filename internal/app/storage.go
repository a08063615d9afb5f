package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/ratelimit"
	"remit/internal/frontends/cli"
	"remit/internal/storageid"
	"remit/internal/stores/memlog"
	"remit/internal/stores/sqlstore"
	"remit/internal/stores/workspace"
	"remit/internal/toolsets/learning"
)

// storage holds the stores that are not simply tables of the database. A single process uses its
// own files and memory; replicas that share a database use the database.
type storage struct {
	place   string // what approvals, background tasks and waiting calls are bound to
	memory  learning.Memory
	records audit.Storage
	audit   audit.Reader // reads the records that are in the chain
	outbox  *sqlstore.Outbox
	// sweep moves records to the chain that other processes have left in the outbox; drain also
	// makes sure that the chain has the records of all acknowledged calls.
	sweep, drain func(context.Context) error
	source       string // the name of the records in the index of calls
	limiter      ratelimit.Limiter
	checkPath    func(name string, policy *contract.PathPolicy) (engine.File, error)

	// Each returns an error if its folder is not the one that was used before.
	checkMemory, checkRecords func() error

	// flush makes all queued records durable.
	flush func(context.Context) error

	memoryEnd, recordsEnd io.Closer
}

// sharedPlace names the workspace when replicas share a database, because each may have it in
// another folder.
const sharedPlace = "shared"

// localStorage stores everything on this machine.
func localStorage(
	s cli.Settings, root *workspace.Root, data *dataFolder, memory *storageid.Folder, process *process, database *database, lost func(error),
) *storage {
	entries := filesOf(root)
	entries.Place = memory
	folder := os.DirFS(filepath.Join(s.Data, "audit"))
	files := preparedFiles{data, "audit"}
	daily := &memlog.Daily{Files: files, Folder: folder, Place: data.id, OnLost: lost}
	records := &localRecords{daily: daily}
	source := recordSource(s)
	outbox := &sqlstore.Outbox{Owner: process.id + "@" + source, Begin: process.begin}
	records.FileRecords = sqlstore.FileRecords{
		Storage: daily, Chain: audit.Folder{FS: folder}, Outbox: outbox, Open: database.open, Exists: database.exists,
		Flush: daily.Flush, Sync: func(day string) error { return syncFile(files, audit.FileOf(day)) },
		IsOurs: func(owner string) (ours, ended bool) {
			id, of, _ := strings.Cut(owner, "@")
			return of == source, of == source && process.hasEnded(id)
		},
	}
	daily.OnReplaced = records.Replaced
	return &storage{
		place: workspace.RealPath(s.Root), memory: entries, records: records, audit: audit.Folder{FS: folder},
		outbox: outbox, sweep: records.Sweep, drain: records.Drain,
		source: source, limiter: ratelimit.NewMemory(),
		checkPath:   checkLocal(root, memory),
		checkMemory: memory.Check, checkRecords: data.check,
		flush: func(ctx context.Context) error {
			daily.Flush()
			return syncRecords(ctx, audit.Folder{FS: folder}, files)
		},
		memoryEnd: &localMemory{entries, memory}, recordsEnd: records,
	}
}

// sharedStorage stores everything in a database that other processes use as well.
func sharedStorage(root *workspace.Root, database sqlstore.Source, lost func(error)) (*storage, *sqlstore.Records) {
	files := filesOf(root)
	memory := database.Memory(sqlstore.MemoryOptions{Folder: memoryFolder, Files: files, Now: time.Now})
	records := database.Records(lost)
	return &storage{
		place: sharedPlace, memory: memory, records: records, audit: database.RecordReader(),
		outbox: &sqlstore.Outbox{Owner: rand.Text()}, sweep: records.Sweep, drain: records.Drain,
		source: sharedPlace, limiter: &localLimiter{database.Limiter(), ratelimit.NewMemory()},
		checkPath: checkShared(root, memory), flush: records.Flush,
		checkMemory: func() error { return nil }, checkRecords: func() error { return nil },
		memoryEnd: memory, recordsEnd: records,
	}, records
}

// localMemory ends the use of memory files.
type localMemory struct {
	*memlog.Memory
	folder *storageid.Folder
}

// Close writes what is queued and stops holding the folder open.
func (m *localMemory) Close() error {
	defer m.folder.Close()
	return m.Memory.Close()
}

// localRecords stores the records of this process in files.
type localRecords struct {
	sqlstore.FileRecords
	daily *memlog.Daily
}

// Close moves the records that are in the database to the files, and closes these.
func (r *localRecords) Close() error {
	return errors.Join(r.FileRecords.Close(), r.daily.Close())
}

// syncFile makes a file durable.
func syncFile(files memlog.Files, name string) error {
	file, err := files.OpenAppend(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// drainedRecords reads the records of all calls that were acknowledged before.
type drainedRecords struct {
	audit.Reader
	drain func(context.Context)
}

// Days implements audit.Reader. All readers call it first.
func (r drainedRecords) Days(ctx context.Context) ([]audit.Day, error) {
	r.drain(ctx)
	return r.Reader.Days(ctx)
}

// AuditRecords returns a reader of the audit records that were not dropped.
func (a *App) AuditRecords() audit.Reader { return a.retained() }

// drained returns a reader of the records of all calls that were acknowledged before.
func (a *App) drained() audit.Reader {
	return drainedRecords{a.storage.audit, func(ctx context.Context) {
		if err := a.storage.drain(ctx); err != nil {
			a.log.Warn("audit records of the newest calls may be missing in what is read", "error", err)
		}
	}}
}

// sweepOutbox moves audit records to the chain that were left in the outbox.
func (a *App) sweepOutbox(ctx context.Context) {
	if err := a.storage.sweep(ctx); err != nil {
		a.log.Debug("audit records are still in the outbox of the database", "error", err)
	}
}

// CallIndex returns the index of the calls in the audit records.
func (a *App) CallIndex() *auditindex.Index { return a.calls }

// newCallIndex prepares the index of calls, which opens the database on first use.
func (a *App) newCallIndex() *auditindex.Index {
	return &auditindex.Index{
		Records: a.drained(), Exists: a.database.exists, Now: time.Now,
		Open: stored(a.database, func(db *sqlstore.DB) auditindex.Store { return db.AuditIndex(a.storage.source) }),
	}
}

// ownSource is the source of the records of a workspace whose database is in its data folder.
const ownSource = "audit"

// recordSource names the records of a workspace in the index of calls. A database in the data
// folder moves with the records; a database outside of it may serve several workspaces.
func recordSource(s cli.Settings) string {
	if file, ok := sqlstore.File(s.Database); ok && filepath.Dir(file) == s.Data {
		return ownSource
	}
	return workspace.RealPath(s.Data)
}

// filesOf returns the memory files of a workspace.
func filesOf(root *workspace.Root) *memlog.Memory {
	return &memlog.Memory{Files: root, Reader: root, Folder: memoryFolder}
}

// orNil converts a nil *workspace.File to a nil interface.
func orNil(file *workspace.File, err error) (engine.File, error) {
	if err != nil {
		return nil, err
	}
	return file, nil
}

// checkShared looks up memory files in the database, whether or not this workspace has them as
// files. A path that may not be read is denied in both cases.
func checkShared(root *workspace.Root, memory *sqlstore.Memory) func(string, *contract.PathPolicy) (engine.File, error) {
	return func(name string, policy *contract.PathPolicy) (engine.File, error) {
		file, err := root.CheckPath(name, policy)
		clean := path.Clean(name)
		if err == nil {
			clean = file.Resolved()
		}
		if path.Dir(clean) != memoryFolder || err != nil && contract.AsError(err).Kind != contract.NotFound {
			return orNil(file, err)
		}
		return &sharedFile{file: file, missing: err, name: path.Clean(name), log: path.Base(clean), policy: policy, memory: memory}, nil
	}
}

// sharedFile is the path of a memory file.
type sharedFile struct {
	file    *workspace.File // nil if the workspace has no such file
	missing error           // the reason, if file is nil
	name    string
	log     string
	policy  *contract.PathPolicy
	memory  *sqlstore.Memory
}

// Name returns the clean path as the caller named it.
func (f *sharedFile) Name() string { return f.name }

// ReadAll returns the content of the file from the database, or from the workspace if the database
// has none.
func (f *sharedFile) ReadAll() ([]byte, fs.FileInfo, error) {
	return f.read(int64(f.policy.Max))
}

// Open returns a reader of the same content, whatever its size.
func (f *sharedFile) Open() (io.ReadCloser, fs.FileInfo, error) {
	data, info, err := f.read(0)
	if tooLarge := err != nil && contract.AsError(err).Kind == contract.TooLarge; tooLarge && f.file != nil {
		return f.file.Open()
	}
	return io.NopCloser(bytes.NewReader(data)), info, err
}

func (f *sharedFile) read(limit int64) ([]byte, fs.FileInfo, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sharedRead)
	defer cancel()
	held, err := f.memory.Has(ctx, f.log)
	switch {
	case err != nil:
		return nil, nil, f.failed(err)
	case !held && f.missing != nil:
		return nil, nil, f.missing
	case !held:
		return f.file.ReadAll()
	}
	info, err := f.memory.Stat(ctx, f.log, f.policy)
	if err != nil {
		return nil, nil, f.failed(err)
	}
	if limit > 0 && info.Size() > limit {
		return nil, nil, contract.Errorf(contract.TooLarge, "%s is %d bytes; at most %d bytes can be read", f.name, info.Size(), limit).
			With("path", f.name).With("size", info.Size()).With("max", limit)
	}
	tail, err := f.memory.Tail(ctx, f.log, f.policy, math.MaxInt64)
	if err != nil {
		return nil, nil, f.failed(err)
	}
	return tail.Text, info, nil
}

// sharedRead is the timeout for reading a file from the database.
const sharedRead = 5 * time.Second

func (f *sharedFile) failed(err error) error {
	if answer, ok := errors.AsType[*contract.Error](err); ok {
		return answer
	}
	return contract.Errorf(contract.Unavailable, "%s cannot be read right now", f.name).With("path", f.name).Because(err)
}
