package app

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/audit"
	"remit/internal/engine/ratelimit"
	"remit/internal/frontends/cli"
	"remit/internal/stores/memlog"
	"remit/internal/stores/sqlstore"
	"remit/internal/stores/workspace"
	"remit/internal/toolsets/learning"
)

// keeping is where things are kept that are not simply in the database: by a process
// alone in files and memory of its own, by replicas that share a database in there.
type keeping struct {
	place   string // what approvals, background tasks and waiting calls are bound to
	memory  learning.Memory
	records audit.Keeper
	audit   audit.Reader // the records
	source  string       // the name of the records in the index of calls
	limiter ratelimit.Limiter
	judge   func(name string, policy *contract.PathPolicy) (engine.File, error)

	memoryEnd, recordsEnd io.Closer
}

// sharedPlace stands for the workspace where replicas share a database: each may have
// it in another folder.
const sharedPlace = "shared"

// keepAlone keeps everything on this machine.
func keepAlone(s cli.Settings, root *workspace.Root, data *dataFolder, lost func(error)) *keeping {
	memory := filesOf(root)
	folder := os.DirFS(filepath.Join(s.Data, "audit"))
	records := &memlog.Daily{Files: data.files("audit"), Folder: folder, Lost: lost}
	return &keeping{
		place: workspace.RealPath(s.Root), memory: memory, records: records, audit: audit.Folder{FS: folder},
		source: recordSource(s), limiter: ratelimit.NewMemory(),
		judge: func(name string, policy *contract.PathPolicy) (engine.File, error) {
			return judged(root.Judge(name, policy))
		},
		memoryEnd: memory, recordsEnd: records,
	}
}

// keepShared keeps everything in a database that others use as well.
func keepShared(root *workspace.Root, database sqlstore.Source, lost func(error)) *keeping {
	files := filesOf(root)
	memory := database.Memory(sqlstore.MemoryOptions{Folder: memoryFolder, Before: files, Now: time.Now})
	records := database.Records(lost)
	return &keeping{
		place: sharedPlace, memory: memory, records: records, audit: database.RecordReader(), source: sharedPlace, limiter: database.Limiter(),
		judge:     judgeShared(root, memory),
		memoryEnd: memory, recordsEnd: records,
	}
}

// recordSource names the records of a workspace in the index of calls. A database in the
// data folder moves with the records; one elsewhere may serve several workspaces.
func recordSource(s cli.Settings) string {
	if file, ok := sqlstore.File(s.Database); ok && filepath.Dir(file) == s.Data {
		return "audit"
	}
	return workspace.RealPath(s.Data)
}

// filesOf are the memory files of a workspace.
func filesOf(root *workspace.Root) *memlog.Memory {
	return &memlog.Memory{Files: root, Reader: root, Folder: memoryFolder}
}

// judged keeps a file that is none from looking like one.
func judged(file *workspace.File, err error) (engine.File, error) {
	if err != nil {
		return nil, err
	}
	return file, nil
}

// judgeShared finds memory files in the database, whether or not this workspace has them.
// What may not be read is denied either way.
func judgeShared(root *workspace.Root, memory *sqlstore.Memory) func(string, *contract.PathPolicy) (engine.File, error) {
	return func(name string, policy *contract.PathPolicy) (engine.File, error) {
		file, err := root.Judge(name, policy)
		clean := path.Clean(name)
		if err == nil {
			clean = file.Resolved()
		}
		if path.Dir(clean) != memoryFolder || err != nil && contract.AsError(err).Kind != contract.NotFound {
			return judged(file, err)
		}
		return &sharedFile{file: file, missing: err, name: path.Clean(name), log: path.Base(clean), policy: policy, memory: memory}, nil
	}
}

// sharedFile is a path of a memory file.
type sharedFile struct {
	file    *workspace.File // nil if the workspace has no such file
	missing error           // and why
	name    string
	log     string
	policy  *contract.PathPolicy
	memory  *sqlstore.Memory
}

// Name is the path as the caller gave it, cleaned.
func (f *sharedFile) Name() string { return f.name }

// ReadAll gives what the database holds of the file, or else the workspace.
func (f *sharedFile) ReadAll() ([]byte, fs.FileInfo, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sharedRead)
	defer cancel()
	held, err := f.memory.Holds(ctx, f.log)
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
	if most := int64(f.policy.Max); most > 0 && info.Size() > most {
		return nil, nil, contract.Errorf(contract.TooLarge, "%s is %d bytes; at most %d bytes can be read", f.name, info.Size(), most).
			With("path", f.name).With("size", info.Size()).With("max", most)
	}
	tail, err := f.memory.Tail(ctx, f.log, f.policy, math.MaxInt64)
	if err != nil {
		return nil, nil, f.failed(err)
	}
	return tail.Text, info, nil
}

// sharedRead is how long reading a file from the database may take.
const sharedRead = 5 * time.Second

func (f *sharedFile) failed(err error) error {
	if answer, ok := errors.AsType[*contract.Error](err); ok {
		return answer
	}
	return contract.Errorf(contract.Unavailable, "%s cannot be read right now", f.name).With("path", f.name).Because(err)
}
