package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/frontends/cli"
	"remit/internal/stores/memlog"
	"remit/internal/toolsets/learning"
)

// proof compares tasks, memory files and books with the records. It implements cli.Proof.
type proof struct {
	app    *App
	ledger audit.Ledger
	sizes  map[string]int64    // of the memory files before the records were read
	lines  map[string][]string // of the histories of books before that

	memoryErr, booksErr error // why the sizes or the lines are not known
}

// NewProof implements cli.Workspace. It must be called before the records are read.
func (a *App) NewProof(ctx context.Context) (cli.Proof, error) {
	if err := a.announced.settle(ctx); err != nil && !a.settings.ReadOnly {
		a.log.Warn("cannot find out what interrupted calls have changed", "error", err)
	}
	p := &proof{app: a, sizes: map[string]int64{}}
	for _, file := range learning.MemoryFiles(a.known) {
		info, err := a.storage.memory.Stat(ctx, file, &contract.PathPolicy{})
		if err == nil {
			p.sizes[file] = info.Size()
		} else if !isMissing(err) {
			p.memoryErr = err
			break
		}
	}
	if len(a.settings.Books) > 0 {
		p.lines, p.booksErr = a.books.HistoryLines(ctx)
	}
	return p, p.addPending(ctx, &p.ledger)
}

// notCompared names a store that cannot be read. The others are compared all the same.
func notCompared(what string, err error) (c audit.Comparison) {
	why := err.Error()
	if e, ok := errors.AsType[*contract.Error](err); ok {
		why = e.Message
	}
	c.Problems = []string{what + " were not compared: " + why}
	return c
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || contract.AsError(err).Kind == contract.NotFound
}

// addPending adds the records that are not in the chain yet.
func (p *proof) addPending(ctx context.Context, ledger *audit.Ledger) error {
	if !p.comparesTasks() {
		return nil
	}
	db, err := p.app.database.open(ctx)
	if err != nil {
		return nil //nolint:nilerr // compareTasks reports it
	}
	return db.PendingRecords(ctx, ledger.AddPending)
}

// comparesTasks reports whether all changes of the tasks are recorded here. A SQLite file outside
// of the data folder may serve other workspaces, which record their changes elsewhere.
func (p *proof) comparesTasks() bool {
	return p.app.database.exists() && (p.app.database.isShared() || p.app.storage.source == ownSource)
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
	p.ledger = audit.Ledger{}
	ledger := &p.ledger
	if err := p.addPending(ctx, ledger); err != nil {
		return first, err
	}
	if err := ledger.ReadAll(ctx, p.app.AuditRecords()); err != nil {
		return first, err
	}
	second, err := p.compare(ctx, ledger, report)
	second.Problems = slices.DeleteFunc(second.Problems, func(problem string) bool { return !slices.Contains(first.Problems, problem) })
	return second, err
}

func (p *proof) compare(ctx context.Context, ledger *audit.Ledger, report func(cli.Progress)) (found cli.Proved, err error) {
	found.Problems, found.Notes = []string{}, []string{}
	found.Changes = len(ledger.Changes) + ledger.Tasks.Changes
	for _, call := range ledger.Open() {
		lives, err := p.app.announced.list.Lives(ctx, call.Owner)
		if err != nil {
			return found, err
		}
		if lives {
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
	if len(files) > 0 && p.memoryErr != nil {
		add(notCompared("memory files", p.memoryErr))
		clear(files)
	}
	for file, changes := range files {
		c, err := p.compareMemory(ctx, file, changes)
		if err != nil {
			return found, err
		}
		add(c)
	}
	c, err := p.compareTasks(ctx, &ledger.Tasks, report)
	if err != nil {
		return found, err
	}
	add(c)
	switch {
	case len(ofBooks) == 0 || len(p.app.settings.Books) == 0:
	case p.booksErr != nil:
		add(notCompared("books", p.booksErr))
	default:
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

// compareMemory compares a memory file with the changes of it that were recorded.
func (p *proof) compareMemory(ctx context.Context, file string, changes []*audit.Announced) (c audit.Comparison, err error) {
	if files, ok := p.app.storage.memory.(*memlog.Memory); ok {
		return files.Prove(ctx, file, p.sizes[file], changes)
	}
	tail, err := p.app.storage.memory.Tail(ctx, file, &contract.PathPolicy{}, math.MaxInt64)
	if err != nil && !isMissing(err) {
		return c, err
	}
	return memlog.ProveText(file, tail.Text, p.sizes[file], changes), nil
}

// compareTasks compares the tasks with the changes of them that were recorded.
func (p *proof) compareTasks(ctx context.Context, ledger *audit.TaskLedger, report func(cli.Progress)) (c audit.Comparison, err error) {
	switch {
	case !p.app.database.exists():
		if ledger.Changes > 0 {
			c.Problems = []string{"tasks are recorded, but there is no database"}
		}
		return c, nil
	case !p.comparesTasks():
		if ledger.Changes > 0 {
			c.Notes = []string{"tasks were not compared: the database is outside of the data folder, so that other workspaces may use it too"}
		}
		return c, nil
	}
	cut, err := p.app.retained().Cut(ctx)
	if err != nil {
		return c, err
	}
	ledger.Older = ledger.Older || cut.Through != ""
	db, err := p.app.database.open(ctx)
	if err != nil {
		return notCompared("tasks", err), nil
	}
	return db.ProveTasks(ctx, ledger, func(done int) { report(cli.Progress{Done: int64(done), Unit: "tasks"}) })
}
