package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/frontends/cli"
	"remit/internal/search/corpus"
	"remit/internal/search/glob"
	"remit/internal/search/tree"
	"remit/internal/stores/sqlstore"
	"remit/internal/stores/workspace"
	"remit/internal/toolsets/codebase"
)

// code is the text of the project. It is opened when somebody first searches it.
type code struct {
	settings cli.Settings
	denied   func() []string // patterns of what may not be read, in small letters: that is not searched
	log      *slog.Logger
	reads    *codebase.Tracker

	mu     sync.Mutex
	files  *tree.Tree // what the texts are read from; others join it
	texts  *corpus.Corpus
	closed bool
}

func (a *App) newCode() *code {
	return &code{
		settings: a.settings,
		log:      a.log,
		reads:    codebase.NewTracker(a.accesses, a.log, time.Now),
		denied:   a.denied,
	}
}

// denied are the patterns of what read_file may not read, with those that the operator adds, whether or not it is served.
func (a *App) denied() []string {
	var patterns []string
	if policy := codebase.Policy(a.known); policy != nil {
		patterns = append(patterns, policy.Deny...)
	}
	for _, pattern := range a.settings.Tools[codebase.ReadTool].Deny {
		patterns = append(patterns, strings.ToLower(pattern))
	}
	return patterns
}

// accesses are how often files of this workspace were read.
func (a *App) accesses(ctx context.Context) (codebase.Accesses, error) {
	return stored(a.database, func(db *sqlstore.DB) codebase.Accesses { return db.Accesses(a.kept.place) })(ctx)
}

// open gives the text. Nothing of it is read yet.
func (c *code) open() (*corpus.Corpus, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.openFiles(); err != nil {
		return nil, err
	}
	if c.texts == nil {
		c.texts = corpus.New(c.files, corpus.Options{Budget: int64(c.settings.CodeMemory), Log: c.log})
	}
	return c.texts, nil
}

// tree gives another reader of the files, who closes it. All of them share what is known of the files, and the watches.
func (c *code) tree() (*tree.Tree, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.openFiles(); err != nil {
		return nil, err
	}
	return c.files.Join()
}

// openFiles opens the files of the project, once. The mutex is held.
func (c *code) openFiles() error {
	if c.closed {
		return errors.New("the workspace is closed")
	}
	if c.files != nil {
		return nil
	}
	skip, err := c.outOfReach()
	if err != nil {
		return err
	}
	files, err := tree.Open(tree.Options{
		Root: workspace.RealPath(c.settings.Root), Skip: skip, NoWatch: !c.settings.Watch, Env: c.settings.Env, Log: c.log,
	})
	if err != nil {
		return fmt.Errorf("open the files of the project: %w", err)
	}
	c.files = files
	return nil
}

// outOfReach tells what no search may look at: what no tool may reach, and what may not be read.
func (c *code) outOfReach() (func(path string, folder bool) bool, error) {
	hidden := map[string]bool{}
	for _, place := range hiddenFrom(c.settings) {
		for _, spelling := range []string{place, workspace.RealPath(place)} {
			for _, root := range []string{c.settings.Root, workspace.RealPath(c.settings.Root)} {
				if beneath, err := filepath.Rel(root, spelling); err == nil && filepath.IsLocal(beneath) {
					hidden[filepath.ToSlash(beneath)] = true
				}
			}
		}
	}
	var denied []*glob.Pattern
	for _, text := range c.denied() {
		pattern, err := glob.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("understand what may not be read: %w", err)
		}
		denied = append(denied, pattern)
	}
	return func(path string, _ bool) bool {
		if hidden[path] {
			return true
		}
		plain := strings.ToLower(path) // as denying ignores case
		return slices.ContainsFunc(denied, func(p *glob.Pattern) bool { return p.Match(plain) })
	}, nil
}

// flushPatience is how long the end of the program may take to keep what was read how often.
const flushPatience = time.Second

func (c *code) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushPatience)
	defer cancel()
	c.reads.Close(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.texts != nil {
		c.texts.Close()
	}
	if c.files == nil {
		return nil
	}
	return c.files.Close()
}

// projectFiles are the files of the workspace, as a tool may read them.
type projectFiles struct{ *App }

// Judge keeps the promise of codebase.Files.
func (p projectFiles) Judge(path string, policy *contract.PathPolicy) (engine.File, error) {
	return p.kept.judge(path, policy)
}

// List keeps the promise of codebase.Files.
func (p projectFiles) List(folder, begins string, policy *contract.PathPolicy) ([]string, error) {
	return p.root.List(folder, begins, policy)
}
