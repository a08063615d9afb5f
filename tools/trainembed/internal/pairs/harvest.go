package pairs

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"remit/tools/trainembed/internal/extract"
	"remit/tools/trainembed/internal/fetch"
)

// A harvest is what one package gives.
type harvest struct {
	id       string
	pairs    []extract.Pair
	found    int  // before any was left out
	held     int  // that overlap an evaluation set
	repeated int  // that say what others of the package say
	missing  bool // there is no archive
	err      error
}

// reap reads one package.
func reap(ctx context.Context, cache string, p fetch.Package, held *evaluation) harvest {
	h := harvest{id: p.ID()}
	if _, err := os.Stat(p.Path(cache)); err != nil {
		h.err, h.missing = err, errors.Is(err, fs.ErrNotExist)
		return h
	}
	archive, err := fetch.Open(cache, p)
	if err != nil {
		h.err = err
		return h
	}
	defer archive.Close() //nolint:errcheck // nothing was written
	local := newSeen()
	var scratch []uint64
	for file := range archive.Files() {
		if h.err = ctx.Err(); h.err != nil {
			return h
		}
		if !extract.Wants(file.Name) {
			continue
		}
		content, err := file.Read()
		if err != nil {
			h.err = err
			return h
		}
		for _, pair := range extract.File(file.Name, content) {
			h.found++
			if good(pair) {
				h.keep(pair, local, held, &scratch)
			}
		}
	}
	h.pairs = sample(h.pairs)
	return h
}

// keep adds a pair that the package has not given yet and that no evaluation asks for.
func (h *harvest) keep(pair extract.Pair, local *seen, held *evaluation, scratch *[]uint64) {
	if !local.freshHere(pair) {
		h.repeated++
		return
	}
	if held.holds(pair.A, scratch) || held.holds(pair.B, scratch) {
		h.held++
		return
	}
	h.pairs = append(h.pairs, pair)
}
