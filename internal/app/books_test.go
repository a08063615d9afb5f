package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/contract"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/signedurl"
	"remit/internal/stores/blob"
	"remit/internal/stores/blob/s3test"
	"remit/internal/toolsets/books"
)

// credentials returns made-up credentials for a bucket.
func credentials(name string) (string, bool) {
	value := map[string]string{"AWS_ACCESS_KEY_ID": "ada", "AWS_SECRET_ACCESS_KEY": "s3cret", "AWS_REGION": "eu-1"}[name]
	return value, value != ""
}

// openBooks opens a workspace with a library.
func openBooks(t *testing.T, change func(*cli.Settings)) *App {
	t.Helper()
	return openHere(t, func(s *cli.Settings) {
		s.Toolsets, s.Addr, s.Env = []string{"books"}, "127.0.0.1:0", credentials
		s.Books = []string{folderScheme + filepath.Join(s.Data, "library")}
		change(s)
	})
}

// away is a bucket that cannot be reached.
const away = "s3://shelf/course?endpoint=http://127.0.0.1:1&path_style=true"

func put(ctx context.Context, s books.Store, key, content string) error {
	_, _, err := s.Put(ctx, key, strings.NewReader(content), int64(len(content)), books.Cond{})
	return err
}

// TestBooksAreOpenedWhenNeeded checks that opening a workspace does not access a library, and that
// reading a library that does not exist does not create it.
func TestBooksAreOpenedWhenNeeded(t *testing.T) {
	a := openBooks(t, func(s *cli.Settings) { s.Env = func(string) (string, bool) { return "", false } })
	if a.stores.opened != nil {
		t.Error("the stores were opened for nobody")
	}
	stores, err := a.stores.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stores.Main.Stat(t.Context(), "registry.yaml"); !errors.Is(err, books.ErrNotFound) {
		t.Errorf("a library that is not there: %v", err)
	}
	if _, err := os.Lstat(a.settings.Data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a look has made the data folder: %v", err)
	}
	if err := put(t.Context(), stores.Main, "books/go/lessons/a.md", "# A"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(a.settings.Data, ".gitignore")); err != nil {
		t.Errorf("the data folder does not keep itself out of git: %v", err)
	}
}

// TestLibraryBehindALink checks that a workspace cannot redirect the books to another place.
func TestLibraryBehindALink(t *testing.T) {
	outside := t.TempDir()
	for _, linked := range []string{".remit", ".remit/library"} {
		a := openBooks(t, func(s *cli.Settings) {
			link := filepath.Join(s.Root, linked)
			if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(outside, link); err != nil {
				t.Skip("no links here:", err)
			}
		})
		if _, err := a.stores.open(t.Context()); err == nil || !strings.Contains(err.Error(), "is a link") {
			t.Errorf("%s: %v", linked, err)
		}
	}
	folder := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(outside, folder); err != nil {
		t.Fatal(err)
	}
	a := openBooks(t, func(s *cli.Settings) { s.Books = []string{folderScheme + folder} })
	if _, err := a.stores.open(t.Context()); err != nil {
		t.Errorf("a link of the person who starts us: %v", err)
	}
}

// TestReadOnlyBooks checks that nothing is written in any way.
func TestReadOnlyBooks(t *testing.T) {
	for _, place := range []string{"", away} {
		a := openBooks(t, func(s *cli.Settings) {
			if s.ReadOnly = true; place != "" {
				s.Books = []string{place}
			}
		})
		stores, err := a.stores.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, deleted := stores.Main.Delete(t.Context(), "books/go/a.md", books.Cond{})
		for what, err := range map[string]error{
			"put":     put(t.Context(), stores.Main, "books/go/a.md", "x"),
			"copy":    stores.Main.Copy(t.Context(), "books/go/a.md", "books/go/b.md", ""),
			"delete":  deleted,
			"receive": linkedBooks{a.books, true}.Receive(t.Context(), signedurl.Upload{Key: "books/go/assets/images/a.png", Size: 1}, strings.NewReader("x"), nil),
		} {
			if err == nil || contract.AsError(err).Kind != contract.Denied {
				t.Errorf("%s in %s: %v", what, a.settings.Books, err)
			}
		}
	}
}

// TestUnreachableBucket checks that an unreachable bucket does not stop a server, does not block
// the books in a folder, and is reported by the health check.
func TestUnreachableBucket(t *testing.T) {
	a := openBooks(t, func(s *cli.Settings) { s.Books = append(s.Books, away) })
	if err := a.stores.reach(t.Context()); err != nil {
		t.Errorf("a server that starts refuses: %v", err)
	}
	stores, err := a.stores.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := put(t.Context(), stores.Main, "books/go/lessons/a.md", "# A"); err != nil {
		t.Errorf("in the folder: %v", err)
	}
	if err := put(t.Context(), stores.Other, "books/go/lessons/a.md", "# A"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("in the bucket: %v", err)
	}
	if a.health(t.Context(), false)["books"] == nil {
		t.Error("health says that the bucket is well")
	}
	alone := openBooks(t, func(*cli.Settings) {})
	if err := alone.health(t.Context(), false)["books"]; err != nil {
		t.Errorf("health of a library that is yet to be made: %v", err)
	}
}

// TestBooksInABucket tests a real bucket: it is tried at the start, written to, and served from.
func TestBooksInABucket(t *testing.T) {
	server := s3test.Start(t)
	a := openBooks(t, func(s *cli.Settings) {
		s.Books, s.Env = []string{server.URL(server.Bucket(t), "course")}, server.Getenv
	})
	base, end := serving(t, a)
	if try := a.stores.trials[0].last; try == nil || !try.isDone() || try.err != nil {
		t.Error("it serves a bucket that was not tried")
	}
	stores, err := a.stores.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const key = "books/go-course/assets/images/a.png"
	if err := put(t.Context(), stores.Main, key, "\x89PNG\r\n\x1a\n"); err != nil {
		t.Fatal(err)
	}
	if got := followed(t, http.MethodGet, base+"/cdn/"+key, "", nil); got != http.StatusOK {
		t.Errorf("GET: status %d", got)
	}
	if err := a.health(t.Context(), false)["books"]; err != nil {
		t.Errorf("health: %v", err)
	}
	end()
}

// startForgetfulStore starts an S3 store that accepts every write, whatever the condition.
func startForgetfulStore(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
	}))
	t.Cleanup(server.Close)
	return "s3://shelf?endpoint=" + server.URL + "&path_style=true"
}

// noCredentials is an environment without credentials, for a machine without any.
func noCredentials(name string) (string, bool) {
	value, found := map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}[name]
	return value, found
}

// TestServeRefusesAnUnfitStore checks that a store without conditional writes is neither served nor
// written to, because one writer would overwrite the work of another.
func TestServeRefusesAnUnfitStore(t *testing.T) {
	place := startForgetfulStore(t)
	a := openBooks(t, func(s *cli.Settings) { s.Books = []string{place} })
	err := a.Serve(t.Context(), func(string) { t.Error("it serves") })
	if err == nil || !strings.Contains(err.Error(), "ignores If-None-Match") {
		t.Errorf("it says %v", err)
	}
	stores, err := a.stores.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var unfit *blob.UnusableError
	if err := put(t.Context(), stores.Main, "books/go/a.md", "x"); !errors.As(err, &unfit) {
		t.Errorf("it was written to: %v", err)
	}
	other := openBooks(t, func(s *cli.Settings) {
		s.Books, s.Env = []string{place}, noCredentials
	})
	if err := other.Serve(t.Context(), func(string) { t.Error("it serves") }); err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without credentials it says %v", err)
	}
}

// TestTrial checks that a store is tried until it passes, once for all that wait, and that a
// failure is remembered for a while.
func TestTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		answer, away := make(chan error), errors.New("it is away")
		tr := newTrial(func(context.Context) error { runs.Add(1); return <-answer })
		pass := func(ctx context.Context) error { _, err := tr.open(ctx); return err }
		results := make(chan error, 8)
		for range cap(results) {
			go func() { results <- pass(t.Context()) }()
		}
		synctest.Wait() // all wait for the first
		answer <- away
		for range cap(results) {
			if err := <-results; !errors.Is(err, away) {
				t.Errorf("it says %v", err)
			}
		}
		if err := pass(t.Context()); !errors.Is(err, away) || runs.Load() != 1 {
			t.Errorf("right after that: %v, %d runs", err, runs.Load())
		}
		time.Sleep(openPause)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := pass(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that tries again and gives up: %v", err)
		}
		if err := pass(t.Context()); !errors.Is(err, away) {
			t.Errorf("a caller during the attempt: %v", err)
		}
		answer <- nil
		synctest.Wait()
		if err := pass(t.Context()); err != nil || runs.Load() != 2 {
			t.Errorf("when it is back: %v, %d runs", err, runs.Load())
		}
		tr.close()
	})
}

// TestLinksLeadSomewhere checks the base URL of links, by settings and by server.
func TestLinksLeadSomewhere(t *testing.T) {
	const key = "books/go/assets/images/a.png"
	for name, tc := range map[string]struct {
		change func(*cli.Settings)
		own    bool
		want   string
	}{
		"beside a server": {func(s *cli.Settings) { s.Addr = "127.0.0.1:8722" }, false, "http://127.0.0.1:8722/cdn/" + key},
		"own":             {func(*cli.Settings) {}, true, "http://own/cdn/" + key},
		"behind a proxy":  {func(s *cli.Settings) { s.PublicURL = "https://books.example" }, true, "https://books.example/cdn/" + key},
		"a CDN":           {func(s *cli.Settings) { s.CDNURL = "https://cdn.example/x" }, true, "https://cdn.example/x/" + key},
		"nowhere":         {func(*cli.Settings) {}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := openBooks(t, tc.change)
			if tc.own {
				a.serveOwnLinks(func() (string, error) { return "http://own", nil })
			}
			got, err := a.links.Asset(t.Context(), key)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("%q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

// TestLinksAreForOneLibrary checks that processes with the same books accept the same links,
// however the place is spelled.
func TestLinksAreForOneLibrary(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Skip("no links here:", err)
	}
	place := func(places ...string) string { return placeOf(places) }
	yet := place(folderScheme + filepath.Join(link, "new", "library"))
	if err := os.MkdirAll(filepath.Join(folder, "new", "library"), 0o700); err != nil {
		t.Fatal(err)
	}
	if made := place(folderScheme + filepath.Join(folder, "new", "library")); made != yet {
		t.Errorf("before %q, after %q", yet, made)
	}
	one, other := place("s3://shelf/a/?region=x&endpoint=http://h"), place("s3://shelf/a?endpoint=http%3A%2F%2Fh")
	if one != other || one == place("s3://shelf/b?endpoint=http://h") || one == place("s3://shelf/a?endpoint=http://other") {
		t.Errorf("%q and %q", one, other)
	}
}

// TestHistoryIsHidden checks that deleted content of a book in the workspace cannot be read as a
// file.
func TestHistoryIsHidden(t *testing.T) {
	hidden := hiddenFrom(cli.Settings{Root: "/w", Data: "/w/.remit", Books: []string{"file:///w/shelf", "s3://x"}})
	for _, want := range []string{"/w/shelf/.history", "/w/shelf/.locks"} {
		if !slices.Contains(hidden, filepath.FromSlash(want)) {
			t.Errorf("%s is not among %q", want, hidden)
		}
	}
	if in, out := hiddenFrom(cli.Settings{Root: "/w", Data: "/w/.remit", Books: []string{"file:///w/.remit/library"}}), hiddenFrom(cli.Settings{Root: "/w", Data: "/w/.remit"}); len(in) != len(out) {
		t.Errorf("what is hidden already is hidden again: %q", in)
	}
}

// TestServedLinks checks that the links of a server work, also under another host name if links are
// public.
func TestServedLinks(t *testing.T) {
	for _, public := range []bool{false, true} {
		t.Run(fmt.Sprint("public ", public), func(t *testing.T) {
			a := openBooks(t, func(s *cli.Settings) {
				if public {
					s.PublicURL = "https://books.example"
				}
			})
			base, end := serving(t, a)
			picture := []byte("\x89PNG\r\n\x1a\n")
			signed, err := a.links.Upload(t.Context(), books.Upload{Key: "books/go-course/assets/images/a.png", Size: int64(len(picture)), By: "ada"})
			if err != nil {
				t.Fatal(err)
			}
			address := base + strings.TrimPrefix(strings.TrimPrefix(signed.URL, base), a.settings.PublicURL)
			if got := followed(t, http.MethodPut, address, "", picture); got != http.StatusCreated {
				t.Errorf("PUT %s: status %d", address, got)
			}
			for host, want := range map[string]int{"": http.StatusOK, "books.example": http.StatusForbidden} {
				if public {
					want = http.StatusOK
				}
				if got := followed(t, http.MethodGet, base+"/cdn/books/go-course/assets/images/a.png", host, nil); got != want {
					t.Errorf("GET as %q: status %d, want %d", host, got, want)
				}
			}
			if got := followed(t, http.MethodGet, base+"/tools", "books.example", nil); got != http.StatusForbidden {
				t.Errorf("the tools by another name: status %d", got)
			}
			end()
		})
	}
}

// serving starts a server, and returns its URL and a function that stops it.
func serving(t *testing.T, a *App) (base string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- a.Serve(ctx, func(url string) { ready <- url }) }()
	select {
	case base = <-ready:
	case err := <-done:
		cancel()
		t.Fatal(err)
	}
	return base, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// followed requests a URL with a host name, and returns the status.
func followed(t *testing.T, method, address, host string, body []byte) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, got.Body)
	_ = got.Body.Close()
	return got.StatusCode
}

// TestLinksOnStdio checks that links are served from the first one on until the client ends, if no
// server runs.
func TestLinksOnStdio(t *testing.T) {
	a := openBooks(t, func(*cli.Settings) {})
	stores, err := a.stores.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const key = "books/go-course/assets/images/a.png"
	if err := put(t.Context(), stores.Main, key, "\x89PNG\r\n\x1a\n"); err != nil {
		t.Fatal(err)
	}
	in, client := io.Pipe()
	started, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- a.ServeStdio(t.Context(), in, writerFunc(func([]byte) { close(started) })) }()
	if _, err := io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	<-started
	address, err := a.links.Asset(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if got := followed(t, http.MethodGet, address, "", nil); got != http.StatusOK {
		t.Errorf("GET %s: status %d", address, got)
	}
	if err := errors.Join(client.Close(), <-done); err != nil {
		t.Error(err)
	}
	if got, err := http.Get(address); err == nil {
		_ = got.Body.Close()
		t.Error("the link is served after the end")
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }
