package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
	"remit/internal/engine"
	"remit/internal/engine/ratelimit"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/localsocket"
	"remit/internal/frontends/mcp"
	"remit/internal/stores/keyfolder"
	"remit/internal/stores/sqlstore"
	"remit/internal/stores/workspace"
)

// A server lets other processes of its user use it through a socket in the key folder (ADR 37).

// What a process wants of a server.
const (
	purposeMCP     = "mcp"
	purposeCommand = "command"
)

// socketFolder returns the folder with the sockets of the servers of a workspace. It is not within
// the workspace, because a clone could bring its own.
func socketFolder(s *cli.Settings, create bool) (string, error) {
	return keyfolder.Find(s.Keys, environmentOf(*s)).Workspace(workspace.RealPath(s.Root)).PrivateDir(create)
}

// isLocal reports whether all data of a workspace is in files, so that the rights of a process do
// not depend on credentials in its environment.
func isLocal(s *cli.Settings) bool {
	_, ok := sqlstore.File(s.Database)
	return ok && !slices.ContainsFunc(s.Books, func(place string) bool { return !strings.HasPrefix(place, folderScheme) })
}

// comparable returns what must be equal in a server and a process that uses it.
func comparable(s *cli.Settings) map[string]string {
	all := s.Comparable()
	all["version"] = Version
	if built, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range built.Settings {
			if strings.HasPrefix(setting.Key, "vcs.") {
				all["build"] += setting.Value + "\n"
			}
		}
	}
	return all
}

// openProof opens the files that show that a process could change the workspace itself, in this
// order: the root folder, the file of the server in the data folder and the lock of the key folder.
// The latter two are open for writing.
func openProof(s *cli.Settings, dir, owner string) (files []*os.File, err error) {
	if owner == "" || filepath.Base(owner) != owner {
		return nil, fmt.Errorf("%q is not the id of a server", owner)
	}
	root, err := os.Open(s.Root)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", reason(err))
	}
	files = append(files, root)
	for _, name := range []string{filepath.Join(s.Data, processFolder, owner), filepath.Join(dir, keyfolder.LockName)} {
		file, err := localsocket.OpenNoFollow(name)
		if err != nil {
			return files, fmt.Errorf("the server uses other folders, or this process cannot write to them: %w", err)
		}
		files = append(files, file)
	}
	return files, nil
}

// localServer serves other processes of this user.
type localServer struct {
	app  *App
	dir  string
	lock os.FileInfo // the lock of the key folder

	mu       sync.Mutex
	variants map[string]*toolVariant
}

// toolVariant are toolsets that some process asked for.
type toolVariant struct {
	known, sets []*contract.Set
	err         error
}

// serveLocal serves other processes of this user until ctx is done or end is called. end returns
// when all have been answered. Where this is not possible, they work alone.
func (a *App) serveLocal(ctx context.Context) (end func()) {
	s := &localServer{app: a, variants: map[string]*toolVariant{}}
	l, err := s.listen()
	if err != nil {
		a.log.Debug("other processes cannot use this server", "error", err)
		return func() {}
	}
	server := &localsocket.Server{Owner: a.process.id, Check: s.check, Serve: s.serve, Log: a.log}
	return a.inBackground(ctx, func(ctx context.Context) { server.Run(ctx, l) })
}

func (s *localServer) listen() (_ *localsocket.Listener, err error) {
	a := s.app
	if !isLocal(&a.settings) {
		return nil, errors.New("the data is not in files of this machine")
	}
	if s.dir, err = socketFolder(&a.settings, true); err != nil {
		return nil, err
	}
	unlock, err := a.keys.Workspace(a.anchor.root).Lock() // creates the file
	if err != nil {
		return nil, err
	}
	unlock()
	if s.lock, err = os.Lstat(filepath.Join(s.dir, keyfolder.LockName)); err != nil {
		return nil, err
	}
	return localsocket.Listen(s.dir, a.process.id[:8])
}

// check returns why this server cannot act for a process. A process may have fewer rights than the
// server, but it must not get more than it would have alone.
func (s *localServer) check(h *localsocket.Hello, files []*os.File) error {
	if different := s.compare(h); len(different) > 0 {
		return fmt.Errorf("the server was started with other settings: %s", strings.Join(different, ", "))
	}
	if _, _, err := s.tools(h.Toolsets); err != nil {
		return err
	}
	root, err := os.Stat(s.app.settings.Root)
	if err == nil {
		err = s.app.root.Check()
	}
	if err != nil {
		return fmt.Errorf("the server cannot use the workspace: %w", reason(err))
	}
	mine, err := s.app.process.info()
	if err != nil {
		return fmt.Errorf("the server cannot use the data folder: %w", reason(err))
	}
	for i, want := range []os.FileInfo{root, mine, s.lock} {
		if i >= len(files) {
			return errors.New("the process did not show what it may do")
		}
		got, err := files[i].Stat()
		if err != nil || !os.SameFile(got, want) || i > 0 && !localsocket.Writable(files[i]) {
			return errors.New("the process uses other folders than the server, or cannot write to them")
		}
	}
	return nil
}

// compare returns the names of the settings that differ.
func (s *localServer) compare(h *localsocket.Hello) (different []string) {
	mine := comparable(&s.app.settings)
	for name := range maps.Keys(mine) {
		if h.Settings[name] != mine[name] {
			different = append(different, name)
		}
	}
	for name := range h.Settings {
		if _, known := mine[name]; !known {
			different = append(different, name)
		}
	}
	if s.app.settings.ReadOnly && !h.ReadOnly {
		different = append(different, "read_only")
	}
	slices.Sort(different)
	return different
}

// tools returns the toolsets with these names.
func (s *localServer) tools(names []string) (known, sets []*contract.Set, err error) {
	if slices.Equal(names, s.app.settings.Toolsets) {
		return s.app.known, s.app.sets, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.Join(names, ",")
	v := s.variants[key]
	if v == nil {
		v = &toolVariant{}
		v.known, v.sets, v.err = loadTools(s.app.settings, s.app.secrets, names)
		if v.err == nil { // a name that does not exist takes no memory
			s.variants[key] = v
		}
	}
	return v.known, v.sets, v.err
}

// loadTools loads the contracts and applies the operator's rules to them.
func loadTools(s cli.Settings, secrets *contract.SecretPolicy, names []string) (known, sets []*contract.Set, err error) {
	if known, err = catalog.Load(names...); err != nil {
		return nil, nil, err
	}
	secrets.Guard(known)
	sets, err = chooseTools(known, s, names)
	return known, sets, err
}

// engine returns an engine for one process. Like that process alone, it has rate limits of its own.
func (s *localServer) engine(h *localsocket.Hello) (*engine.Engine, []*contract.Set, error) {
	known, sets, err := s.tools(h.Toolsets)
	if err != nil {
		return nil, nil, err
	}
	options := s.app.options
	options.ReadOnly = options.ReadOnly || h.ReadOnly
	if options.Limiter != nil {
		options.Limiter = ratelimit.NewMemory()
	}
	e, err := s.app.newEngineOf(known, sets, options)
	return e, sets, err
}

// serve serves one process.
func (s *localServer) serve(ctx context.Context, h *localsocket.Hello, conn net.Conn) {
	a := s.app
	e, sets, err := s.engine(h)
	if err != nil {
		a.log.Error("cannot serve another process", "error", err)
		return
	}
	if h.Purpose == purposeCommand {
		(&cli.CommandServer{Version: Version, Engine: e, Code: a.Code(), Knowledge: a.knowledge}).Serve(ctx, conn)
		return
	}
	server := a.stdioServer(e, sets)
	err = errors.Join(server.ServeBridge(ctx, cli.LocalPrincipal, conn, conn), finish(ctx, server))
	if err != nil {
		a.log.Debug("the connection of another process failed", "error", err)
	}
}

// stdioServer returns the MCP server for a stdio client.
func (a *App) stdioServer(e *engine.Engine, sets []*contract.Set) *mcp.Server {
	server := a.endpoint(e, sets)
	server.Dialogues = a.settings.Elicitation
	server.Notice = a.settings.AgentNotice()
	return server
}
