package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/frontends/cli"
	"remit/internal/stores/memlog"
	"remit/internal/toolsets/learning"
)

// proof compares memory files and books with the records. It implements cli.Proof.
type proof struct {
	app    *App
	ledger audit.Ledger
	memory *memlog.Memory      // nil if the entries are in the database
	sizes  map[string]int64    // of the memory files before the records were read
	lines  map[string][]string // of the histories of books before that
	err    error               // why they are not known
}

// NewProof implements cli.Workspace. It must be called before the records are read.
func (a *App) NewProof(ctx context.Context) (cli.Proof, error) {
	if err := a.announced.settle(ctx); err != nil && !a.settings.ReadOnly {
		a.log.Warn("cannot find out what interrupted calls have changed", "error", err)
	}
	p := &proof{app: a, sizes: map[string]int64{}}
	var isFiles bool
	if p.memory, isFiles = a.storage.memory.(*memlog.Memory); isFiles {
		for _, file := range learning.MemoryFiles(a.known) {
			info, err := p.memory.Stat(ctx, file, &contract.PathPolicy{})
			if err == nil {
				p.sizes[file] = info.Size()
			} else if !errors.Is(err, fs.ErrNotExist) && contract.AsError(err).Kind != contract.NotFound {
				return nil, err
			}
		}
	}
	if len(a.settings.Books) > 0 {
		p.lines, p.err = a.books.HistoryLines(ctx)
	}
	return p, nil
}

// Add implements cli.Proof.
func (p *proof) Add(record []byte) error {
	p.ledger.Add(record)
	return nil
}

// Compare implements cli.Proof. What may only seem wrong, because other processes go on working, is
// looked at again with the records that were added meanwhile.
func (p *proof) Compare(ctx context.Context, report func(cli.Progress)) (cli.Proved, error) {
	first, err := p.compare(ctx, &p.ledger, report)
	if err != nil || len(first.Problems) == 0 {
		return first, err
	}
	var ledger audit.Ledger
	if err := ledger.ReadAll(ctx, p.app.AuditRecords()); err != nil {
		return first, err
	}
	second, err := p.compare(ctx, &ledger, report)
	second.Problems = slices.DeleteFunc(second.Problems, func(problem string) bool { return !slices.Contains(first.Problems, problem) })
	return second, err
}

func (p *proof) compare(ctx context.Context, ledger *audit.Ledger, report func(cli.Progress)) (found cli.Proved, err error) {
	found.Problems, found.Notes = []string{}, []string{}
	found.Changes = len(ledger.Changes)
	for _, call := range ledger.Open() {
		if p.isRunning(call) {
			found.Running++
			continue
		}
		found.Problems = append(found.Problems, fmt.Sprintf("call %s of %s at %s was interrupted; the next start of \"remit serve\", "+
			"\"remit stdio\" or \"remit call\" finds out what it has changed", call.ID, call.Tool, call.Time.Format(time.RFC3339)))
	}
	files, ofBooks := map[string][]*audit.Announced{}, []*audit.Announced(nil)
	for _, a := range ledger.Changes {
		if a.Store == audit.MemoryStore {
			files[a.Path] = append(files[a.Path], a)
		} else {
			ofBooks = append(ofBooks, a)
		}
	}
	add := func(c audit.Comparison) {
		found.Problems, found.Notes = append(found.Problems, c.Problems...), append(found.Notes, c.Notes...)
	}
	for file, changes := range files {
		if p.memory == nil {
			break
		}
		c, err := p.memory.Prove(ctx, file, p.sizes[file], changes)
		if err != nil {
			return found, err
		}
		add(c)
	}
	if len(ofBooks) > 0 && len(p.app.settings.Books) > 0 {
		if p.err != nil {
			return found, p.err
		}
		c, err := p.app.books.Prove(ctx, p.lines, ofBooks, func(done, total int) {
			report(cli.Progress{Done: int64(done), Total: int64(total), Unit: "files of books"})
		})
		if err != nil {
			return found, err
		}
		add(c)
	}
	slices.Sort(found.Problems)
	slices.Sort(found.Notes)
	return found, nil
}

// isRunning reports whether a call that has begun may still end, or be settled by its process.
func (p *proof) isRunning(call *audit.AnnouncedCall) bool {
	if p.app.database.isShared() {
		return time.Since(call.Time) < announceLease
	}
	return !p.app.process.hasEnded(call.Owner)
}
