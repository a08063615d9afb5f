//go:build linux || darwin || freebsd

package localsocket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// never is a timeout that only ends a test that hangs.
const never = time.Minute

// rig is a server that sends back what it gets, after it has read the files of the client.
type rig struct {
	dir  string
	end  func()
	saw  chan string // contents of the files
	deny error
}

func newRig(t testing.TB, dir, name string) *rig {
	t.Helper()
	l, err := Listen(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{dir: dir, saw: make(chan string, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	server := &Server{Owner: name, Log: slog.New(slog.DiscardHandler), Check: func(_ *Hello, files []*os.File) error {
		for _, f := range files {
			text, err := io.ReadAll(f)
			if err != nil {
				return err
			}
			r.saw <- string(text)
		}
		return r.deny
	}, Serve: func(ctx context.Context, _ *Hello, conn net.Conn) {
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		defer stop()
		_, _ = io.Copy(conn, conn)
	}}
	go func() {
		defer close(ended)
		server.Run(ctx, l)
	}()
	r.end = func() { cancel(); <-ended }
	t.Cleanup(r.end)
	return r
}

// client returns a client that shows a file.
func (r *rig) client(t testing.TB, text string) *Client {
	file := filepath.Join(t.TempDir(), "shown")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Client{Dir: r.dir, Timeout: never, Hello: Hello{Purpose: "test"}, Prove: func(string) ([]*os.File, error) {
		f, err := OpenNoFollow(file)
		return []*os.File{f}, err
	}}
}

// folder returns a private folder whose path is too long for the address of a socket.
func folder(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestExchange(t *testing.T) {
	r := newRig(t, folder(t), "a")
	conn, err := r.client(t, "proof").Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := <-r.saw; got != "proof" {
		t.Errorf("the server saw %q", got)
	}
	if err := conn.Alive(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Error(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello" {
		t.Errorf("%q %v", got, err)
	}
	r.end()
	if err := conn.Alive(t.Context()); err == nil {
		t.Error("a server that has ended is alive")
	}
	if _, err := conn.Read(got); err == nil {
		t.Error("the connection outlives the server")
	}
	if left, _ := os.ReadDir(r.dir); len(left) > 0 {
		t.Errorf("the server left %v", left)
	}
}

func TestRefused(t *testing.T) {
	r := newRig(t, folder(t), "a")
	r.deny = errors.New("other settings: approve")
	var refused *RefusedError
	if _, err := r.client(t, "").Dial(t.Context()); !errors.As(err, &refused) || refused.Why != "other settings: approve" {
		t.Errorf("%v", err)
	}
	newRig(t, r.dir, "b") // the second server accepts it
	if conn, err := r.client(t, "").Dial(t.Context()); err != nil {
		t.Error(err)
	} else {
		_ = conn.Close()
	}
	many := r.client(t, "")
	many.Prove = func(string) (files []*os.File, err error) {
		for range maxFiles + 1 {
			f, err := os.Open(r.dir)
			if err != nil {
				return files, err
			}
			files = append(files, f)
		}
		return files, nil
	}
	if _, err := many.Dial(t.Context()); err == nil {
		t.Error("a client with too many files was accepted")
	}
}

// TestNoServer checks that sockets without a server, and things that are no sockets of ours, are
// none.
func TestNoServer(t *testing.T) {
	dir := folder(t)
	client := (&rig{dir: dir}).client(t, "")
	none := func(what string) {
		t.Helper()
		if _, err := client.Dial(t.Context()); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", what, err)
		}
	}
	none("an empty folder")
	l, err := Listen(dir, "killed")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.UnixListener.Close() // the socket stays
	none("a server that was killed")
	newRig(t, dir, "next")
	if _, err := os.Lstat(filepath.Join(dir, "killed.sock")); err == nil {
		t.Error("the next server did not remove the socket")
	}
	other := newRig(t, dir, "other")
	for _, name := range []string{"next.sock", "other.sock"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Errorf("the socket of a server that runs is gone: %v", err)
		}
	}
	other.end()
	if err := os.Chmod(filepath.Join(dir, "next.sock"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "not a socket of this user alone") {
		t.Errorf("a socket that others could have made: %v", err)
	}
}

// TestHungServer checks that a server that does not answer is none after the timeout.
func TestHungServer(t *testing.T) {
	dir := folder(t)
	l, err := Listen(dir, "hung") // accepts nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client := (&rig{dir: dir}).client(t, "")
	client.Timeout = time.Millisecond
	if _, err := client.Dial(t.Context()); err == nil {
		t.Error("a server that hangs was used")
	}
}

// FuzzHello sends any bytes to a server, which must serve the next client.
func FuzzHello(f *testing.F) {
	for _, text := range []string{"{}\n", `{"purpose":"x","settings":{"a":"b"}}` + "\n", "\x00\xff\n", `{"settings":[]}` + "\n", "{", ""} {
		f.Add([]byte(text))
	}
	r := newRig(f, folder(f), "a")
	f.Fuzz(func(t *testing.T, text []byte) {
		address, release, err := addressOf(r.dir, "a.sock")
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		conn, err := net.Dial("unix", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(append(text, '\n'))
		_ = conn.(*net.UnixConn).CloseWrite()
		got, _ := io.ReadAll(conn)
		_ = conn.Close()
		if !bytes.HasPrefix(got, []byte(`{"owner":"a"}`+"\n")) {
			t.Errorf("the server said %q", got)
		}
	})
}
