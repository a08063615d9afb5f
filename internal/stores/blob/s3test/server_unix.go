//go:build unix

package s3test

import (
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
	bin, err := program()
	if err != nil {
		leaveOut(t, err.Error())
	}
	for range 5 { // another process may take the port
		if shared.Server, err = launch(bin); err == nil {
			return shared.Server
		}
	}
	t.Fatal(err)
	return nil
}

// The guard is a shell script that runs the server. The end of its input means that the tests have
// ended, in whatever way: then it kills the server. When the server has ended, it removes the
// folder.
const guard = `
dir=$1 bin=$2
shift 2
exec 3<&0
"$bin" "$@" </dev/null >"$dir/log" 2>&1 &
id=$!
{ read -r nothing <&3; kill -KILL $id; } >/dev/null 2>&1 &
watcher=$!
wait $id
kill $watcher
cat "$dir/log"
rm -rf "$dir"
`

// launch starts a server and waits until it answers.
func launch(bin string) (*Server, error) {
	dir, err := os.MkdirTemp("", "s3")
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
	s := &Server{Endpoint: fmt.Sprintf("http://127.0.0.1:%d", port), Region: "us-east-1", Key: "remit", Secret: rand.Text(), dir: dir}
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
	ended := make(chan string, 1)
	go func() {
		log, _ := io.ReadAll(out) // as much as there is
		ended <- string(log)
	}()
	return s, awaitReady(s.Endpoint+health, ended)
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

// Bucket creates a bucket for this test and returns its name.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	shared.Lock()
	s.made++
	name := fmt.Sprintf("test-%d", s.made)
	shared.Unlock()
	folder := filepath.Join(s.dir, "buckets", name) // a bucket is a folder
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return name
}
