package knowledge

import (
	"context"
	"errors"
	"time"

	"remit/internal/search/hybrid"
)

// Query is what is looked for. Text alone is needed.
type Query struct {
	Text   string
	Type   string // of discoveries, which alone are found then; "" and "all": everything
	Module string // exactly; "": any
	Limit  int    // 5 if it is 0
	Not    string // the path of a source to leave out

	NoSessions bool // leaves out what clients did
}

// Answer is what was found.
type Answer struct {
	Hits  []Hit // the best first
	Total int   // how many pieces are relevant, those that say the same counted once as far as that is known
	State State
}

// Hit is a piece that was found.
type Hit struct {
	ID      string    `json:"id"`   // a UUID, always the same for the same piece
	Type    string    `json:"type"` // of a discovery
	Content string    `json:"content"`
	Module  string    `json:"module,omitempty"`
	Session string    `json:"session,omitempty"`
	Date    time.Time `json:"date"`
	Score   float64   `json:"score"`  // from 0 to 1, to be compared within an answer
	Source  string    `json:"source"` // discovery, code, docs or session
	Name    string    `json:"name,omitempty"`
	Path    string    `json:"path,omitempty"` // of the source: a file, a memory file, or what was fed
	Line    int       `json:"line,omitempty"`
	End     int       `json:"endLine,omitempty"`
}

// Search finds what fits a query best. What was done to files and memory before is seen, as far as it is little; State says what
// is not. It fails with ErrEmpty, *BuildingError, *EmbeddingError, or because the store does.
func (x *Index) Search(ctx context.Context, q Query) (Answer, error) {
	ctx, leave, err := x.enter(ctx)
	if err != nil {
		return Answer{}, err
	}
	defer leave()
	patient, cancel := context.WithTimeout(ctx, x.limits.longest)
	defer cancel()
	vacant := x.outwait(patient, x.freshen(patient))
	if err := x.gone(ctx); err != nil {
		return Answer{}, err
	}
	if vacant != nil {
		return Answer{}, vacant
	}
	if q.Limit <= 0 {
		q.Limit = 5
	}
	way, err := x.choose(ctx, unnamed(q.Text))
	if err != nil {
		return Answer{}, err
	}
	answer, moved, err := x.find(ctx, q, way)
	if err == nil && moved { // another process changed what was found
		_ = x.freshen(patient)
		answer, _, err = x.find(ctx, q, way)
	}
	if stop := x.gone(ctx); stop != nil {
		return Answer{}, stop
	}
	if err != nil {
		return Answer{}, err
	}
	answer.State = x.State()
	answer.State.Model = way.model
	if way.note != "" {
		answer.State.Note = way.note
	}
	return answer, nil
}

// gone tells whether the caller has left, or the index is closed.
func (x *Index) gone(ctx context.Context) error {
	if x.ctx.Err() != nil {
		return ErrClosed
	}
	return ctx.Err()
}

// freshen waits for a round: as long as it may for memory files, since what was remembered is known to the next call, and for the rest as
// long as that is worth it. It gives the round's error.
func (x *Index) freshen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, x.limits.longest)
	defer cancel()
	patience := x.patience()
	all, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := x.join()
	select {
	case <-r.memory:
	case <-ctx.Done():
	}
	select {
	case <-r.done:
	case <-all.Done():
		return nil
	}
	if r.err == nil && patience == x.limits.first { // there may be nothing else to answer from
		x.queue.await(all, x.queue.none)
	}
	return r.err
}

// patience is how long somebody waits for the index to be up to date. While what was known before is still being read, nobody does but the
// first: there is something to answer from.
func (x *Index) patience() time.Duration {
	_, pieces := x.catalog.counts()
	left, _ := x.queue.progress()
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case !x.started || pieces == 0:
		return x.limits.first
	case !x.status.loaded:
		return 0
	case left > x.limits.bulk || !x.status.settled:
		return x.limits.busy
	}
	return x.limits.fresh
}

// outwait says why there is nothing to search in, as vacant does. While the first index is being built it waits for the first pieces as long
// as ctx lasts: a late answer is worth more than none.
func (x *Index) outwait(ctx context.Context, failed error) error {
	for {
		err := x.vacant(failed)
		if !errors.As(err, new(*BuildingError)) {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// vacant says why there is nothing to search in, if that is so.
func (x *Index) vacant(failed error) error {
	state := x.State()
	if state.Pieces > 0 {
		return nil
	}
	if failed != nil {
		return failed
	}
	if state.Indexing {
		return &BuildingError{State: state}
	}
	return ErrEmpty
}

// A way is how a query is answered: by which index, with which vector.
type way struct {
	index  *hybrid.Index
	id     string // of the vectors, in the store
	model  string
	text   string
	vector []float32
	note   string
}

// choose takes the remote model if it can, and the local one otherwise.
func (x *Index) choose(ctx context.Context, text string) (way, error) {
	note := ""
	if x.remote != nil {
		far, why, err := x.chooseFar(ctx, text)
		if far.index != nil || err != nil {
			return far, err
		}
		note = why
	}
	w := way{index: x.catalog.local(), text: text, note: note}
	local := x.local()
	if local == nil {
		return w, nil
	}
	w.id, w.model = local.ID(), local.ID()
	err := guarded("embed query", func() error {
		if k, can := local.(knower); can && !k.Knows(text) {
			return nil // what is left of its words would find anything
		}
		vectors, err := local.Embed(ctx, []string{text})
		if err == nil && len(vectors) == 1 {
			w.vector = vectors[0]
		}
		return err
	})
	if err != nil {
		x.o.Log.Error("a query is answered by words alone", "error", err)
		w.id, w.model = "", ""
	}
	return w, nil
}

// A knower tells whether any word of a text means something to it.
type knower interface{ Knows(text string) bool }

// chooseFar gives the way by the remote model, or why it is not taken.
func (x *Index) chooseFar(ctx context.Context, text string) (w way, note string, err error) {
	covered, pieces := x.catalog.coverage()
	index := x.catalog.far.Load()
	complete := index != nil && covered*100 >= pieces*farEnough
	if !complete && !x.o.RemoteOnly {
		return way{}, x.farNote(), nil
	}
	vector, err := x.remote.vector(ctx, text)
	if err == nil && !complete {
		return way{}, x.farNote(), nil
	}
	if err == nil {
		id := x.o.Remote.ID()
		return way{index: index, id: id, model: id, text: text, vector: vector}, "", nil
	}
	if x.gone(ctx) == nil {
		x.o.Log.Debug("a query was not embedded by the remote model", "error", err)
	}
	if x.o.RemoteOnly {
		return way{}, "", &EmbeddingError{Details: shortly(err)}
	}
	return way{}, "the local model answers, as the remote one does not: " + shortly(err), nil
}

// farNote says how far the remote vectors are.
func (x *Index) farNote() string {
	var s State
	x.remote.progress(&s)
	return "the local model answers for now: " + s.Note
}
