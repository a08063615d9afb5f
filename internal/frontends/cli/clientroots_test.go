package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

func TestFolderOfURI(t *testing.T) {
	for _, tc := range []struct{ uri, goos, want, fails string }{
		{"file:///home/ada/project", "linux", "/home/ada/project", ""},
		{"file:///home/ada/project/", "linux", "/home/ada/project", ""},
		{"file:///home/ada/my%20project/%C3%A9%23%3F%25", "linux", "/home/ada/my project/é#?%", ""},
		{"file:///home/ada/my project", "linux", "/home/ada/my project", ""},
		{"FILE://localhost/a/../b", "linux", "/b", ""},
		{"file:/a", "linux", "/a", ""},
		{"file:///c%3A/Users/Ada%20L", "windows", `c:\Users\Ada L`, ""},
		{"file:///C:/Users/ada", "windows", `C:\Users\ada`, ""},
		{"file://server/share/x", "windows", `\\server\share\x`, ""},
		{"file:///home/ada", "windows", "", "has no drive"},
		{"file://server/share/x", "linux", "", "on another machine, server"},
		{"file:///a#b", "linux", "", "encode ? as %3F"},
		{"file:///a?b", "linux", "", "encode ? as %3F"},
		{"file:///a%00b", "linux", "", "cannot be seen"},
		{"file:///a%E2%80%AEb", "linux", "", "cannot be seen"},
		{"file:///a%zz", "linux", "", "not a file:// URI"},
		{"file:a", "linux", "", "not a file:// URI"},
		{"file://", "linux", "", "not absolute"},
		{"/home/ada", "linux", "", "not a file:// URI"},
		{"https://example.com/a", "linux", "", "not a file:// URI"},
		{"", "linux", "", "not a file:// URI"},
	} {
		got, err := folderOfURI(tc.uri, tc.goos)
		if got != tc.want || (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
			t.Errorf("%s on %s: %q, %v; want %q, %s", tc.uri, tc.goos, got, err, tc.want, tc.fails)
		}
	}
}

// FuzzFolderOfURI checks that only absolute, clean paths are returned.
func FuzzFolderOfURI(f *testing.F) {
	for _, uri := range []string{"file:///a/b%20c", "file:///c%3A/x", "file://host/x", "file:../a", "file:///%2e%2e/a", "\x00"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		name, err := folderOfURI(uri, "linux")
		if err == nil && (!strings.HasPrefix(name, "/") || filepath.Clean(name) != name || strings.ContainsRune(name, 0)) {
			t.Errorf("%q: %q", uri, name)
		}
		_, _ = folderOfURI(uri, "windows")
	})
}

// TestChooseRoot checks which root of a client becomes the workspace, and what the log says.
func TestChooseRoot(t *testing.T) {
	top := realPath(t.TempDir())
	makeTree(t, top, "home/p 1/", "home/p2/", "home/file")
	uri := func(name string) string {
		slashed := filepath.ToSlash(filepath.Join(top, name))
		return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(slashed, "/")}).String()
	}
	const stays = "the server works in the folder it was started in"
	for _, tc := range []struct {
		name, want string
		roots      ClientRoots
		logs       []string
	}{
		{"first", "home/p 1", ClientRoots{URIs: []string{uri("home/p 1"), uri("home/p2")}}, []string{"level=INFO", uri("home/p2"), "the first one"}},
		{"first that exists", "home/p2", ClientRoots{URIs: []string{uri("gone"), uri("home/file"), uri("home/p2")}}, []string{uri("gone"), uri("home/file"), "does not exist"}},
		{"home", "", ClientRoots{URIs: []string{uri("home")}}, []string{"level=WARN", "use --root to work there", stays}},
		{"above home", "home/p2", ClientRoots{URIs: []string{uri("."), "file:///", uri("home/p2")}}, []string{"use --root to work there"}},
		{"no folder", "", ClientRoots{URIs: []string{"https://example.com"}}, []string{"not a file:// URI", stays}},
		{"no answer", "", ClientRoots{Reason: errors.New("no answer came")}, []string{"level=WARN", "no answer came", stays, "root=/start"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var logged bytes.Buffer
			home := filepath.Join(top, "home")
			p := &Program{Env: func(name string) (string, bool) { return home, name == "HOME" || name == "USERPROFILE" }}
			tc.roots.Asked = true
			got := p.chooseRoot(&tc.roots, "/start", slog.New(slog.NewTextHandler(&logged, nil)))
			if want := filepath.Join(top, tc.want); got != want && (tc.want != "" || got != "") {
				t.Errorf("%q, want %q", got, want)
			}
			for _, text := range tc.logs {
				if !strings.Contains(logged.String(), text) {
					t.Errorf("the log has no %q:\n%s", text, logged.String())
				}
			}
		})
	}
}
