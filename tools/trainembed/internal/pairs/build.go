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

// Options say what Build reads and where it writes.
type Options struct {
	// Cache is the folder of the archives.
	Cache string
	// Packages are read in this order. One that is named twice counts once.
	Packages []fetch.Package
	// Eval are files of evaluation sets; what overlaps them is left out.
	Eval []string
	// Wordings are texts with several wordings of one thing a line, which come after the packages; nil is none.
	Wordings fs.FS
	// Out is the file that is written. A name that ends in .gz is the rule.
	Out string
	// Workers is how many packages are read at once: as many as there are cores if it is zero.
	Workers int
	// Log hears of the progress; nil is nobody.
	Log io.Writer
}

// Stats say what came of it.
type Stats struct {
	Sources  int            // packages and files of wordings that gave pairs
	Pairs    int            // that were written
	Kinds    map[string]int // the same by kind
	Counts   map[string]int // the same by source
	Found    int            // before any was left out
	Repeated int            // that said what others say
	Held     int            // that overlap an evaluation set
}

// Build writes the pairs of all packages. The same archives, list and sets give the same bytes.
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
	g := gathering{stats: &stats, out: out, seen: newSeen(), log: o.Log, total: len(packages)}
	for result := range harvestAll(ctx, o, packages, held) {
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

// once leaves out packages that were named before.
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

// ahead is how many packages may be ready before their turn comes.
const ahead = 24

// harvestAll reads packages at once and yields what they give in their order. It returns when all of its goroutines have.
func harvestAll(ctx context.Context, o Options, packages []fetch.Package, held *evaluation) func(yield func(harvest) bool) {
	return func(yield func(harvest) bool) {
		ctx, stop := context.WithCancel(ctx)
		results := make([]chan harvest, len(packages))
		for i := range results {
			results[i] = make(chan harvest, 1)
		}
		jobs, room := make(chan int), make(chan struct{}, ahead)
		var workers sync.WaitGroup
		defer workers.Wait()
		defer stop()
		workers.Go(func() { hand(ctx, len(packages), jobs, room) })
		for range cmp.Or(o.Workers, runtime.GOMAXPROCS(0)) {
			workers.Go(func() {
				for i := range jobs {
					results[i] <- reap(ctx, o.Cache, packages[i], held)
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

// hand gives out the numbers of packages as long as there is room for what they give.
func hand(ctx context.Context, count int, jobs chan<- int, room chan<- struct{}) {
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

// A gathering writes what packages give and counts.
type gathering struct {
	stats *Stats
	out   *file
	seen  *seen
	log   io.Writer
	done  int
	total int
}

// take writes the pairs of the next package that no package gave before.
func (g *gathering) take(h harvest) error {
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

// progress says how far the work is, on one line that is written over.
func (g *gathering) progress(end string) {
	if g.log == nil {
		return
	}
	fmt.Fprintf(g.log, "\r%d of %d packages, %d pairs %s", g.done, g.total, g.stats.Pairs, end)
}

// Table lists how many pairs each kind has, in the order of their names.
func (s Stats) Table() string {
	text := ""
	for _, kind := range slices.Sorted(maps.Keys(s.Kinds)) {
		text += fmt.Sprintf("%s\t%d\n", kind, s.Kinds[kind])
	}
	return text
}
