package imports

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestIncludesLikeGCC asks gcc to resolve each include of some headers of this machine, one by one.
// Exactly those that lead to a file in the folder of the headers must be found.
func TestIncludesLikeGCC(t *testing.T) {
	if os.Getenv("REMIT_FULL") != "true" {
		t.Skip("a slow proof: set REMIT_FULL=true")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc here")
	}
	folders := systemFolders(t)
	include := folders[len(folders)-1]
	root := path.Dir(include)
	files := memory{"compile_commands.json": commandFor(t, root, folders)}
	_ = filepath.WalkDir(include, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files[strings.TrimPrefix(filepath.ToSlash(p), root+"/")] = ""
		}
		return nil
	})
	checked := 0
	for _, name := range []string{
		"stdio.h", "stdlib.h", "string.h", "math.h", "pthread.h", "signal.h", "unistd.h", "netdb.h", "resolv.h", "elf.h", "zlib.h",
		"linux/if.h", "linux/tcp.h", "linux/netlink.h", "linux/input.h", "rpc/netdb.h", "arpa/inet.h", "netinet/tcp.h", "search.h",
		"features.h", "link.h", "thread_db.h", "ucontext.h", "wchar.h", "printf.h", "obstack.h", "error.h", "glob.h", "spawn.h",
	} {
		content, err := os.ReadFile(path.Join(include, name))
		if err != nil {
			continue
		}
		specs, err := extractC(content)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		from := path.Join(path.Base(include), name)
		for _, s := range specs {
			if s.text == "stdc-predef.h" {
				continue // gcc includes it before the file itself
			}
			want := gccFinds(t, files, root, path.Dir(from), s)
			if got := strings.Join(resolveC(files, from, []spec{s}), " "); got != want {
				t.Errorf("%s: include of %s leads to %q, gcc says %q", from, s.text, got, want)
			}
			checked++
		}
	}
	t.Logf("%d includes", checked)
}

// systemFolders returns the folders in which gcc searches for headers.
func systemFolders(t *testing.T) []string {
	command := exec.Command("gcc", "-x", "c", "-E", "-v", os.DevNull)
	var said bytes.Buffer
	command.Stderr = &said
	if err := command.Run(); err != nil {
		t.Skip("gcc does not run here")
	}
	_, list, _ := strings.Cut(said.String(), "#include <...> search starts here:\n")
	list, _, _ = strings.Cut(list, "\nEnd of search list")
	found := strings.Fields(list)
	if len(found) == 0 {
		t.Skip("gcc names no folders")
	}
	return found
}

// commandFor returns a compile_commands.json for a build with these folders.
func commandFor(t *testing.T, root string, folders []string) string {
	arguments := []string{"gcc"}
	for _, folder := range folders {
		arguments = append(arguments, "-isystem", folder)
	}
	commands, err := json.Marshal([]compileCommand{{Directory: root, File: "include/stdio.h", Arguments: arguments}})
	if err != nil {
		t.Fatal(err)
	}
	return string(commands)
}

// gccFinds returns the file of the workspace that gcc includes for a spec. It skips gcc's own
// header that only includes the one of the same name.
func gccFinds(t *testing.T, files Files, root, folder string, s spec) string {
	line := `#include "` + s.text + "\"\n"
	if s.kind == cAngled {
		line = "#include <" + s.text + ">\n"
	}
	command := exec.Command("gcc", "-x", "c", "-H", "-fsyntax-only", "-iquote", path.Join(root, folder), "-")
	command.Dir = t.TempDir()
	command.Stdin = strings.NewReader(line)
	// A header that may not be included by itself is an error, but is listed nevertheless.
	said, _ := command.CombinedOutput()
	for line := range strings.Lines(string(said)) {
		dots, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		if file = strings.TrimPrefix(path.Clean(file), root+"/"); strings.Trim(dots, ".") == "" && files.Has(file) &&
			(dots == "." || strings.HasSuffix(file, "/"+s.text)) {
			return file
		}
	}
	return ""
}
