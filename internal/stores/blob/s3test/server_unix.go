//go:build unix

package s3test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// shared is the server that runs until this binary ends.
var shared struct {
	sync.Mutex
	*Server
}

func start(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.Server != nil {
		return shared.Server
	}
	shared.Server = launchIn(t, "")
	return shared.Server
}

// startOwn starts a server that ends with the test.
func startOwn(t testing.TB, within string) *Server {
	t.Helper()
	s := launchIn(t, within)
	t.Cleanup(func() {
		if err := s.alive.Close(); err != nil {
			t.Error(err)
		}
		<-s.ended
	})
	return s
}

// launchIn starts a server with a new folder within another; "" is that for temporary files.
func launchIn(t testing.TB, within string) *Server {
	t.Helper()
	bin, err := program()
	if err != nil {
		leaveOut(t, err.Error())
	}
	for range 5 { // another process may take the port
		var s *Server
		if s, err = launch(bin, within); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// The guard is a shell script that runs the server and prints its process id. The end of its input
// means that the tests have ended, in whatever way: then it kills the server. When the server has
// ended, it removes the folder.
const guard = `
dir=$1 bin=$2
shift 2
exec 3<&0
"$bin" "$@" </dev/null >"$dir/log" 2>&1 &
id=$!
echo $id
{ read -r nothing <&3; kill -KILL $id; } >/dev/null 2>&1 &
watcher=$!
wait $id
kill $watcher
cat "$dir/log"
rm -rf "$dir"
`

// launch starts a server and waits until it answers.
func launch(bin, within string) (*Server, error) {
	dir, err := os.MkdirTemp(within, "s3")
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, "buckets"), 0o755); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{Endpoint: fmt.Sprintf("http://127.0.0.1:%d", port), Region: "us-east-1", Key: "remit", Secret: rand.Text(), dir: dir, ended: make(chan string, 1)}
	health := "/" + rand.Text() // no other server answers there
	// The context is not that of the test, because all tests of the binary share the server.
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", guard, "sh", dir, bin,
		"--port", fmt.Sprintf("127.0.0.1:%d", port), "--region", s.Region, "--health", health, "posix", filepath.Join(dir, "buckets"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "ROOT_ACCESS_KEY=" + s.Key, "ROOT_SECRET_KEY=" + s.Secret}
	// The guard has its own session, so that signals from a terminal to the tests do not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.alive, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	if _, err := fmt.Fscanln(lines, &s.process); err != nil {
		return nil, fmt.Errorf("start versitygw: %w", err)
	}
	go func() {
		log, _ := io.ReadAll(lines) // as much as there is
		s.ended <- string(log)
	}()
	return s, awaitReady(s.Endpoint+health, s.ended)
}

// freePort returns a port that was free a moment ago.
func freePort() (int, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// awaitReady waits until the server answers.
func awaitReady(health string, ended <-chan string) error {
	deadline := time.After(time.Minute)
	for {
		response, err := http.Get(health) //nolint:gosec,noctx // it is ours
		if err == nil {
			err = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return err
			}
		}
		select {
		case log := <-ended:
			return errors.New("versitygw does not start:\n" + log)
		case <-deadline:
			return fmt.Errorf("versitygw does not answer: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Folder returns the folder of a bucket, whose files are the objects.
func (s *Server) Folder(bucket string) string { return filepath.Join(s.dir, "buckets", bucket) }

// Pause suspends the server until Resume. Only a server of New may be paused.
func (s *Server) Pause(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// Resume undoes Pause.
func (s *Server) Resume(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *Server) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(s.process, signal); err != nil {
		t.Fatal(err)
	}
}

// Bucket creates a bucket for this test and returns its name.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	shared.Lock()
	s.made++
	name := fmt.Sprintf("test-%d", s.made)
	shared.Unlock()
	folder := s.Folder(name)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	// The server may still be busy with a request that its client has given up. What that leaves is
	// removed with the server.
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return name
}
