package learning

import (
	"bytes"
	"context"
	"sync"

	"remit/internal/search/entries"
)

// Similar is an earlier entry of the same file that says almost the same as a new one.
type Similar struct {
	ID      string `json:"entry_id"`
	Excerpt string `json:"excerpt"`
}

// recentFiles holds the newest entries of each memory file, so that a new one is compared with them
// without reading the file.
type recentFiles struct {
	mu    sync.Mutex
	files map[string]*recentFile
}

// recentFile holds the newest entries of a file. The positions of our own entries tell whether
// others have written to the file since it was read: then it is read again. While several entries
// of this process are being written, a few of others may go unnoticed until the last is stored.
type recentFile struct {
	mu      sync.Mutex
	loaded  bool
	newest  entries.Recent
	base    int64 // the number of the first line that was not read
	last    int64 // the number of the line after all known ones
	own     int64 // how many lines from base on are ours
	pending int64 // how many lines of ours are being written
}

// maxCompared is how many bytes at the end of a file are read to compare new entries with them.
const maxCompared = 64 << 10

// comparison is an entry that is being written.
type comparison struct {
	file  *recentFile
	name  string
	body  []byte
	lines int64
}

// begin notes that an entry is being written. The caller must call end.
func (r *recentFiles) begin(name string, body []byte) *comparison {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.files[name]
	if f == nil {
		if r.files == nil {
			r.files = map[string]*recentFile{}
		}
		f = &recentFile{}
		r.files[name] = f
	}
	c := &comparison{file: f, name: name, body: body, lines: 1 + int64(bytes.Count(body, []byte{'\n'}))}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending += c.lines
	return c
}

// end notes that the entry was stored or not, and returns an earlier entry that is similar.
// superseded is the ID of the one that it supersedes, or "". A file that cannot be read has none.
func (c *comparison) end(
	ctx context.Context, read func(context.Context, string, int64) (Tail, error), place Position, stored bool, superseded string,
) (found *Similar) {
	f := c.file
	var added []entries.Sketch
	if stored {
		added = entries.Sketches(c.name, c.body)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending -= c.lines
	if !stored {
		return nil
	}
	if end := place.Line + c.lines; f.loaded && end > f.base {
		f.own += c.lines
		f.last = max(f.last, end)
		f.loaded = f.last-f.base <= f.own+f.pending
	} else if f.loaded = f.loaded && len(added) > 0 && f.newest.Has(added[0].ID); f.loaded {
		for _, e := range added { // they were read with an entry of ours after them
			f.newest.Remove(e.ID)
		}
	}
	if !f.loaded && !c.load(ctx, read, place) {
		return nil
	}
	if superseded != "" {
		f.newest.Remove(superseded)
	}
	for i := range added {
		if s := f.newest.Find(&added[i]); s != nil && found == nil {
			found = &Similar{s.ID, s.Excerpt()}
		}
		f.newest.Add(added[i])
	}
	return found
}

// load reads the entries at the end of the file, up to the new one.
func (c *comparison) load(ctx context.Context, read func(context.Context, string, int64) (Tail, error), place Position) bool {
	f := c.file
	tail, err := read(ctx, c.name, maxCompared)
	own := bytes.LastIndex(tail.Text, c.body)
	if err != nil || own < 0 {
		return false
	}
	f.newest = entries.Recent{}
	for _, s := range entries.Sketches(c.name, tail.Text[:own]) {
		f.newest.Add(s)
	}
	f.base = place.Line + c.lines
	f.last, f.own, f.loaded = f.base, 0, true
	return true
}
