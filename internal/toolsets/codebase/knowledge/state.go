package knowledge

import "time"

// State is how far the index is.
type State struct {
	Files      int       `json:"files"`  // sources that are indexed: files, memory files and sessions
	Pieces     int       `json:"pieces"` // of them
	Done       int       `json:"done"`   // files that were looked at, of those that are looked at at the moment
	Total      int       `json:"total"`
	Model      string    `json:"model"`                // whose vectors an answer goes by; "" if words alone count
	Note       string    `json:"note,omitempty"`       // what is not as it should be, in a sentence for people
	Waiting    int       `json:"waiting"`              // files that are to be indexed
	Unembedded int       `json:"unembedded,omitempty"` // pieces that have no vector of the remote model yet
	Indexing   bool      `json:"-"`                    // there is something to do
	Updated    time.Time `json:"-"`                    // when all that there was was indexed; zero if that is not so yet
}

// status is what calls tell each other of.
type status struct {
	loaded  bool
	settled bool // all was looked at once
	updated time.Time
	round   error // of the last round
	trouble error // of the last batch
	fails   int   // batches that failed one after the other
	told    map[string]bool
	swept   time.Time // when this process last had the store swept
}

// State tells how far the index is. It costs next to nothing.
func (x *Index) State() State {
	x.mu.Lock()
	s := State{Updated: x.status.updated, Indexing: x.started && !x.status.settled}
	trouble := x.status.round != nil || x.status.trouble != nil
	started, loading := x.started, x.started && !x.status.loaded
	x.mu.Unlock()
	if started && x.local() != nil {
		s.Model = x.local().ID()
	}
	left, done := x.queue.progress()
	s.Files, s.Pieces = x.catalog.counts()
	s.Waiting, s.Done, s.Total = left, done, done+left
	s.Indexing = s.Indexing || left > 0
	switch {
	case trouble:
		s.Note = "what changed lately may be missing"
	case loading:
		s.Note = "what is known is still being read: some of it may be missing"
	}
	if x.remote != nil && left == 0 {
		x.remote.progress(&s)
	}
	return s
}

// noteRound notes how a round ended.
func (x *Index) noteRound(err error) {
	left, _ := x.queue.progress()
	now := x.o.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status.round = err
	if err != nil {
		return
	}
	x.status.settled = true
	if left == 0 {
		x.status.updated, x.status.trouble, x.status.fails = now, nil, 0
	}
}

// noteTrouble notes how a batch ended.
func (x *Index) noteTrouble(err error) {
	x.mu.Lock()
	first := err != nil && x.status.trouble == nil
	x.status.trouble = err
	x.status.fails++
	if err == nil {
		x.status.fails = 0
	}
	x.mu.Unlock()
	if first {
		x.o.Log.Warn("files cannot be indexed for now", "error", err)
	}
}

// touch tells the remote model that there may be something to embed.
func (x *Index) touch() {
	if x.remote != nil {
		x.remote.nudge()
	}
}
