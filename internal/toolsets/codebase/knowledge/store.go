package knowledge

import (
	"context"
	"errors"
	"time"

	"remit/internal/search/chunk"
)

// Store keeps the pieces of one workspace, and the vectors of all. Every method is safe for concurrent use, also by several
// processes.
type Store interface {
	// Load gives every source that changed after a generation, in order of its last change, those that are gone too, and
	// the newest generation. Discoveries come first when since is 0. What changes meanwhile is either given or has a
	// later generation than the newest; no transaction is open while each runs. The error of each ends it. ErrOutdated
	// says that what is gone since then is no longer known: whoever asked has to begin again, from 0.
	Load(ctx context.Context, since int64, each func(Source) error) (newest int64, err error)

	// Replace puts sources in the place of those with the same path: all or none. It returns the generation of the change,
	// which counts in place of those that the sources have. Pieces are numbered from 0 in the order they come in. Of two
	// sources with one path the last counts; one whose path has more than LongestPath bytes is left out. A source that is
	// gone has no pieces.
	Replace(ctx context.Context, sources []Source) (generation int64, err error)

	// Pieces gives pieces by path and number, in the order they are asked for. Those that are not there (any more) are left out.
	Pieces(ctx context.Context, refs []Ref) ([]Piece, error)

	// Vectors gives those vectors of a model that are kept, by content key. One that is damaged counts as not kept.
	Vectors(ctx context.Context, model string, keys []Key) (map[Key][]float32, error)

	// PutVectors keeps vectors of a model, in the place of those with the same key: all or none.
	PutVectors(ctx context.Context, model string, vectors map[Key][]float32) error

	// Sweep removes vectors that no piece of any workspace has any more, those of models that no workspace wants, and
	// tombstones of this workspace older than a day; it returns how many vectors went. This workspace wants the models
	// given here and those it puts vectors of, for as long as WishLasts: others that use the same workspace with another model say
	// so in a sweep of their own. Vectors younger than an hour stay: their pieces may be about to come. It does nothing if all of the
	// models were given less than every ago. It works in short steps; one that fails leaves the rest for the next sweep.
	Sweep(ctx context.Context, models []string, every time.Duration) (int64, error)

	// Lease lets one process do the bulk of the work: true if holder has it until then. "" in place of a holder is never
	// given it. A holder gives it back by a lease of zero, which is never true.
	Lease(ctx context.Context, holder string, until, now time.Time) (bool, error)
}

// ErrOutdated says that a generation is so old, or of another database, that what is gone since cannot be told.
var ErrOutdated = errors.New("what changed since that generation is no longer known")

// WishLasts is how long a workspace wants a model that nobody sweeps with any more.
const WishLasts = 30 * 24 * time.Hour

// LongestPath is the size in bytes of the longest path of a source that is kept.
const LongestPath = 2000

// Key is the first half of the SHA-256 of what is embedded.
type Key [16]byte

// Ref names a piece.
type Ref struct {
	Path   string
	Number int
}

// Piece is a piece of a source. A Date that is zero stands for the time at which the source was modified.
type Piece struct {
	Ref
	Key Key
	chunk.Piece
}

// Source is what pieces are cut from: a file, a memory file or what a client did.
type Source struct {
	Path       string // as raw as the file system has it
	Hash       [32]byte
	Size       int64
	Modified   time.Time // to the microsecond; dates of pieces too
	Generation int64     // of its last change
	Gone       bool      // there is nothing left but its path
	Pieces     []Piece
}
