package pairs

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"remit/tools/trainembed/internal/extract"
	"remit/tools/trainembed/internal/fetch"
)

// A packagePairs holds the pairs of one package.
type packagePairs struct {
	id       string
	pairs    []extract.Pair
	found    int  // pairs found before any were left out
	held     int  // pairs that overlap an evaluation set
	repeated int  // pairs that repeat others of the package
	missing  bool // there is no archive
	err      error
}

// readPackage reads one package.
func readPackage(ctx context.Context, cache string, p fetch.Package, held *evaluation) packagePairs {
	h := packagePairs{id: p.ID()}
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

// keep adds a pair, unless the package has it already or it overlaps an evaluation set.
func (h *packagePairs) keep(pair extract.Pair, local *seen, held *evaluation, scratch *[]uint64) {
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
