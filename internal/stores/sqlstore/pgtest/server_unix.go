//go:build unix

package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

// Server is a server of one test.
type Server struct {
	bin string // the folder of PostgreSQL's programs
	// Holds the data, the log and the socket; short, because socket names are limited in length.
	dir  string
	host string // the folder of the socket, or an IP address
	port int
	made int // number of databases made

	prepared sync.Once

	syncs bool // syncs the disk on each commit

	guard   *exec.Cmd // runs as long as the server
	stdin   io.WriteCloser
	process int // the id of PostgreSQL's main process
}

// startTimeout is the timeout for a server on a busy machine.
const startTimeout = 5 * time.Minute

// shared holds the servers that run until this binary ends.
var shared struct {
	sync.Mutex
	servers map[transport]*Server
}

func sharedServer(t testing.TB, by transport) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if s := shared.servers[by]; s != nil {
		return s
	}
	s := newServer(t, by, sharedFolder())
	s.Start(t)
	if shared.servers == nil {
		shared.servers = map[transport]*Server{}
	}
	shared.servers[by] = s
	return s
}

// sharedFolder returns the folder in which servers that are never killed store their data: in
// memory if there is enough space, because tests would mostly wait for a slow disk.
func sharedFolder() string {
	const memory, room = "/dev/shm", 4 << 30
	var free unix.Statfs_t
	if err := unix.Statfs(memory, &free); err != nil || free.Bavail*uint64(free.Bsize) < room {
		return disk
	}
	return memory
}

// disk is the folder for all other servers. The default temporary folder can be too long for a
// socket.
const disk = "/tmp"

// newServer creates the folder of a server within another folder.
func newServer(t testing.TB, by transport, within string) *Server {
	t.Helper()
	bin := programs()
	if bin == "" {
		missing(t)
	}
	dir, err := os.MkdirTemp(within, "pg")
	if err != nil {
		t.Fatal(err)
	}
	if id := account(); id != nil {
		if err := os.Chown(dir, int(id.Uid), int(id.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	s := &Server{bin: bin, dir: dir, host: dir, port: 5432}
	if by == overTCP {
		s.host, s.port = "127.0.0.1", freePort(t)
	}
	return s
}

// programs returns the folder of PostgreSQL's programs of the latest version, or "" if there are
// none. Debian and Homebrew do not add them to PATH.
func programs() string {
	latest, bin := -1, ""
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/initdb", "/usr/local/pgsql*/bin/initdb", "/opt/homebrew/opt/postgresql*/bin/initdb", "/usr/local/opt/postgresql*/bin/initdb"} {
		found, _ := filepath.Glob(pattern) // the patterns are valid
		for _, path := range found {
			name := filepath.Base(filepath.Dir(filepath.Dir(path))) // 17, or postgresql@17
			version, _ := strconv.Atoi(name[strings.LastIndex(name, "@")+1:])
			if version > latest {
				latest, bin = version, filepath.Dir(path)
			}
		}
	}
	if path, err := exec.LookPath("initdb"); bin == "" && err == nil {
		bin = filepath.Dir(path)
	}
	return bin
}

// account returns the user that runs the server, or nil for the current user. PostgreSQL refuses to
// run as root.
func account() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32) // digits on every Unix
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return nil
}

// freePort returns a port that was free a moment ago.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}

// The guard is a shell script that creates the server's data if there is none, runs the server,
// prints its process id and waits for orders on standard input. On a line, it shuts the server down
// in an orderly way. On end of file, the tests have ended, in whatever way: then it stops the
// server immediately, even if the server is paused, and removes its folder.
const guard = `
dir=$1 bin=$2
shift 2
if [ ! -d "$dir/data" ]; then
	"$bin/initdb" -D "$dir/data" -U app -A trust -E UTF8 --locale=C --no-sync </dev/null >"$dir/log" 2>&1 || exit 1
fi
"$bin/postgres" -D "$dir/data" -k "$dir" "$@" </dev/null >>"$dir/log" 2>&1 &
id=$!
echo $id
if read -r order; then
	kill -INT $id
	wait $id
else
	kill -CONT $id $(cat /proc/$id/task/$id/children 2>/dev/null)
	kill -QUIT $id
	wait $id
	rm -rf "$dir"
fi 2>/dev/null
`

// Start starts the server after it was stopped or killed.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	listen := ""
	if s.host != s.dir {
		listen = s.host
	}
	// The context is not that of the test, because the server may be shared.
	s.guard = exec.CommandContext(context.Background(), "/bin/sh", "-c", guard, "sh", s.dir, s.bin, "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses="+listen, "-c", "fsync="+strconv.FormatBool(s.syncs), "-c", "max_connections=200")
	// The guard has its own session, so that signals from a terminal to the tests do not reach it.
	s.guard.SysProcAttr, s.guard.Dir = &syscall.SysProcAttr{Credential: account(), Setsid: true}, s.dir
	out, err := s.guard.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if s.stdin, err = s.guard.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.guard.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.giveUp(t, err)
	}
	if s.process, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	s.awaitReady(t)
}

// awaitReady waits until the server accepts connections.
func (s *Server) awaitReady(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		err := s.connect(ctx, func(*pgx.Conn) error { return nil })
		if err == nil {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			s.giveUp(t, err)
		}
	}
}

// giveUp fails the test because the server does not start.
func (s *Server) giveUp(t testing.TB, err error) {
	t.Helper()
	log, _ := os.ReadFile(filepath.Join(s.dir, "log")) // tells more than the error, if it exists
	s.remove(t)
	t.Fatalf("PostgreSQL does not start: %v\n%s", err, log)
}

// address returns the URL of a database of the server.
func (s *Server) address(name string) string {
	if s.host != s.dir {
		return fmt.Sprintf("postgres://app@%s/%s?sslmode=disable", net.JoinHostPort(s.host, strconv.Itoa(s.port)), name)
	}
	return fmt.Sprintf("postgres://app@/%s?host=%s", name, url.QueryEscape(s.dir))
}

func (s *Server) connect(ctx context.Context, f func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, s.address("postgres"))
	if err != nil {
		return err
	}
	return errors.Join(f(conn), conn.Close(ctx))
}

func (s *Server) exec(t testing.TB, query string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	err := s.connect(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, query)
		return err
	})
	if err != nil {
		t.Errorf("%s: %v", query, err)
	}
}

// URL returns the URL of a database of this server.
func (s *Server) URL() string { return s.address("postgres") }

// prepare creates the database that others are copies of.
func (s *Server) prepare(t testing.TB, prepare func(t testing.TB, url string)) {
	t.Helper()
	s.prepared.Do(func() {
		s.exec(t, "CREATE DATABASE "+preparedName)
		prepare(t, s.address(preparedName))
	})
}

// database creates a database for one test.
func (s *Server) database(t testing.TB, template string) string {
	t.Helper()
	shared.Lock()
	s.made++
	name := fmt.Sprint("test", s.made)
	shared.Unlock()
	s.exec(t, "CREATE DATABASE "+name+" TEMPLATE "+template)
	t.Cleanup(func() { s.exec(t, "DROP DATABASE "+name+" WITH (FORCE)") })
	return s.address(name)
}

// Stop shuts the server down in an orderly way.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if _, err := io.WriteString(s.stdin, "stop\n"); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd(t)
}

// Kill ends all processes of the server at once, with SIGKILL.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.Pause(t) // so that no process is started meanwhile
	children := s.children(t)
	s.signal(t, syscall.SIGKILL)
	if _, err := io.WriteString(s.stdin, "nothing is left to stop\n"); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd(t)
	awaitGone(t, children)
}

func (s *Server) awaitEnd(t testing.TB) {
	t.Helper()
	_ = s.guard.Wait() // the exit status does not matter
	s.guard = nil
}

// awaitGone waits until killed processes have ended: as long as one of them holds the shared
// memory, the next server refuses to start.
func awaitGone(t testing.TB, ids []int) {
	t.Helper()
	for deadline := time.Now().Add(startTimeout); len(ids) > 0; time.Sleep(5 * time.Millisecond) {
		ids = slices.DeleteFunc(ids, func(id int) bool {
			state, err := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", strconv.Itoa(id)).Output()
			// A zombie may never be waited for.
			return err != nil || strings.HasPrefix(string(state), "Z")
		})
		if time.Now().After(deadline) {
			t.Fatalf("processes %d of PostgreSQL do not end", ids)
		}
	}
}

// Pause suspends all processes of the server until Resume.
func (s *Server) Pause(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGSTOP)
}

// Resume undoes Pause.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGCONT)
}

// signal sends a signal to the main process before its children, so that it starts no more of them.
// They form no process group, because each has its own session.
func (s *Server) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	children := []int{}
	if signal != syscall.SIGSTOP {
		children = s.children(t)
	}
	if err := syscall.Kill(s.process, signal); err != nil {
		t.Fatal(err)
	}
	if signal == syscall.SIGSTOP {
		children = s.children(t)
	}
	for _, id := range children {
		_ = syscall.Kill(id, signal) // it may have ended
	}
}

func (s *Server) children(t testing.TB) []int {
	t.Helper()
	out, err := exec.CommandContext(context.Background(), "ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		t.Fatal(err)
	}
	var children []int
	for line := range strings.Lines(string(out)) {
		var id, parent int
		if _, err := fmt.Sscan(line, &id, &parent); err == nil && parent == s.process {
			children = append(children, id)
		}
	}
	return children
}

// remove stops the server, if it runs, and removes its data.
func (s *Server) remove(t testing.TB) {
	t.Helper()
	if s.guard != nil {
		if err := s.stdin.Close(); err != nil {
			t.Error(err)
		}
		s.awaitEnd(t)
	}
	if err := os.RemoveAll(s.dir); err != nil {
		t.Error(err)
	}
}
