// Package train trains the table of a static model from pairs of texts that belong together.
package train

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"remit/tools/trainembed/internal/pairs"
)

// Options configures a training. Defaults returns the usual ones.
type Options struct {
	Seed       uint64
	Dim        int     // length of the vectors, a multiple of 16
	Rows       int     // number of rows in the table, at most 65,536
	Own        int     // minimum number of pairs with a word for it to have its own row
	Sources    int     // minimum number of packages with a word
	CutA       int     // number of words read from a question
	CutB       int     // number of words read from an answer
	Batch      int     // number of pairs in a batch, a multiple of 128
	Group      int     // number of pairs from one source in a row
	Epochs     int     // number of passes over all pairs
	Rate       float64 // initial learning rate; it falls linearly to zero
	Scale      float64 // 1 / temperature
	Dropout    float64 // share of words that are left out at random
	Prose      int     // how often prose occurs in an epoch
	Synonyms   int     // how often words and their synonyms occur in an epoch
	Wordings   int     // how often pairs of kind pairs.Own occur in an epoch
	Neighbours int     // number of a word's neighbours in GloVe that are trained as its synonyms
	Steps      int     // stop after this many steps, if not 0: for comparing runs
	Log        io.Writer
	Now        func() time.Time // used only to log the speed
}

// Defaults returns the options of the committed table.
func Defaults() Options {
	return Options{
		Seed: 1, Dim: 256, Rows: 45000, Own: 40, Sources: 2, CutA: 40, CutB: 80,
		Batch: 2048, Group: 64, Epochs: 4, Rate: 3e-3, Scale: 20, Dropout: .3, Prose: 2, Synonyms: 2, Wordings: 4, Neighbours: 8,
		Log: io.Discard, Now: time.Now,
	}
}

// check returns an error if an option is invalid.
func (o Options) check() error {
	switch {
	case o.Dim < 16 || o.Dim%16 != 0:
		return fmt.Errorf("vectors of %d: their length must be a multiple of 16", o.Dim)
	case o.Rows < 1 || o.Rows > 1<<16:
		return fmt.Errorf("%d rows: there can be 1 to 65,536", o.Rows)
	case o.Batch < 128 || o.Batch%128 != 0 || o.Batch > 1<<15:
		return fmt.Errorf("batches of %d: the size must be a multiple of 128, up to 32,768", o.Batch)
	case o.Group < 1 || o.Batch%o.Group != 0:
		return fmt.Errorf("groups of %d: a batch of %d must be whole groups", o.Group, o.Batch)
	case o.Dropout < 0 || o.Dropout >= 1:
		return fmt.Errorf("dropout of %g: it must be from 0 to less than 1", o.Dropout)
	case o.Scale <= 0 || o.Scale > 25:
		return fmt.Errorf("scale of %g: it must be above 0, up to 25", o.Scale)
	}
	return nil
}

// repeats returns how often pairs of a kind occur in an epoch.
func (o Options) repeats(kind string) int {
	switch kind {
	case "doc", "lead", "term", "man":
		return o.Prose
	case "syn", nearKind:
		return o.Synonyms
	case pairs.Own:
		return o.Wordings
	}
	return 1
}

// Table trains a table and returns it. The same pairs, vectors and options give the same bytes on
// every machine. glove reads the initial vectors. If the context is cancelled, Table returns an
// error.
func Table(ctx context.Context, all iter.Seq2[pairs.Pair, error], glove func(wanted func(string) bool) (map[string][]float32, error), options Options) (string, error) {
	if err := options.check(); err != nil {
		return "", err
	}
	list, err := collect(all)
	if err != nil {
		return "", err
	}
	cut := [2]int{options.CutA, options.CutB}
	used := count(list, cut)
	v, err := choose(used, options)
	if err != nil {
		return "", err
	}
	known, err := glove(func(word string) bool { return used[word] != nil })
	if err != nil {
		return "", err
	}
	rows := v.start(known, used, options)
	c := take(list, v.lexicon, cut)
	c.addNeighbours(v, known, options.Neighbours)
	fmt.Fprintf(options.Log, "%d pairs, %d words, %d rows, %d tokens\n", len(c.kinds), len(used), len(v.rows), len(c.tokens))
	if err := newLearner(c, rows, options).run(ctx); err != nil {
		return "", err
	}
	return v.lexicon.Encode(rows, options.Dim)
}

func collect(all iter.Seq2[pairs.Pair, error]) ([]pairs.Pair, error) {
	var list []pairs.Pair
	for pair, err := range all {
		if err != nil {
			return nil, err
		}
		list = append(list, pair)
	}
	return list, nil
}

// run trains all epochs.
func (l *learner) run(ctx context.Context) error {
	o := l.options
	perEpoch := len(l.corpus.epoch(0, o)) / o.Batch
	if perEpoch == 0 {
		return fmt.Errorf("%d pairs are not enough for a batch of %d", len(l.corpus.kinds), o.Batch)
	}
	report := progress{out: o.Log, now: o.Now, began: o.Now(), total: perEpoch * o.Epochs, batch: o.Batch}
	step := 0
	for epoch := range o.Epochs {
		for batch := range slices.Chunk(l.corpus.epoch(epoch, o), o.Batch) {
			if o.Steps > 0 && step == o.Steps {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("train, step %d of %d: %w", step, report.total, err)
			}
			loss := l.step(batch, step, o.Rate*(1-float64(step)/float64(report.total)))
			step++
			report.add(epoch, step, loss)
		}
	}
	return nil
}

// progress writes a line every hundred steps.
type progress struct {
	out          io.Writer
	now          func() time.Time
	began        time.Time
	total, batch int
	sum          float64 // sum of the losses since the last line
	steps        int     // number of steps since the last line
}

func (p *progress) add(epoch, step int, loss float64) {
	p.sum += loss
	p.steps++
	if step%100 != 0 && step != p.total {
		return
	}
	perSecond := float64(step*p.batch) / p.now().Sub(p.began).Seconds()
	fmt.Fprintf(p.out, "epoch %d, step %d of %d, loss %.4f, %.0f pairs/s\n", epoch+1, step, p.total, p.sum/float64(p.steps), perSecond)
	p.sum, p.steps = 0, 0
}
