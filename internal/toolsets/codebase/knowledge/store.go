package knowledge

import (
	"context"
	"errors"
	"time"

	"remit/internal/search/chunk"
)

// Store stores the chunks of one workspace and the vectors of all workspaces. Every method is safe
// for concurrent use, also by several processes.
type Store interface {
	// Load calls each for every source that changed after a generation, including deleted ones, in
	// order of the last change, and returns the newest generation. Discoveries come first when
	// since is 0. What changes meanwhile is either included or has a later generation than the
	// newest. No transaction is open while each runs. An error of each ends the load. ErrOutdated
	// means that deletions since then are no longer known: the caller must start again from 0.
	Load(ctx context.Context, since int64, each func(Source) error) (newest int64, err error)

	// Replace replaces the sources with the same paths: all or none. It returns the generation of
	// the change, which overrides those in the sources. Chunks are numbered from 0 in their order.
	// Of two sources with one path the last counts; a source whose path exceeds MaxPath bytes is
	// left out. A source that is Gone has no chunks.
	Replace(ctx context.Context, sources []Source) (generation int64, err error)

	// Chunks returns chunks by path and number, in the requested order. Missing ones are left out.
	Chunks(ctx context.Context, refs []Ref) ([]Chunk, error)

	// Vectors returns the stored vectors of a model by content key. A damaged vector counts as
	// missing.
	Vectors(ctx context.Context, model string, keys []Key) (map[Key][]float32, error)

	// PutVectors stores vectors of a model and replaces those with the same keys: all or none.
	PutVectors(ctx context.Context, model string, vectors map[Key][]float32) error

	// Sweep removes vectors without a chunk in any workspace, vectors of models that no workspace
	// wants, and tombstones of this workspace older than a day. It returns the number of removed
	// vectors. The workspace wants the given models, and those it puts vectors of, for
	// ModelRetention; processes that use the same workspace with another model name it in their own
	// sweeps. Vectors younger than an hour stay, since their chunks may follow. Sweep does nothing
	// if this workspace has requested each of the models within the last interval. It works in
	// short steps; a failed step leaves the rest for the next sweep.
	Sweep(ctx context.Context, models []string, interval time.Duration) (int64, error)

	// Lease lets one process do the bulk of the work: it returns true if holder has the lease until
	// then. The holder "" never gets it. A holder returns the lease by calling Lease with a zero
	// until, for which the result is false.
	Lease(ctx context.Context, holder string, until, now time.Time) (bool, error)

	// Count returns the number of sources that are not Gone.
	Count(ctx context.Context) (int, error)

	snapshots
}

// snapshots records which snapshots of the index belong to the database. A snapshot of another
// database, or of a state that the database does not have any more because a backup was restored,
// is not known.
type snapshots interface {
	// PutSnapshot records a new random id, and up to which generation the snapshot has all changes.
	// Only the latest MaxSnapshots ids of a workspace stay known.
	PutSnapshot(ctx context.Context, id SnapshotID, generation int64) error

	// Snapshot returns the generation recorded for an id.
	Snapshot(ctx context.Context, id SnapshotID) (generation int64, known bool, err error)
}

// SnapshotID identifies a snapshot of the index.
type SnapshotID [16]byte

// MaxSnapshots is the number of snapshots of a workspace that a store knows. Each replica has one.
const MaxSnapshots = 64

// ErrOutdated means that a generation is too old, or of another database, so that deletions since
// then are unknown.
var ErrOutdated = errors.New("generation is outdated: later deletions are no longer known")

// ModelRetention is how long a workspace wants a model after the last sweep that named it.
const ModelRetention = 30 * 24 * time.Hour

// MaxPath is the maximum length in bytes of the path of a stored source.
const MaxPath = 2000

// Key is the first half of the SHA-256 of an embedded text.
type Key [16]byte

// Ref identifies a chunk.
type Ref struct {
	Path   string
	Number int
}

// Chunk is a chunk of a source. A zero Date means the modification time of the source.
type Chunk struct {
	Ref
	Key Key
	chunk.Chunk
}

// Source is a text that is cut into chunks: a file, a memory file or the summary of a session.
type Source struct {
	Path       string // the bytes that the file system uses
	Hash       [32]byte
	Size       int64
	Modified   time.Time // with microsecond precision, like the dates of chunks
	Generation int64     // of its last change
	Gone       bool      // deleted; only the path is left
	Chunks     []Chunk
}
