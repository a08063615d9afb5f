package ignore

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// gitEnv returns an environment in which git reads no configuration but that of the test, in its
// home folder.
func gitEnv(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "xdg"), "LC_ALL=C",
		// No need to sync to disk.
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + filepath.Join(home, "config"), "GIT_TEST_FSYNC=0",
	}
}

// lookup returns the same environment for Open.
func lookup(environment []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, pair := range environment {
			if key, value, _ := strings.Cut(pair, "="); key == name {
				return value, true
			}
		}
		return "", false
	}
}

// git runs git in a folder, with the given home.
func git(t testing.TB, home, dir string, stdin []byte, args ...string) []byte {
	t.Helper()
	out, err := tryGit(t, home, dir, stdin, args...)
	if err != nil {
		t.Fatalf("git %q: %v", args, err)
	}
	return out
}

func tryGit(t testing.TB, home, dir string, stdin []byte, args ...string) ([]byte, error) {
	t.Helper()
	needGit(t)
	cmd := exec.CommandContext(context.Background(), "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, gitEnv(home), bytes.NewReader(stdin)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if failed.Len() > 0 {
		t.Logf("git %q: %s", args, failed.String())
	}
	return out, err
}

func needGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git to compare with")
	}
}

// write writes a file and creates the folders above it.
func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// newGit creates an empty repository. It is faster than git init.
func newGit(t testing.TB, dir, config string) {
	t.Helper()
	write(t, filepath.Join(dir, ".git/HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(dir, ".git/config"), "[core]\n\trepositoryformatversion = 0\n"+config)
	for _, folder := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, ".git", folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// randomParts returns a concatenation of up to limit parts.
func randomParts(random *rand.Rand, parts []string, limit int) string {
	var b strings.Builder
	for range 1 + random.IntN(limit) {
		b.WriteString(parts[random.IntN(len(parts))])
	}
	return b.String()
}

var ruleParts = []string{
	"a", "b", "A", "/", "/", "*", "*", "**", "**/", "/**", "?", "[ab]", "[!a]", "[^a-b]", "[]a]", "[[:alpha:]]", "[[:space:]x]", "[[:upper:]]", "[a-", "[[:", "[A-B]", "[[:nope:]]", "[\\]a]", "[!]",
	`\*`, `\a`, `\A`, `\/`, `\`, `\ `, " ", "!", "#", "{a,b}", "é", "\xff", ".", ".b", "\r", "\t", "-", "***", "a/b", "b*",
}

// pathOf returns a random path that has a chance to be ignored.
func pathOf(random *rand.Rand) string {
	parts := []string{"a", "b", "A", "aa", "ab", "b.b", "a b", "a ", " ", "*", "!", "#", "{a,b}", "é", "\xff", ".b", "a\r", "-", "[ab]", `a\`, "a/b"}
	if os.PathSeparator == '\\' {
		parts = []string{"a", "b", "aa", "ab", "b.b", "-", ".b", "a/b"}
	}
	var elements []string
	for range 1 + random.IntN(4) {
		elements = append(elements, parts[random.IntN(len(parts))])
	}
	return strings.Join(elements, "/")
}

// ignored matches a path as a walk would, with no rules in the folders on the way.
func ignored(r *Rules, path string) bool {
	for i := range len(path) {
		if path[i] == '/' && r.Ignores(path[:i], true) {
			return true
		}
	}
	return r.Ignores(path, false)
}

// TestAgainstCheckIgnore compares many rules, each in a folder of its own, with git check-ignore on
// many paths.
func TestAgainstCheckIgnore(t *testing.T) {
	for _, fold := range []bool{false, true} {
		t.Run("ignorecase="+strconv.FormatBool(fold), func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, 4))
			files := slices.Clone(handWritten)
			count := 700
			if os.Getenv("REMIT_FULL") == "true" {
				count = 30_000
			}
			for len(files) < count {
				file := randomParts(random, ruleParts, 6)
				if random.IntN(4) == 0 {
					file += "\n" + randomParts(random, ruleParts, 4) + "\n!" + randomParts(random, ruleParts, 4)
				}
				files = append(files, file)
			}
			compareRules(t, files, fold, func(int) []string {
				paths := make([]string, 12)
				for i := range paths {
					paths[i] = pathOf(random)
				}
				return paths
			})
		})
	}
}

// compareRules compares git and Rules on the paths for each of the files of rules.
func compareRules(t *testing.T, files []string, fold bool, paths func(file int) []string) {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	newGit(t, dir, "[core]\n\tignorecase = "+strconv.FormatBool(fold)+"\n")
	var asked bytes.Buffer
	var ours []bool
	for i, file := range files {
		folder := "f" + strconv.Itoa(i)
		write(t, filepath.Join(dir, folder, ".gitignore"), file)
		rules := (&Rules{fold: fold}).Enter("", []byte(file))
		for _, path := range paths(i) {
			asked.WriteString(folder + "/" + path + "\x00")
			ours = append(ours, ignored(rules, path))
		}
	}
	out, err := tryGit(t, home, dir, asked.Bytes(), "check-ignore", "-v", "-n", "-z", "--no-index", "--stdin")
	// The exit code is 1 if nothing is ignored.
	if _, nothing := errors.AsType[*exec.ExitError](err); err != nil && !nothing {
		t.Fatal(err)
	}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(fields) != 4*len(ours) {
		t.Fatalf("git printed %d fields for %d paths", len(fields), len(ours))
	}
	for i := range ours {
		pattern, path := fields[4*i+2], fields[4*i+3]
		if theirs := pattern != "" && pattern[0] != '!'; theirs != ours[i] {
			folder, rest, _ := strings.Cut(path, "/")
			number, _ := strconv.Atoi(folder[1:])
			t.Errorf("by %q %q is ignored: %v, want %v, by %q", files[number], rest, ours[i], theirs, pattern)
		}
	}
}

// handWritten are handwritten rules.
var handWritten = []string{
	"a", "/a", "a/", "/a/", "a/b", "a/b/", "/a/b", "**/a", "a/**", "a/**/b", "**", "*", "/*", "*/", "a*", "*a", "*.b", "?", "a?b", "[ab]", "a/[!b]", "\\a", "a\\", "a ", "a\\ ", "a  ", "a\\  ", "a \\ ", " a", "a\r\n", "a \r\n", "a\r", "a\r\r\n",
	"#a", "\\#", "!a", "\\!", "a\n!a", "a/\n!a", "*\n!*/\n!a", "/*\n!/a", "a/*\n!a/b", "a\n!a/b", "\xef\xbb\xbfa", "\xef\xbb\xbf#a\nb", "a\x00b", "", "\n", "\r\n", "/", "//", "///", "!", "!/", "a//", "//a", "a//b", "{a,b}", "a/b**", "a/a**/b", "a/a**b", "a/***/b", "a/**b", "a**/b", "**a/b", "a/**\\/b", "**/**", "**/a/**", "a\\/b", "\\/a",
	"[", "[a", "[]", "[]]", "[]a]", "[!]", "[!]a]", "[^a]", "[a-]", "[-a]", "[a-b-c]", "[b-a]", "[\\]]", "[\\a-\\b]", "[a-\\", "[[:alpha:]]", "[[:alpha:]", "[[:alpha]", "[[:", "[[:]", "[[:]]", "[[::]]", "[[:foo:]]", "[![:alpha:]]", "[a-[:alpha:]]", "[/]", "a[/]b", "a[!x]b", "[A-Z]", "[A]", "\\A", "A", "*A", "A*", "[[:upper:]]", "[[:lower:]]", "É",
	strings.Repeat("a", 5000), strings.Repeat("*a", 100) + "b", strings.Repeat("**/", 50) + "a",
}

// TestClasses compares every byte that a name can contain with every class.
func TestClasses(t *testing.T) {
	var files, names []string
	for _, name := range []string{"alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"} {
		files = append(files, "[[:"+name+":]]", "[![:"+name+":]]", "x/[[:"+name+":]]")
	}
	files = append(files, "[A-z]", "[!a-~]", "[\x80-\xff]", "?", "[Z-a]", "[!A-Z]", "[ -~]")
	for c := 1; c < 256; c++ {
		if c != '/' && c != '.' {
			names = append(names, string([]byte{byte(c)}), "x/"+string([]byte{byte(c)}))
		}
	}
	for _, fold := range []bool{false, true} {
		compareRules(t, files, fold, func(int) []string { return names })
	}
}
