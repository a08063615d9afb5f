// Command trainembed trains the static embedding model and writes its table. It reads packages that
// anyone can download by name.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"remit/tools/trainembed/internal/fetch"
	"remit/tools/trainembed/internal/train"
)

//go:embed packages.tsv
var packages string

// wordings are texts written for this training: each line holds several wordings of one thing.
//
//go:embed wordings/*.txt
var wordings embed.FS

const help = `Trainembed makes the table of the static model from packages that anyone can download by name.
The same packages, seed and options give the same bytes, on every machine.

  trainembed STEP [flags]

Steps:
  fetch    download the packages of the list, and check each archive against its SHA-256
  pairs    make pairs of texts that belong together from what the licences in the archives allow
  train    make the table from the pairs, and record its digest beside it
  all      these three, one after the other
  score    measure a table on the sets of questions in internal/search/eval
  check    check that the table matches the recorded digest
  survey   print a new list, with the licence and the SHA-256 of each archive in the cache

Packages come from go, npm and apt-get, and dpkg-deb opens those of Debian: all four must be there.
A list with "-" in place of a SHA-256 is fetched without a check, which is how a new list begins.

Examples, from the root of the repository:
  go -C tools/trainembed run . all                             about half an hour of two cores, and 2.5 GB of downloads
  go -C tools/trainembed run . train -steps 300 -out a.bin     a short run, to compare with one on another machine
  go -C tools/trainembed run . score -out a.bin
  go -C tools/trainembed run . check

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "trainembed:", err)
		os.Exit(1)
	}
}

const steps = "fetch, pairs, train, all, score, check or survey"

// job holds the options of all steps.
type job struct {
	cache string // folder of the downloads, and of the pairs unless another file is named
	list  string // file with the list of packages; empty means the committed one
	pairs string
	eval  string // folder of the evaluation sets that the pairs must not overlap
	table string
	train train.Options
	out   io.Writer
	log   io.Writer
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	j := &job{out: out, log: log, train: train.Defaults()}
	flags := j.flags()
	if len(args) == 0 {
		args = []string{""}
	}
	switch step := args[0]; {
	case step == "help" || step == "-h" || strings.TrimLeft(step, "-") == "help":
		flags.Usage()
		return nil
	case step == "" || step[0] == '-':
		flags.Usage()
		return errors.New("name a step before any flags: " + steps)
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is unexpected: give one step, then flags", flags.Arg(0))
	}
	return j.do(ctx, args[0])
}

func (j *job) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("trainembed", flag.ContinueOnError)
	flags.SetOutput(j.log)
	home, err := os.UserCacheDir()
	if err != nil {
		home = os.TempDir()
	}
	flags.StringVar(&j.cache, "cache", filepath.Join(home, "trainembed"), "folder of the downloads")
	flags.StringVar(&j.list, "packages", "", "list of packages (default the committed one)")
	flags.StringVar(&j.pairs, "pairs", "", "file of pairs (default pairs.jsonl.gz in the cache)")
	flags.StringVar(&j.eval, "eval", filepath.FromSlash("../../internal/search/eval/sets"),
		"folder of the evaluation sets that no pair may overlap")
	flags.StringVar(&j.table, "out", filepath.FromSlash("../../internal/search/model/table.bin"), "file of the table")
	j.train.Flags(flags)
	j.train.Log = j.log
	flags.Usage = func() {
		fmt.Fprint(j.log, help)
		flags.PrintDefaults()
	}
	return flags
}

func (j *job) do(ctx context.Context, step string) error {
	if j.pairs == "" {
		j.pairs = filepath.Join(j.cache, "pairs.jsonl.gz")
	}
	switch step {
	case "fetch":
		return j.fetch(ctx)
	case "pairs":
		return j.makePairs(ctx)
	case "train":
		return j.makeTable(ctx)
	case "all":
		for _, next := range []func(context.Context) error{j.fetch, j.makePairs, j.makeTable} {
			if err := next(ctx); err != nil {
				return err
			}
		}
		return nil
	case "score":
		return j.score(ctx)
	case "check":
		return j.check()
	case "survey":
		return j.survey(ctx)
	}
	return fmt.Errorf("there is no step %q: %s", step, steps)
}

// packageList reads the list of packages.
func (j *job) packageList() ([]fetch.Package, error) {
	if j.list == "" {
		return fetch.Read(strings.NewReader(packages))
	}
	file, err := os.Open(j.list)
	if err != nil {
		return nil, fmt.Errorf("open list of packages: %w", err)
	}
	defer file.Close()
	return fetch.Read(file)
}
