package knowledge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"remit/internal/search/chunk"
)

// memoryPart is the number of chunks of a memory file that are stored as one source.
const memoryPart = 256

// refreshMemory brings the memory files up to date in the index.
func (x *Index) refreshMemory() error {
	if x.o.Memory == nil {
		return nil
	}
	stamps, err := x.o.Memory.Stamps(x.ctx)
	if err != nil {
		return fmt.Errorf("list memory files: %w", err)
	}
	c := &x.refresher
	if c.stamps == nil {
		c.stamps = map[string]string{}
		for _, path := range x.catalog.paths() {
			if strings.HasPrefix(path, memoryPrefix) {
				c.stamps[memoryName(path)] = "" // differs from every real stamp
			}
		}
	}
	var failed []error
	for name := range c.stamps {
		if _, there := stamps[name]; !there {
			failed = append(failed, x.replaceMemory(x.ctx, name, nil))
		}
	}
	for name, stamp := range stamps {
		if known, found := c.stamps[name]; !found || known != stamp {
			failed = append(failed, x.indexMemoryFile(x.ctx, name))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err // all files are compared again
	}
	c.stamps = stamps
	return nil
}

// indexMemoryFile indexes a memory file. Its stamp was taken before it is read, so a later change
// is seen next time.
func (x *Index) indexMemoryFile(ctx context.Context, name string) error {
	cut, err := x.cutMemory(ctx, name)
	if errors.As(err, new(*panicError)) {
		x.o.Log.Error("cannot index a memory file", "file", name, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	return x.replaceMemory(ctx, name, cut)
}

// cutMemory cuts the current content of a memory file into chunks. A missing file has no chunks.
func (x *Index) cutMemory(ctx context.Context, name string) (cut []chunk.Chunk, err error) {
	content, before, err := x.o.Memory.Read(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read memory file %s: %w", name, err)
	}
	err = guarded("cut memory file "+name, func() error {
		cut = chunk.Memory(name, content)
		return nil
	})
	for i := range cut {
		cut[i].Line += before
		cut[i].End += before
	}
	return cut, err
}

// replaceMemory replaces the stored chunks of a memory file, as far as they differ.
func (x *Index) replaceMemory(ctx context.Context, name string, all []chunk.Chunk) error {
	var changed []Source
	part := 0
	for some := range slices.Chunk(all, memoryPart) {
		s := x.memorySource(memoryPath(name, part), some)
		if _, hash, found := x.catalog.known(s.Path); !found || hash != s.Hash {
			changed = append(changed, s)
		}
		part++
	}
	for ; ; part++ {
		path := memoryPath(name, part)
		if _, _, found := x.catalog.known(path); !found {
			break
		}
		changed = append(changed, Source{Path: path, Gone: true, Modified: microseconds(x.o.Now())})
	}
	if len(changed) == 0 {
		return nil
	}
	return x.commit(ctx, changed, nil)
}

// memorySource returns a part of a memory file as a source. Its hash changes when anything about
// its chunks changes.
func (x *Index) memorySource(path string, some []chunk.Chunk) Source {
	s := Source{Path: path, Modified: microseconds(x.o.Now())}
	h := sha256.New()
	fmt.Fprintln(h, cutVersion)
	for i, p := range some {
		s.Chunks = append(s.Chunks, newChunk(path, i, p))
		fmt.Fprintf(h, "%x %q %q %q %q %q %q %v %d %d\n", s.Chunks[i].Key, p.Source, p.Type, p.Name, p.Text, p.Module, p.Session, p.Date, p.Line, p.End)
		s.Size += int64(len(p.Text))
	}
	h.Sum(s.Hash[:0])
	return s
}

func newChunk(path string, number int, p chunk.Chunk) Chunk {
	made := Chunk{Ref: Ref{Path: path, Number: number}, Chunk: p}
	if !p.Date.IsZero() {
		made.Date = microseconds(p.Date)
	}
	made.Key = keyOf(wordsOf(path, &made))
	return made
}
