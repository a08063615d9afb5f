package pairs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"sync"

	"remit/tools/trainembed/internal/fetch"
)

// Options configures Build.
type Options struct {
	// Cache is the folder of the archives.
	Cache string
	// Packages are read in this order. Duplicates count once.
	Packages []fetch.Package
	// Eval lists the files of evaluation sets. Pairs that overlap them are left out.
	Eval []string
	// Wordings holds files with several wordings of one thing per line. They follow the packages.
	// Nil means none.
	Wordings fs.FS
	// Out is the file to write. Its name must end in .gz.
	Out string
	// Workers is the number of packages that are read concurrently. Zero means the number of cores.
	Workers int
	// Log receives the progress; nil means no output.
	Log io.Writer
}

// Stats holds the figures of a build.
type Stats struct {
	Sources  int            // packages and wording files with at least one pair
	Pairs    int            // pairs written
	Kinds    map[string]int // pairs written, by kind
	Counts   map[string]int // pairs written, by source
	Found    int            // pairs found before any were left out
	Repeated int            // pairs left out because others say the same
	Held     int            // pairs left out because they overlap an evaluation set
}

// Build writes the pairs of all packages. The same archives, list and sets always give the same
// bytes.
func Build(ctx context.Context, o Options) (Stats, error) {
	stats := Stats{Kinds: map[string]int{}, Counts: map[string]int{}}
	held, err := readEvaluation(o.Eval)
	if err != nil {
		return stats, err
	}
	out, err := create(o.Out)
	if err != nil {
		return stats, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	packages := once(o.Packages)
	g := builder{stats: &stats, out: out, seen: newSeen(), log: o.Log, total: len(packages)}
	for result := range readAll(ctx, o, packages, held) {
		if err = g.take(result); err != nil {
			stop()
			break
		}
	}
	if err == nil {
		err = g.takeOwn(o.Wordings, held)
	}
	if err == nil {
		err = ctx.Err()
	}
	g.progress("\n")
	return stats, out.close(err)
}

// once removes duplicate packages.
func once(packages []fetch.Package) []fetch.Package {
	named := map[string]bool{}
	var some []fetch.Package
	for _, p := range packages {
		if !named[p.ID()] {
			some = append(some, p)
		}
		named[p.ID()] = true
	}
	return some
}

// ahead is the maximum number of finished packages that wait for an earlier one.
const ahead = 24

// readAll reads packages concurrently and yields their results in order. It returns after all of
// its goroutines have ended.
func readAll(ctx context.Context, o Options, packages []fetch.Package, held *evaluation) func(yield func(packagePairs) bool) {
	return func(yield func(packagePairs) bool) {
		ctx, stop := context.WithCancel(ctx)
		results := make([]chan packagePairs, len(packages))
		for i := range results {
			results[i] = make(chan packagePairs, 1)
		}
		jobs, room := make(chan int), make(chan struct{}, ahead)
		var workers sync.WaitGroup
		defer workers.Wait()
		defer stop()
		workers.Go(func() { dispatch(ctx, len(packages), jobs, room) })
		for range cmp.Or(o.Workers, runtime.GOMAXPROCS(0)) {
			workers.Go(func() {
				for i := range jobs {
					results[i] <- readPackage(ctx, o.Cache, packages[i], held)
				}
			})
		}
		for i := range results {
			select {
			case result := <-results[i]:
				<-room
				if !yield(result) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// dispatch sends the numbers of packages to the workers while there is room for their results.
func dispatch(ctx context.Context, count int, jobs chan<- int, room chan<- struct{}) {
	defer close(jobs)
	for i := range count {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return
		}
		select {
		case jobs <- i:
		case <-ctx.Done():
			return
		}
	}
}

// A builder writes and counts the pairs of packages.
type builder struct {
	stats *Stats
	out   *file
	seen  *seen
	log   io.Writer
	done  int
	total int
}

// take writes the pairs of the next package, except those that an earlier package had.
func (g *builder) take(h packagePairs) error {
	g.done++
	if h.missing {
		return fmt.Errorf("pairs of %s: fetch its archive first: %w", h.id, h.err)
	}
	if h.err != nil {
		return fmt.Errorf("pairs of %s: %w", h.id, h.err)
	}
	g.stats.Found += h.found
	g.stats.Held += h.held
	g.stats.Repeated += h.repeated
	for _, pair := range h.pairs {
		if !g.seen.fresh(pair) {
			g.stats.Repeated++
			continue
		}
		if err := g.out.write(Pair{pair.Kind, h.id, pair.A, pair.B}); err != nil {
			return err
		}
		g.stats.Pairs++
		g.stats.Kinds[pair.Kind]++
		g.stats.Counts[h.id]++
	}
	if g.stats.Counts[h.id] > 0 {
		g.stats.Sources++
	}
	g.progress("")
	return nil
}

// progress prints the progress on one line that is overwritten.
func (g *builder) progress(end string) {
	if g.log == nil {
		return
	}
	fmt.Fprintf(g.log, "\r%d of %d packages, %d pairs %s", g.done, g.total, g.stats.Pairs, end)
}

// Table lists the number of pairs of each kind, sorted by name.
func (s Stats) Table() string {
	text := ""
	for _, kind := range slices.Sorted(maps.Keys(s.Kinds)) {
		text += fmt.Sprintf("%s\t%d\n", kind, s.Kinds[kind])
	}
	return text
}
