package hybrid

// Hit is a chunk that was found.
type Hit struct {
	ID ID
	// Score is from 0 to 1: WordScore and Cosine combined, times the factor from Query.Boost.
	Score float32
	// WordScore is the BM25 score as a fraction of its upper bound, from 0 to 1.
	WordScore float32
	// Cosine is the cosine of the vectors.
	Cosine float32
}

// before reports whether h ranks before other: by a higher score, or with equal scores by a lower
// ID.
func (h *Hit) before(other *Hit) bool {
	if h.Score != other.Score {
		return h.Score > other.Score
	}
	return h.ID < other.ID
}

// top keeps the best hits in a heap with the worst of them at the root.
type top struct {
	hits []Hit
	size int
}

func (t *top) add(h Hit) {
	if len(t.hits) < t.size {
		t.hits = append(t.hits, h)
		t.siftUp(len(t.hits) - 1)
		return
	}
	if h.before(&t.hits[0]) {
		t.hits[0] = h
		t.siftDown()
	}
}

func (t *top) siftUp(at int) {
	for at > 0 {
		above := (at - 1) / 2
		if !t.hits[above].before(&t.hits[at]) {
			return
		}
		t.hits[above], t.hits[at] = t.hits[at], t.hits[above]
		at = above
	}
}

func (t *top) siftDown() {
	for at := 0; ; {
		worst := at
		for below := 2*at + 1; below <= 2*at+2 && below < len(t.hits); below++ {
			if t.hits[worst].before(&t.hits[below]) {
				worst = below
			}
		}
		if worst == at {
			return
		}
		t.hits[worst], t.hits[at] = t.hits[at], t.hits[worst]
		at = worst
	}
}
