//go:build unix

package workspace_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"remit/internal/contract"
	"remit/internal/stores/workspace"
)

func TestLinks(t *testing.T) {
	const secret = "S"
	// The file named "allowed" is readable, all others are not.
	tree := []string{
		"AGENTS.md=agents", ".env=" + secret, "secrets/s.md=" + secret, "vault/sub/", "vault/x.md=vault", "vault/a.key=" + secret,
		"docs/a.md=A", "docs/sub/deep/d.md=D", "docs/x.md=docs-x", ".git/config=" + secret, ".remit/remit.db=" + secret, "real/nested/",
	}
	tests := []struct {
		name  string
		links []string
		path  string
		want  answer
	}{
		{"to a file that is not in the allow list", []string{"CLAUDE.md->AGENTS.md"}, "CLAUDE.md", answer{Content: "agents", Resolved: "AGENTS.md"}},
		{"to itself by way of dots", []string{"docs/l->./../docs/./a.md"}, "docs/l", answer{Content: "A", Resolved: "docs/a.md"}},
		{"to a folder", []string{"docs/l->sub"}, "docs/l/deep/d.md", answer{Content: "D", Resolved: "docs/sub/deep/d.md"}},
		{"to a folder, named itself", []string{"docs/l->sub"}, "docs/l", refusal(contract.Invalid, "docs/l is a folder, not a file", "docs/l")},
		{"to the root", []string{"docs/l->.."}, "docs/l/AGENTS.md", answer{Content: "agents", Resolved: "AGENTS.md"}},
		{"to the root, named itself", []string{"docs/l->.."}, "docs/l", refusal(contract.Invalid, "docs/l is a folder, not a file", "docs/l")},
		{"to the root and back", []string{"docs/l->.."}, "docs/l/docs/l/docs/a.md", answer{Content: "A", Resolved: "docs/a.md"}},
		{"a chain", []string{"docs/l->m", "docs/m->../n", "n->docs/sub/deep", "docs/sub/deep/e->d.md"}, "docs/l/e", answer{Content: "D", Resolved: "docs/sub/deep/d.md"}},
		{"up behind a link is the real parent", []string{"docs/l->../vault/sub", "docs/m->l/../x.md"}, "docs/m", answer{Content: "vault", Resolved: "vault/x.md"}},
		{"up behind a link, reached through a folder", []string{"docs/l->../vault/sub", "docs/m->l/.."}, "docs/m/x.md", answer{Content: "vault", Resolved: "vault/x.md"}},
		{"up more often than the name is long", []string{"docs/l->sub/deep/../../../docs/a.md"}, "docs/l", answer{Content: "A", Resolved: "docs/a.md"}},
		{"absolute inside", []string{"docs/l->ROOT/docs/a.md"}, "docs/l", answer{Content: "A", Resolved: "docs/a.md"}},
		{"absolute inside, up and down", []string{"docs/l->ROOT/docs/sub/.././a.md"}, "docs/l", answer{Content: "A", Resolved: "docs/a.md"}},
		{"absolute inside, to a folder", []string{"docs/l->ROOT/docs/sub/"}, "docs/l/deep/d.md", answer{Content: "D", Resolved: "docs/sub/deep/d.md"}},
		{"absolute to the root", []string{"docs/l->ROOT"}, "docs/l/AGENTS.md", answer{Content: "agents", Resolved: "AGENTS.md"}},

		{"to a denied file", []string{"docs/l->../.env"}, "docs/l", denied("docs/l")},
		{"to a denied file in another case", []string{"docs/l->../.ENV"}, "docs/l", denied("docs/l")},
		{"to a denied folder", []string{"docs/l->../secrets"}, "docs/l/s.md", denied("docs/l/s.md")},
		{"to a denied folder, something missing", []string{"docs/l->../secrets"}, "docs/l/none", denied("docs/l/none")},
		{"to a denied ending behind a folder", []string{"docs/l->../vault"}, "docs/l/a.key", denied("docs/l/a.key")},
		{"absolute to a denied file", []string{"docs/l->ROOT/.env"}, "docs/l", denied("docs/l")},
		{"a chain to a denied file", []string{"docs/l->m", "docs/m->n", "docs/n->../.git/config"}, "docs/l", denied("docs/l")},
		{"through a denied folder and out again", []string{"docs/l->../.git/../AGENTS.md"}, "docs/l", denied("docs/l")},
		{"up behind a link to a denied file", []string{"docs/l->../real/nested", "docs/m->l/../../.env"}, "docs/m", denied("docs/m")},
		{"up behind a link, denied only where it really is", []string{"real/nested/env->../../secrets/../vault", "docs/m->../real/nested/env/x.md"}, "docs/m", denied("docs/m")},
		{"a denied name that leads to something harmless", []string{"docs/.env->a.md"}, "docs/.env", denied("docs/.env")},
		{"a name not allowed that leads to one allowed", []string{"l->docs/a.md"}, "l", notListed("l")},
		{"to something hidden", []string{"docs/l->../.remit"}, "docs/l/remit.db", denied("docs/l/remit.db")},
		{"to something hidden that is missing", []string{"docs/l->../remit.yaml"}, "docs/l", denied("docs/l")},
		{"dangling to a denied name", []string{"docs/l->../sub/.env.none"}, "docs/l", denied("docs/l")},
		{"dangling to an allowed name", []string{"docs/l->none.md"}, "docs/l", notFound("docs/l")},
		{"dangling to a name not in the allow list", []string{"docs/l->../none.md"}, "docs/l", notFound("docs/l")},
		{"through a file", []string{"docs/l->a.md"}, "docs/l/b.md", notFound("docs/l/b.md")},
		{"up from a file", []string{"docs/l->a.md/../x.md"}, "docs/l", notFound("docs/l")},

		{"out of the root", []string{"docs/l->../../outside/s.md"}, "docs/l", denied("docs/l")},
		{"out of the root, something missing", []string{"docs/l->../../outside/none"}, "docs/l", denied("docs/l")},
		{"out of the root by a folder", []string{"docs/l->../../outside"}, "docs/l/s.md", denied("docs/l/s.md")},
		{"out of the root and back in", []string{"docs/l->../../root/docs/a.md"}, "docs/l", denied("docs/l")},
		{"out of the root behind a link", []string{"docs/l->../vault/sub", "docs/m->l/../../../outside/s.md"}, "docs/m", denied("docs/m")},
		{"absolute outside", []string{"docs/l->ROOT/../outside/s.md"}, "docs/l", denied("docs/l")},
		{"absolute outside with the root's name as a prefix", []string{"docs/l->ROOT2/s.md"}, "docs/l", denied("docs/l")},
		{"absolute to a device", []string{"docs/l->/dev/zero"}, "docs/l", denied("docs/l")},
		{"absolute and missing", []string{"docs/l->/no/such/thing"}, "docs/l", denied("docs/l")},
		{"absolute to the top", []string{"docs/l->/"}, "docs/l", denied("docs/l")},

		{"a loop of one", []string{"docs/l->l"}, "docs/l", notFound("docs/l")},
		{"a loop of two", []string{"docs/l->m", "docs/m->l"}, "docs/l", notFound("docs/l")},
		{"a loop that grows", []string{"docs/l->l/l"}, "docs/l", notFound("docs/l")},
		{"a loop that grows fast", []string{"docs/l->" + strings.Repeat("l/", 100)}, "docs/l", notFound("docs/l")},
		{"a target with more steps than there may be", []string{"docs/l->" + strings.Repeat("../docs/", 200) + "a.md"}, "docs/l", notFound("docs/l")},
		{"a loop of folders", []string{"docs/l->../docs/l/x"}, "docs/l/y", notFound("docs/l/y")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := realTemp(t)
			dir := filepath.Join(top, "root")
			plant(t, dir, append(tree, tt.links...)...)
			plant(t, top, "outside/s.md="+secret, "root2/s.md="+secret)
			root := open(t, dir, filepath.Join(dir, ".remit"), filepath.Join(dir, "remit.yaml"))
			check(t, read(root, tt.path, listed()), tt.want)
		})
	}
}

func TestLongChainsOfLinks(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "l0=end")
	for i := range 41 {
		plant(t, dir, fmt.Sprintf("l%d->l%d", i+1, i))
	}
	root := open(t, dir)
	check(t, read(root, "l40", anywhere()), answer{Content: "end", Resolved: "l0"})
	check(t, read(root, "l41", anywhere()), notFound("l41"))
	_, err := root.CheckPath("l41", anywhere())
	if cause := contract.AsError(err).Cause; cause == nil || cause.Error() != "too many links" {
		t.Errorf("cause %v", cause)
	}
}

func TestThreeDotsAreAName(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, ".../...=dots")
	check(t, read(open(t, dir), ".../...", anywhere()), answer{Content: "dots", Resolved: ".../..."})
}

// A root that is reached through a link has two names, and links may use both.
func TestRootBehindLink(t *testing.T) {
	top := realTemp(t)
	plant(t, top, "real/docs/a.md=A", "real/.remit/db=S", "real/conf.yaml=S", "real/data/db=S", "link->real", "alias->real",
		"real/by-real->"+top+"/real/docs/a.md", "real/by-link->"+top+"/link/docs/a.md", "real/dotdata->data")
	given := filepath.Join(top, "link")
	root := open(t, given, filepath.Join(given, ".remit"), filepath.Join(top, "real", "conf.yaml"), filepath.Join(given, "dotdata"),
		filepath.Join(top, "alias", "later"))

	for name, want := range map[string]answer{
		"by-real":   {Content: "A", Resolved: "docs/a.md"},
		"by-link":   {Content: "A", Resolved: "docs/a.md"},
		".remit/db": denied(".remit/db"),
		"conf.yaml": denied("conf.yaml"),
		"dotdata/x": denied("dotdata/x"),
		"data/db":   denied("data/db"), // the target of the hidden link
		"data/none": denied("data/none"),
		"later/x":   denied("later/x"), // matches only a third name of the root
	} {
		t.Run(name, func(t *testing.T) { check(t, read(root, name, anywhere()), want) })
	}
	if err := os.Remove(filepath.Join(top, "real", "dotdata")); err != nil {
		t.Fatal(err)
	}
	check(t, read(root, "dotdata/x", anywhere()), denied("dotdata/x")) // removed, but still hidden
}

// Hidden files are recognized even if they were created after the root was opened, and under any
// name.
func TestHiddenByIdentity(t *testing.T) {
	dir, outside := realTemp(t), realTemp(t)
	data, conf := filepath.Join(outside, "data"), filepath.Join(outside, "conf.yaml")
	plant(t, dir, "docs/vault/deep/x.md=S", "docs/c.md=S", "docs/a.md=A")
	root := open(t, dir, data, conf)
	names := []string{"docs/vault/deep/x.md", "docs/c.md"}
	judged := map[string]*workspace.File{}
	for _, name := range names {
		file, err := root.CheckPath(name, anywhere())
		if err != nil {
			t.Fatal(err)
		}
		judged[name] = file
	}
	plant(t, outside, "data->"+filepath.Join(dir, "docs", "vault"), "conf.yaml->"+filepath.Join(dir, "docs", "c.md"))

	for _, name := range names {
		check(t, content(judged[name]), denied(name))
		check(t, read(root, name, anywhere()), denied(name))
	}
	check(t, read(root, "docs/vault/none", anywhere()), denied("docs/vault/none"))
	check(t, read(root, "docs/vault", anywhere()), denied("docs/vault"))
	check(t, read(root, "docs/a.md", anywhere()), answer{Content: "A", Resolved: "docs/a.md"})
}

// The checked file is opened, or none is.
func TestChangedAfterCheck(t *testing.T) {
	tests := []struct {
		name   string
		change func(dir string) error
		want   answer
	}{
		{"nothing", func(string) error { return nil }, answer{Content: "A", Resolved: "docs/sub/a.md"}},
		{"file becomes a link to a secret", replace("docs/sub/a.md", "../../.env"), denied("docs/sub/a.md")},
		{"file becomes a link to a good file", replace("docs/sub/a.md", "b.md"), denied("docs/sub/a.md")},
		{"file becomes a dangling link", replace("docs/sub/a.md", "none"), denied("docs/sub/a.md")},
		{"folder becomes a link", replace("docs/sub", "../secrets"), denied("docs/sub/a.md")},
		{"outer folder becomes a link", replace("docs", "elsewhere"), denied("docs/sub/a.md")},
		{"file is gone", func(dir string) error { return os.Remove(dir + "/docs/sub/a.md") }, notFound("docs/sub/a.md")},
		{"folder is gone", func(dir string) error { return os.RemoveAll(dir + "/docs") }, notFound("docs/sub/a.md")},
		{"folder becomes a file", func(dir string) error {
			return os.Rename(dir+"/elsewhere/sub/a.md", moved(dir+"/docs/sub"))
		}, notFound("docs/sub/a.md")},
		{"file becomes a folder", func(dir string) error {
			return os.Mkdir(moved(dir+"/docs/sub/a.md"), 0o755)
		}, refusal(contract.Invalid, "docs/sub/a.md is a folder, not a file", "docs/sub/a.md")},
		{"file becomes a pipe", func(dir string) error {
			return unix.Mkfifo(moved(dir+"/docs/sub/a.md"), 0o644)
		}, refusal(contract.Invalid, "docs/sub/a.md is not a regular file", "docs/sub/a.md")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := realTemp(t)
			plant(t, dir, "docs/sub/a.md=A", "docs/sub/b.md=B", ".env=S", "secrets/a.md=S", "elsewhere/sub/a.md=S")
			file, err := open(t, dir).CheckPath("docs/sub/a.md", anywhere())
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.change(dir); err != nil {
				t.Fatal(err)
			}
			check(t, content(file), tt.want)
		})
	}
}

// replace returns a function that replaces name by a link.
func replace(name, target string) func(string) error {
	return func(dir string) error { return os.Symlink(target, moved(filepath.Join(dir, name))) }
}

// moved moves a path away.
func moved(full string) string {
	_ = os.Rename(full, full+".old")
	return full
}

func TestSpecialFiles(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "docs/a.md=A")
	if err := unix.Mkfifo(filepath.Join(dir, "docs", "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	special := []string{"docs/pipe"}
	// Systems limit its length.
	if socket := filepath.Join(dir, "docs", "socket"); len(socket) < 100 {
		listener, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		special = append(special, "docs/socket")
	}
	root := open(t, dir)
	for _, name := range special {
		want := refusal(contract.Invalid, name+" is not a regular file", name)
		t.Run(name, func(t *testing.T) { check(t, read(root, name, anywhere()), want) })
	}
	if file, err := root.OpenAppend("docs/pipe"); err == nil {
		_ = file.Close()
		t.Error("a pipe was opened to append")
	}
}

func TestOpenAppendRefusesLinks(t *testing.T) {
	for name, link := range map[string]string{
		"the file":                 ".claude/memory/log.jsonl->other.jsonl",
		"the file, dangling":       ".claude/memory/log.jsonl->none",
		"the folder":               ".claude/memory->../elsewhere",
		"the folder, dangling":     ".claude/memory->../none",
		"the first folder":         ".claude->elsewhere",
		"the first folder outside": ".claude->/tmp",
	} {
		t.Run(name, func(t *testing.T) {
			dir := realTemp(t)
			plant(t, dir, link, "elsewhere/memory/log.jsonl=", "elsewhere/log.jsonl=")
			file, err := open(t, dir).OpenAppend(".claude/memory/log.jsonl")
			if err == nil {
				_ = file.Close()
				t.Fatal("opened through a link")
			}
			if !strings.Contains(err.Error(), "is a link") {
				t.Errorf("the reason is missing: %v", err)
			}
			for _, target := range []string{"none", ".claude/memory/none"} {
				if _, err := os.Stat(filepath.Join(dir, target)); err == nil {
					t.Errorf("%s was made through a link", target)
				}
			}
		})
	}
}

func TestOpenAppendByManyAtOnce(t *testing.T) {
	dir := realTemp(t)
	root := open(t, dir)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			file, err := root.OpenAppend("a/b/c/log")
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = file.WriteString("x")
			_ = file.Close()
		})
	}
	group.Wait()
	check(t, read(root, "a/b/c/log", anywhere()), answer{Content: strings.Repeat("x", 16), Resolved: "a/b/c/log"})
}

// While the tree changes, a reader gets the right content or an error.
func TestSwappingRace(t *testing.T) {
	reads := 20_000
	if testing.Short() {
		reads = 1000
	}
	tests := []struct {
		name string
		link string // what the swapped path becomes at times
		swap string // the path that is swapped with it
	}{
		{"file and link to a denied file", "spare->../../.env", "docs/sub/a.md"},
		{"file and link out of the root", "spare->/etc/passwd", "docs/sub/a.md"},
		{"folder and link to a denied folder", "spare->../secrets", "docs/sub"},
		{"outer folder and link to a hidden folder", "spare->.remit", "docs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := realTemp(t)
			plant(t, dir, "docs/sub/a.md=good", ".env=SECRET", "secrets/a.md=SECRET", ".remit/sub/a.md=SECRET", tt.link)
			root := open(t, dir, filepath.Join(dir, ".remit"))
			stop := swapping(t, filepath.Join(dir, "spare"), filepath.Join(dir, tt.swap))
			defer stop()

			good, refused := 0, 0
			// On a busy machine, it takes longer until both states have been seen.
			for i := 0; i < reads || good == 0 || refused == 0; i++ {
				switch got := read(root, "docs/sub/a.md", anywhere()); {
				case got.Content == "good":
					good++
				case got.Content == "" && (got.Kind == contract.Denied || got.Kind == contract.NotFound):
					refused++
				default:
					t.Fatalf("reading %d: %+v", i, got)
				}
			}
		})
	}
}

// swapping swaps two paths repeatedly until it is stopped.
func swapping(t *testing.T, a, b string) (stop func()) {
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			for _, step := range [][2]string{{a, a + ".tmp"}, {b, a}, {a + ".tmp", b}} {
				if err := os.Rename(step[0], step[1]); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	return func() { close(done); group.Wait() }
}

// TestRefusalNamesTheRule also checks that the secret policy holds under a policy that denies
// nothing itself, and that a folder named like a secret file can be passed, also by a link.
func TestRefusalNamesTheRule(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "a/token/x.go=G", "l->a/token", "k->a/token/x.pem", "a/token/x.pem=S", "notes/private/n.md=S")
	root := open(t, dir)
	secrets, err := contract.NewSecretPolicy([]string{"notes/Private"})
	if err != nil {
		t.Fatal(err)
	}
	policy := &contract.PathPolicy{Secrets: secrets, Deny: []string{"**/.git"}}
	for name, want := range map[string]string{
		".git/config": "**/.git", "x/.ENV.local": ".env*", "k": "*.pem", "l/x.pem": "*.pem", "NOTES/private/n.md": "deny: notes/Private",
		"x/token": "data files named after credentials, passwords, secrets or tokens",
	} {
		if got := read(root, name, policy); got.Kind != contract.Denied || got.rule != want {
			t.Errorf("%s: %+v, want the rule %s", name, got, want)
		}
	}
	for _, name := range []string{"a/token/x.go", "l/x.go"} {
		check(t, read(root, name, policy), answer{Content: "G", Resolved: "a/token/x.go"})
	}
	names, err := root.List("a/token", "", policy)
	if err != nil || !slices.Equal(names, []string{"a/token/x.go"}) {
		t.Errorf("listed: %v, %v", names, err)
	}
}
