//go:build linux || darwin || freebsd

package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/localsocket"
)

// localSettings returns the settings of a workspace.
func localSettings(root, keys string) cli.Settings {
	data := filepath.Join(root, ".remit")
	return cli.Settings{
		Root: root, Data: data, Database: "sqlite://" + filepath.Join(data, "remit.db"), Config: filepath.Join(root, "remit.yaml"), Keys: keys,
		Toolsets: []string{"tasks"}, Approve: "ask", Embeddings: cli.LocalEmbeddings, Bridge: true,
		Env: func(string) (string, bool) { return "", false },
	}
}

// TestLocalServerChecksRights checks that a server acts only for a process that shows, with the
// right files, that it could do the same, and that has the same settings.
func TestLocalServerChecksRights(t *testing.T) {
	root, keys := t.TempDir(), filepath.Join(t.TempDir(), "keys")
	settings := localSettings(root, keys)
	a, err := Open(context.Background(), settings, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.describeProcess("serve", "")
	server := &localServer{app: a, variants: map[string]*toolVariant{}}
	l, err := server.listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	good, err := openProof(&settings, server.dir, a.process.id)
	if err != nil {
		t.Fatal(err)
	}
	reopened := func(i int) *os.File { // without the right to write
		f, err := os.Open(good[i].Name())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	elsewhere, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	hello := func(change func(*localsocket.Hello, *cli.Settings)) *localsocket.Hello {
		s := settings
		h := &localsocket.Hello{Toolsets: s.Toolsets}
		change(h, &s)
		h.Settings = comparable(&s)
		return h
	}
	same := func(*localsocket.Hello, *cli.Settings) {}
	for _, tc := range []struct {
		name   string
		change func(*localsocket.Hello, *cli.Settings)
		files  []*os.File
		want   string
	}{
		{"the same", same, good, ""},
		{"read-only", func(h *localsocket.Hello, _ *cli.Settings) { h.ReadOnly = true }, good, ""},
		{"other toolsets", func(h *localsocket.Hello, _ *cli.Settings) { h.Toolsets = []string{"books", "tasks"} }, good, ""},
		{"unknown toolset", func(h *localsocket.Hello, _ *cli.Settings) { h.Toolsets = []string{"nothing"} }, good, "nothing"},
		{"rules for tools", func(_ *localsocket.Hello, s *cli.Settings) {
			s.Tools = map[string]contract.Tightening{"add_task": {Approval: true}}
		}, good, "other settings: tools"},
		{"credentials", func(_ *localsocket.Hello, s *cli.Settings) {
			s.Env = func(string) (string, bool) { return "secret", true }
		}, good, "other settings: REMIT_DEADLINE_FACTOR, REMIT_EMBEDDINGS_KEY"},
		{"no files", same, nil, "did not show"},
		{"two files", same, good[:2], "did not show"},
		{"another root", same, []*os.File{elsewhere, good[1], good[2]}, "other folders"},
		{"data is read-only", same, []*os.File{good[0], reopened(1), good[2]}, "cannot write"},
		{"keys are read-only", same, []*os.File{good[0], good[1], reopened(2)}, "cannot write"},
		{"the lock instead of the data", same, []*os.File{good[0], good[2], good[2]}, "other folders"},
	} {
		err := server.check(hello(tc.change), tc.files)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	for _, owner := range []string{"", "../" + a.process.id, "nothing"} {
		if _, err := openProof(&settings, server.dir, owner); err == nil {
			t.Errorf("a server with the id %q was believed", owner)
		}
	}
}

// TestSharedStorageIsNotBridged checks that a process works alone if its rights depend on
// credentials.
func TestSharedStorageIsNotBridged(t *testing.T) {
	for _, tc := range []struct {
		database string
		books    []string
		want     bool
	}{
		{"sqlite:///x/remit.db", nil, true},
		{"sqlite:///x/remit.db", []string{"file:///x/library"}, true},
		{"sqlite:///x/remit.db", []string{"file:///x/library", "s3://bucket/x"}, false},
		{"postgres://ada@db/remit", []string{"file:///x/library"}, false},
	} {
		if got := isLocal(&cli.Settings{Database: tc.database, Books: tc.books}); got != tc.want {
			t.Errorf("%s, %s: %v", tc.database, tc.books, got)
		}
	}
}
