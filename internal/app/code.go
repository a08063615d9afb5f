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

// code is the text of the project. It is opened on the first search.
type code struct {
	settings cli.Settings
	// Lower-case patterns of files that may not be read, and so are not searched.
	denied  func() []string
	secrets *contract.SecretPolicy
	log     *slog.Logger
	reads   *codebase.Tracker

	mu     sync.Mutex
	files  *tree.Tree // the source of the texts; other readers share it
	texts  *corpus.Corpus
	closed bool
}

func (a *App) newCode() *code {
	return &code{
		settings: a.settings,
		log:      a.log,
		reads:    codebase.NewTracker(a.accesses, a.log, time.Now),
		denied:   a.denied,
		secrets:  a.secrets,
	}
}

// denied returns the patterns that read_file may not read, including those of the operator, whether
// or not read_file is served.
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

// accesses returns the read counts of the files of this workspace.
func (a *App) accesses(ctx context.Context) (codebase.Accesses, error) {
	return stored(a.database, func(db *sqlstore.DB) codebase.Accesses { return db.Accesses(a.storage.place) })(ctx)
}

// open returns the text. It reads nothing yet.
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

// tree returns another reader of the files, which the caller must close. All readers share the
// state of the files and the watches.
func (c *code) tree() (*tree.Tree, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.openFiles(); err != nil {
		return nil, err
	}
	return c.files.Join()
}

// openFiles opens the files of the project once. The caller holds the mutex.
func (c *code) openFiles() error {
	if c.closed {
		return errors.New("the workspace is closed")
	}
	if c.files != nil {
		return nil
	}
	skip, err := c.unsearchable()
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

// unsearchable returns a function that reports whether a path must not be searched: a path that no
// tool may reach, or that may not be read.
func (c *code) unsearchable() (func(path string, folder bool) bool, error) {
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
			return nil, fmt.Errorf("compile deny patterns: %w", err)
		}
		denied = append(denied, pattern)
	}
	return func(path string, folder bool) bool {
		if hidden[path] || c.secrets.Rule(path, folder) != "" {
			return true
		}
		plain := strings.ToLower(path) // deny patterns ignore case
		return slices.ContainsFunc(denied, func(p *glob.Pattern) bool { return p.Match(plain) })
	}, nil
}

// flushTimeout is how long closing may take to store the read counts.
const flushTimeout = time.Second

func (c *code) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
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

// projectFiles gives tools access to the files of the workspace. It implements codebase.Files.
type projectFiles struct{ *App }

// CheckPath implements codebase.Files.
func (p projectFiles) CheckPath(path string, policy *contract.PathPolicy) (engine.File, error) {
	return p.storage.checkPath(path, policy)
}

// List implements codebase.Files.
func (p projectFiles) List(folder, begins string, policy *contract.PathPolicy) ([]string, error) {
	return p.root.List(folder, begins, policy)
}
