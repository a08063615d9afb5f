package knowledge

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"
)

// showTime is how long a search waits for the store before it reads the files themselves.
const showTime = 2 * time.Second

// show reads the chunks of candidates. It leaves out those that differ from the catalog. If the
// store fails, it cuts the chunks from the files again.
func (x *Index) show(ctx context.Context, candidates []candidate) ([]candidate, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	places := make([]place, len(candidates))
	for i, c := range candidates {
		places[i] = c.place
	}
	found, err := x.fetch(ctx, places)
	if err != nil {
		found = x.recut(ctx, places)
		if len(found) == 0 {
			return nil, err
		}
		x.o.Log.Debug("the store failed, so the search read the text from the files", "error", err)
	}
	var read []candidate
	for _, c := range candidates {
		if p, there := found[c.entry.ref()]; there {
			c.chunk = p
			read = append(read, c)
		}
	}
	return read, nil
}

func (x *Index) fetch(ctx context.Context, places []place) (map[Ref]Chunk, error) {
	ctx, cancel := context.WithTimeout(ctx, showTime)
	defer cancel()
	store, err := x.store(ctx)
	if err != nil {
		return nil, err
	}
	return readChunks(ctx, store, places)
}

// recut cuts the files of chunks again.
func (x *Index) recut(ctx context.Context, places []place) map[Ref]Chunk {
	cut := map[string][]Chunk{}
	found := map[Ref]Chunk{}
	for _, at := range places {
		path := at.entry.origin.path
		if _, done := cut[path]; !done {
			cut[path] = x.cutNow(ctx, path)
		}
		for _, p := range cut[path] {
			if p.Key == at.entry.key && p.Number == int(at.entry.number) {
				if p.Date.IsZero() {
					p.Date = time.Unix(at.entry.date, 0).UTC()
				}
				found[at.entry.ref()] = p
			}
		}
	}
	return found
}

// cutNow cuts the current content of a source.
func (x *Index) cutNow(ctx context.Context, path string) []Chunk {
	if strings.HasPrefix(path, memoryPrefix) {
		return x.cutPart(ctx, path)
	}
	content, _, err := x.read(path)
	if err != nil {
		return nil
	}
	return x.cut(path, content)
}

// cutPart cuts a memory file and returns the chunks of one part of it.
func (x *Index) cutPart(ctx context.Context, path string) (made []Chunk) {
	if x.o.Memory == nil {
		return nil
	}
	all, err := x.cutMemory(ctx, memoryName(path))
	if err != nil {
		return nil
	}
	part := 0
	_, _ = fmt.Sscanf(strings.TrimPrefix(path, memoryPrefix+memoryName(path)), "#%d", &part)
	all = all[min(part*memoryPart, len(all)):]
	for i, p := range all[:min(memoryPart, len(all))] {
		made = append(made, newChunk(path, i, p))
	}
	return made
}

// hit converts a candidate into a Hit.
func (x *Index) hit(c *candidate) Hit {
	p, e := &c.chunk, c.entry
	path := x.shownPath(e.origin.path)
	date := p.Date
	if date.IsZero() {
		date = time.Unix(e.date, 0)
	}
	return Hit{
		ID: identify(path, p.Name, p.Text, x.catalog.again(e)), Type: p.Type, Content: p.Text, Module: p.Module, Session: p.Session,
		Source: p.Source, Path: path, Name: p.Name, Line: p.Line, End: p.End, Date: date.UTC(), Score: math.Round(c.score*1e4) / 1e4,
	}
}

// again counts the identical chunks of a source before this one.
func (c *catalog) again(e *entry) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	same := 0
	for _, id := range e.origin.ids {
		if o := c.table.get(id); o != nil && o.number < e.number && o.key == e.key {
			same++
		}
	}
	return same
}
