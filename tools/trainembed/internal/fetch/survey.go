package fetch

import (
	"context"
	"fmt"

	"remit/tools/trainembed/internal/licence"
)

// Dropped is a package that a survey leaves out, and why.
type Dropped struct {
	Package Package
	Reason  string
}

// Survey makes a new list from names and versions. It reads the archives in the cache, fills in
// licence and SHA-256, and drops packages that are missing or not permissive. It preserves the
// order.
func Survey(ctx context.Context, cache string, candidates []Package) (kept []Package, dropped []Dropped, err error) {
	for _, p := range candidates {
		if err := ctx.Err(); err != nil {
			return nil, nil, fmt.Errorf("survey: %w", err)
		}
		reason := p.inspect(cache)
		if reason != "" {
			dropped = append(dropped, Dropped{p, reason})
			continue
		}
		kept = append(kept, p)
	}
	return kept, dropped, nil
}

// inspect fills in the fields from the archive, and returns why the package cannot be used.
func (p *Package) inspect(cache string) (reason string) {
	sum, err := sumOf(p.Path(cache))
	if err != nil {
		return "not downloaded"
	}
	archive, err := Open(cache, *p)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = archive.Close() }()
	// The count is known only after the pairs are made.
	p.SHA256, p.Licence, p.Pairs = sum, archive.gate.Licence, 0
	switch archive.gate.Verdict {
	case licence.Restricted:
		return "not permissive: " + archive.gate.Licence
	case licence.Unknown:
		return "no licence that is understood: " + archive.gate.Licence
	}
	for range archive.Files() {
		return ""
	}
	return "no file that may be used: " + archive.gate.Licence
}
