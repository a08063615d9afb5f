package knowledge

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"remit/internal/search/chunk"
)

// memoryStore is a Store in memory that can be made to fail.
type memoryStore struct {
	mu         sync.Mutex
	generation int64
	sources    map[string]Source
	vectors    map[string]map[Key][]float32
	holder     string
	until      time.Time
	fail       error
	outdated   bool
	replaced   [][]string      // paths of each Replace
	before     func(op string) // called without the lock
	loads      int             // sources given by Load
	leases     int
	snapshots  map[SnapshotID]int64
	swept      [][]string
}

func newMemoryStore() *memoryStore {
	return &memoryStore{sources: map[string]Source{}, vectors: map[string]map[Key][]float32{}, snapshots: map[SnapshotID]int64{}}
}

func (m *memoryStore) begin(ctx context.Context, op string) error {
	m.mu.Lock()
	before := m.before
	m.mu.Unlock()
	if before != nil {
		before(op)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fail
}

// setBefore sets a function that is called before every operation.
func (m *memoryStore) setBefore(f func(op string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = f
}

func (m *memoryStore) setFail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

func (m *memoryStore) Load(ctx context.Context, since int64, each func(Source) error) (int64, error) {
	if err := m.begin(ctx, "load"); err != nil {
		return 0, err
	}
	m.mu.Lock()
	newest := m.generation
	if since > newest || m.outdated && since > 0 {
		m.mu.Unlock()
		return 0, ErrOutdated
	}
	var changed []Source
	for _, s := range m.sources {
		if s.Generation > since {
			changed = append(changed, s)
		}
	}
	m.mu.Unlock()
	slices.SortFunc(changed, func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Path, b.Path))
	})
	if since == 0 {
		slices.SortStableFunc(changed, func(a, b Source) int { return cmp.Compare(discoveries(b), discoveries(a)) })
	}
	for _, s := range changed {
		if err := errors.Join(each(s), ctx.Err()); err != nil {
			return 0, err
		}
		m.mu.Lock()
		m.loads++
		m.mu.Unlock()
	}
	return newest, nil
}

func discoveries(s Source) int {
	for _, p := range s.Chunks {
		if p.Source == chunk.Discovery {
			return 1
		}
	}
	return 0
}

func (m *memoryStore) Replace(ctx context.Context, sources []Source) (int64, error) {
	if err := m.begin(ctx, "replace"); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	var paths []string
	for _, s := range sources {
		s.Generation = m.generation
		s.Chunks = slices.Clone(s.Chunks)
		if s.Gone {
			s.Chunks = nil
		}
		for i := range s.Chunks {
			s.Chunks[i].Ref = Ref{s.Path, i}
		}
		m.sources[s.Path] = s
		paths = append(paths, s.Path)
	}
	m.replaced = append(m.replaced, paths)
	return m.generation, nil
}

func (m *memoryStore) Chunks(ctx context.Context, refs []Ref) (list []Chunk, err error) {
	if err := m.begin(ctx, "pieces"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, ref := range refs {
		if s := m.sources[ref.Path]; ref.Number < len(s.Chunks) {
			list = append(list, s.Chunks[ref.Number])
		}
	}
	return list, nil
}

func (m *memoryStore) Vectors(ctx context.Context, model string, keys []Key) (map[Key][]float32, error) {
	if err := m.begin(ctx, "vectors"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[Key][]float32{}
	for _, key := range keys {
		if v := m.vectors[model][key]; v != nil {
			found[key] = v
		}
	}
	return found, nil
}

func (m *memoryStore) PutVectors(ctx context.Context, model string, vectors map[Key][]float32) error {
	if err := m.begin(ctx, "put vectors"); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.vectors[model] == nil {
		m.vectors[model] = map[Key][]float32{}
	}
	maps.Copy(m.vectors[model], vectors)
	return nil
}

func (m *memoryStore) Sweep(ctx context.Context, models []string, _ time.Duration) (int64, error) {
	if err := m.begin(ctx, "sweep"); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.swept = append(m.swept, models)
	return 0, nil
}

func (m *memoryStore) Lease(ctx context.Context, holder string, until, now time.Time) (bool, error) {
	if err := m.begin(ctx, "lease"); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leases++
	if m.holder != "" && m.holder != holder && m.until.After(now) {
		return false, nil
	}
	if !until.After(now) {
		m.holder = ""
		return false, nil
	}
	m.holder, m.until = holder, until
	return true, nil
}

func (m *memoryStore) Count(ctx context.Context) (int, error) {
	if err := m.begin(ctx, "count"); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	count := 0
	for _, s := range m.sources {
		if !s.Gone {
			count++
		}
	}
	return count, nil
}

func (m *memoryStore) PutSnapshot(ctx context.Context, id SnapshotID, generation int64) error {
	if err := m.begin(ctx, "put snapshot"); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snapshots[id] = generation
	return nil
}

func (m *memoryStore) Snapshot(ctx context.Context, id SnapshotID) (int64, bool, error) {
	if err := m.begin(ctx, "snapshot"); err != nil {
		return 0, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	generation, known := m.snapshots[id]
	return generation, known, nil
}

// paths returns the paths of the stored sources, except marks.
func (m *memoryStore) paths() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var paths []string
	for path, s := range m.sources {
		if !s.Gone && !isMark(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
