// Package app wires the program together: settings to stores, toolsets, engine and front ends. It
// is the only package that imports all the others. It contains no behavior of tools or protocols.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/idempotency"
	"remit/internal/engine/passkey"
	"remit/internal/engine/stats"
	"remit/internal/engine/telemetry"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/console"
	"remit/internal/frontends/otlp"
	"remit/internal/frontends/webhook"
	"remit/internal/stores/keyfolder"
	"remit/internal/stores/sqlstore"
	"remit/internal/stores/workspace"
	"remit/internal/toolsets/books"
	"remit/internal/toolsets/codebase"
	"remit/internal/toolsets/codebase/knowledge"
	"remit/internal/toolsets/codebase/sessions"
	"remit/internal/toolsets/conformancetest"
	"remit/internal/toolsets/learning"
	"remit/internal/toolsets/tasks"
)

// Version is the version of the program.
const Version = "0.1.0"

// started is when the program started, for its metrics.
var started = time.Now()

// Main runs one command line and returns the exit code.
func Main(args []string, env func(string) (string, bool), in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program immediately
	ignoreWriteSignals()
	logs := &logs{}
	defer logs.flush()
	program := &cli.Program{
		Version:  Version,
		Catalog:  catalog.Load,
		Evaluate: evaluate,
		Logger:   logs.logger,
		Now:      time.Now, Executable: os.Executable,
		Open: func(ctx context.Context, s cli.Settings, log *slog.Logger) (cli.Workspace, error) {
			return Open(ctx, s, log)
		},
		Connect: connect, Bridge: bridge, AskRoots: askRoots,
		Lists: Lists, Trust: newTrustStore, Backups: backups{},
		Args: args, Env: env, Stdin: in, Stdout: out, Stderr: errOut,
	}
	return program.Main(ctx)
}

const (
	ballastSize = 20 << 20
	// The allocation triggers a garbage collection, which must not slow down the start.
	ballastDelay = time.Second
)

// loadBallast makes garbage collections less frequent. Go starts a collection when the heap has
// doubled since the last one, so a server with little live data would collect often and slow down
// calls. loadBallast allocates ballastSize bytes after ballastDelay, which count as live data.
// Nothing writes to them, so they occupy no physical memory. If GOGC is set, loadBallast does
// nothing.
func loadBallast() (unload func()) {
	if _, set := os.LookupEnv("GOGC"); set {
		return func() {}
	}
	var held atomic.Pointer[[ballastSize]byte]
	timer := time.AfterFunc(ballastDelay, func() { held.Store(new([ballastSize]byte)) })
	return func() {
		timer.Stop()
		runtime.KeepAlive(&held)
	}
}

// App is an opened workspace with everything that serves it.
type App struct {
	log        *slog.Logger
	root       *workspace.Root
	storage    *storage
	records    *anchoredRecords
	announced  *announcements
	process    *process
	waiting    *approvals
	desk       *approval.Desk
	identities *identities
	passkeys   *passkey.Keys
	webhook    *webhook.Sender // nil if no webhook is configured
	stats      *stats.Stats
	arrivals   console.Arrivals
	calls      *auditindex.Index
	damage     damage

	telemetry *telemetry.Telemetry // nil if telemetry is off
	engine    *engine.Engine
	options   engine.Options

	auditFailures atomic.Int64 // records that could not be stored

	settings  cli.Settings
	secrets   *contract.SecretPolicy
	listening string // the URL of the server for clients on this machine; "" unless it serves
	data      *dataFolder
	database  *database
	anchor    *anchor
	tips      *tipKeeper // nil for a shared database
	clock     *steadyClock
	keys      *keyfolder.Folder
	stores    *bookStores
	books     *books.Library
	links     *bookLinks
	code      *code
	knowledge *knowledge.Index
	scratch   scratchIndex
	reloading sync.Mutex
	logLevel  *cli.Value // as it was reloaded last; nil if it was not; guarded by reloading
	sessions  *sessions.Recorder
	known     []*contract.Set // all sets
	sets      []*contract.Set // the selected sets

	saidDoubt atomic.Bool  // that nothing is recorded while the database is in doubt
	saidLost  atomic.Int64 // when it was last said that records are lost, in Unix nanoseconds
}

var _ cli.Workspace = (*App)(nil)

// Open opens a workspace. It writes nothing before the first call.
func Open(ctx context.Context, s cli.Settings, log *slog.Logger) (*App, error) {
	secrets, err := contract.NewSecretPolicy(s.Deny)
	if err != nil {
		return nil, &contract.SettingError{Key: "deny", Err: err}
	}
	known, sets, err := loadTools(s, secrets, s.Toolsets)
	if err != nil {
		return nil, err
	}
	s.Toolsets = namesOf(sets) // some may have been given by namespace
	if _, ok := sqlstore.File(s.Database); !ok && !sqlstore.IsPostgres(s.Database) {
		return nil, &contract.SettingError{Key: "database", Err: errors.New("use sqlite://PATH, or " +
			"postgres://USER:PASSWORD@HOST/NAME for a database that replicas share")}
	}
	factor, err := deadlineFactor(s)
	if err != nil {
		return nil, err
	}
	root, err := workspace.Open(s.Root, hiddenFrom(s)...)
	if err != nil {
		return nil, fmt.Errorf("open the workspace %s: %w", s.Root, reason(err))
	}
	a := &App{root: root, stats: &stats.Stats{}, settings: s, secrets: secrets, known: known, sets: sets}
	a.telemetry = otlp.Open(environmentOf(s), telemetry.Source{Version: Version, Started: started, Stats: a.stats, Now: time.Now, Log: log})
	if a.telemetry != nil {
		log = slog.New(a.telemetry.Tee(log.Handler()))
	}
	a.log = log
	data := &dataFolder{path: s.Data, root: root, onCreate: s.OnCreate}
	a.process = newProcess(data)
	store := newDatabase(s.Database, root, data.claim, log)
	a.keys = keyfolder.Find(s.Keys, environmentOf(s))
	store.userKey = a.keys.Key
	a.database = store
	a.anchor, a.data = newAnchor(a.keys, workspace.RealPath(s.Root), store), data
	data.identify(a.anchor.knownData(s.Data))
	root.Follows = data.comesBack()
	if file, ok := sqlstore.File(s.Database); ok && filepath.Dir(file) == s.Data {
		data.mayCreate = a.anchor.mayCreate
	}
	if store.isShared() {
		a.storage, store.records = sharedStorage(root, store.open, a.reportLost)
	} else {
		memory := a.anchor.memoryFiles(root, learning.MemoryFiles(known))
		a.storage = localStorage(s, root, data, memory, a.process, store, a.reportLost)
	}
	store.outbox = a.storage.outbox
	store.outbox.Sweep = a.sweepOutbox
	store.outbox.Moved = func() { a.tips.touch() }
	a.stores = &bookStores{settings: s, root: root, data: data, anchor: a.anchor, log: log}
	a.books = &books.Library{Stores: a.stores.open, Secrets: secrets, Now: time.Now, Log: log}
	a.clock = a.newClock()
	a.links = a.newLinks()
	a.code = a.newCode()
	a.sessions = a.newSessions()
	if a.knowledge, err = a.newKnowledge(); err != nil {
		a.telemetry.Close()
		return nil, errors.Join(err, root.Close())
	}
	a.identities = a.newIdentities()
	a.calls = a.newCallIndex()
	if !store.isShared() {
		a.tips = &tipKeeper{
			records: a.storage.audit, keys: a.keys.Workspace(a.anchor.root), folder: placeOfRecords(s.Data), place: data.check, now: a.clock.now, log: log,
			hold: func(ctx context.Context) (string, func() error, error) {
				return holdFiles(ctx, a.storage.audit, a.recordsFolder())
			},
		}
	}
	a.records = &anchoredRecords{
		Log: &audit.Log{Storage: a.storage.records}, anchor: a.anchor, tips: a.tips, place: a.storage.checkRecords,
	}
	a.announced = a.newAnnouncements()
	a.records.announced = a.announced
	a.passkeys = a.newPasskeys()
	a.waiting = &approvals{
		mode: s.Approve, anchor: a.anchor, database: store, page: a.approvalPage, audit: a.records, passkeys: a.passkeys, now: a.clock.now,
	}
	a.desk = &approval.Desk{
		Open: a.Approvals, Show: a.show, Now: a.clock.now, Passkeys: a.passkeys,
		Rules: a.rules, Contract: a.contract, Place: a.anchor.Place,
	}
	if err := a.addWebhook(); err != nil {
		a.telemetry.Close()
		return nil, errors.Join(err, root.Close())
	}
	a.telemetry.Watch(a.waitingGauge())
	a.options = a.engineOptions()
	a.options.DeadlineFactor = factor
	if a.engine, err = a.newEngine(sets, a.options); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// hiddenFrom returns the paths that no tool may reach: Remit's own data, keys and configuration, at
// their configured and their default places.
func hiddenFrom(s cli.Settings) []string {
	hidden := []string{s.Data, s.Config, filepath.Join(s.Root, ".remit"), filepath.Join(s.Root, "remit.yaml")}
	// In case the root is a home folder.
	hidden = append(hidden, filepath.Join(s.Root, ".config", "remit"))
	if keys := keyfolder.Find(s.Keys, environmentOf(s)).Path(); keys != "" {
		hidden = append(hidden, keys)
	}
	for _, file := range []string{s.TLSKey, s.LogFile} {
		if file != "" {
			hidden = append(hidden, file)
		}
	}
	if file, ok := sqlstore.File(s.Database); ok && filepath.Dir(file) != s.Data {
		hidden = append(hidden, file, file+"-wal", file+"-shm", file+".lock")
	}
	// Books are readable like the folder they are in, but deleted content is not.
	for _, place := range s.Books {
		if folder, ok := strings.CutPrefix(place, folderScheme); ok && isWithin(s.Root, folder) && !isWithin(s.Data, folder) {
			hidden = append(hidden, filepath.Join(folder, ".history"), filepath.Join(folder, ".locks"), filepath.Join(folder, ".remit-id"))
		}
	}
	slices.Sort(hidden)
	return slices.Compact(hidden) // each costs a disk access
}

// chooseTools selects the toolsets and applies the operator's rules to them.
func chooseTools(known []*contract.Set, s cli.Settings, names []string) ([]*contract.Set, error) {
	sets, err := catalog.Select(known, names)
	if err != nil {
		return nil, &contract.SettingError{Key: "toolsets", Err: err}
	}
	if err := contract.CheckTools(known, s.Tools); err != nil {
		return nil, err
	}
	return contract.Tighten(sets, s.Tools)
}

func namesOf(sets []*contract.Set) []string {
	names := make([]string, len(sets))
	for i, set := range sets {
		names[i] = set.Name
	}
	return names
}

// newEngine binds the tools of some sets.
func (a *App) newEngine(sets []*contract.Set, options engine.Options) (*engine.Engine, error) {
	return a.newEngineOf(a.known, sets, options)
}

// newEngineOf is newEngine for sets of another copy of the catalog.
func (a *App) newEngineOf(known, sets []*contract.Set, options engine.Options) (*engine.Engine, error) {
	tools := &learning.Tools{Memory: a.storage.memory, Files: a.root, Now: time.Now, AllSets: known, Served: sets, Secrets: a.secrets}
	openTasks := stored(a.database, func(db *sqlstore.DB) tasks.Store { return db.Tasks() })
	lists := &tasks.Tools{Open: openTasks, Now: time.Now, Served: sets}
	library := &books.Tools{Library: a.books, Links: a.links, Now: time.Now, Served: sets, LinksEnd: func() bool { return a.links.ends }}
	project := &codebase.Tools{
		Corpus: a.code.open, Files: projectFiles{a}, Note: a.code.reads.Note, Knowledge: a.knowledge,
		Sessions: a.sessions, Log: a.log, Now: time.Now, Served: sets,
	}
	toolsets := []engine.Toolset{tools.Toolset(), lists.Toolset(), library.Toolset(), project.Toolset()}
	// A large table that is rarely needed.
	if slices.ContainsFunc(known, func(set *contract.Set) bool { return set.Hidden }) {
		toolsets = append(toolsets, conformancetest.Toolset(), lists.UndoToolset())
	}
	return engine.New(sets, engine.Handlers{Catalog: known, Toolsets: toolsets}, options)
}

// engineOptions returns the options that all engines of the workspace share.
func (a *App) engineOptions() engine.Options {
	options := engine.Options{
		Approvals:   a.waiting,
		Audit:       countedAudit{a.records, &a.auditFailures},
		Observer:    a.stats,
		Activity:    a.sessions,
		Idempotency: stored(a.database, func(db *sqlstore.DB) idempotency.Store { return db.Idempotency() }),

		ApprovalPage: a.approvalPage,
		NeedsPasskey: a.waiting.needsPasskey,
		Telemetry:    a.telemetry,
		CheckPath:    a.storage.checkPath,
		Now:          time.Now,
		Log:          a.log,
		ReadOnly:     a.settings.ReadOnly,
	}
	if a.settings.RateLimits {
		options.Limiter = a.storage.limiter
	}
	return options
}

// Engine returns the engine of the workspace.
func (a *App) Engine() *engine.Engine { return a.engine }

// Approvals opens the store of approvals. It does not create a database that does not exist yet.
func (a *App) Approvals(ctx context.Context) (approval.Store, error) {
	if !a.database.exists() {
		return emptyApprovals{}, nil
	}
	return a.waiting.open(ctx)
}

// Desk returns where people decide about requests.
func (a *App) Desk() *approval.Desk { return a.desk }

// rules opens the standing rules. It does not create a database that does not exist yet.
func (a *App) rules(ctx context.Context) (*approval.Rules, error) {
	if !a.database.exists() {
		return nil, nil //nolint:nilnil // as Desk.Rules says
	}
	return a.waiting.rules(ctx)
}

// contract returns the contract of a tool that is served, also at the URL of a toolset that is not
// among the selected ones.
func (a *App) contract(tool, digest string) (*contract.Contract, error) {
	for _, sets := range []func() []*contract.Set{func() []*contract.Set { return a.sets }, a.addressable} {
		for _, set := range sets() {
			i := slices.IndexFunc(set.Contracts, func(c *contract.Contract) bool { return set.Name+"/"+c.Name == tool && c.Digest == digest })
			if i >= 0 {
				return set.Contracts[i], nil
			}
		}
	}
	return nil, contract.Errorf(contract.Conflict, "%s is not served any more under this contract", tool)
}

// show returns what the call of a request would do now. The request may have come through the URL
// of a toolset that is not among the selected ones.
func (a *App) show(ctx context.Context, r approval.Request, seen string) (approval.Shown, error) {
	shown, err := a.engine.Show(ctx, r, seen)
	if !errors.Is(err, engine.ErrNotShown) {
		return shown, err
	}
	name, _, _ := strings.Cut(r.Tool, "/")
	for _, set := range a.addressable() {
		if set.Name != name {
			continue
		}
		alone, buildErr := a.newEngine([]*contract.Set{set}, a.options)
		if buildErr != nil {
			return shown, buildErr
		}
		return alone.Show(ctx, r, seen)
	}
	return shown, err
}

// Library returns the books. Their store is opened on first use.
func (a *App) Library() *books.Library { return a.books }

// Journal returns the entries of the memory files.
func (a *App) Journal() *learning.Journal {
	return &learning.Journal{
		Memory: a.storage.memory, Files: learning.MemoryFiles(a.known), Policy: &contract.PathPolicy{Deny: a.denied(), Secrets: a.secrets},
	}
}

// Code returns the text of the project, which is read on the first search.
func (a *App) Code() cli.CodeSearcher { return codebase.Lines{Corpus: a.code.open} }

// Knowledge returns the knowledge index of the project, which is opened on first use.
func (a *App) Knowledge() *knowledge.Index { return a.knowledge }

// HasData reports whether the database exists, or should.
func (a *App) HasData() bool { return a.database.exists() }

// PingDatabase connects to the database before any call depends on it.
func (a *App) PingDatabase(ctx context.Context) error { return a.database.reach(ctx) }

// Close finishes running work and closes everything, in the order of the dependencies.
func (a *App) Close() error {
	for _, l := range a.stats.Snapshot() {
		a.log.Info("calls", "tool", l.Tool, "outcome", l.Outcome, "calls", l.Calls, "p50", l.P50, "p95", l.P95, "p99", l.P99)
	}
	a.announced.stop()
	err := errors.Join(a.closeKnowledge(), a.scratch.close(), a.code.close(), a.storage.memoryEnd.Close())
	a.storage.outbox.Close()
	auditErr := a.announced.close()
	if auditErr = errors.Join(auditErr, a.storage.recordsEnd.Close()); auditErr != nil && !a.isDoubt(auditErr) {
		a.log.Warn("audit records of reads were lost", "error", auditErr)
	}
	a.tips.close()
	a.stores.close()
	a.calls.Close()
	if a.webhook != nil {
		a.webhook.Close()
	}
	a.telemetry.Close() // it reads the number of waiting requests from the database once more
	a.data.close()
	return errors.Join(err, a.database.close(), a.process.end(), a.root.Close())
}
