package fetch

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/tools/trainembed/internal/licence"
)

var someSum = strings.Repeat("0f", 32)

func TestReadWrite(t *testing.T) {
	want := []Package{
		{Kind: Deb, Name: "curl", Arch: "amd64", Version: "1:7.88.1-10+deb12u15", Licence: "curl", SHA256: someSum, Pairs: 14},
		{Kind: Go, Name: "github.com/IBM/sarama", Version: "v1.61.1", Licence: "MIT", SHA256: someSum},
		{Kind: Npm, Name: "@types/node", Version: "26.6.6"},
	}
	var list bytes.Buffer
	if err := Write(&list, "how it was made\nand why\n", want); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(list.String(), "# how it was made\n# and why\ndeb:curl:amd64\t1:7.88.1") {
		t.Errorf("list starts %.60q", list.String())
	}
	got, err := Read(&list)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"fields", "npm:a\t1", "2 fields, want 5"},
		{"kind", "pip:a\t1\t-\t-\t-", "none of the kinds deb, npm and go"},
		{"architecture", "deb:a\t1\t-\t-\t-", "lacks an architecture"},
		{"an option for a name", "npm:--yes\t1\t-\t-\t-", "is not a package name"},
		{"a path for a name", "npm:../../x\t1\t-\t-\t-", "is not a package name"},
		{"blanks in a name", "go:a b\t1\t-\t-\t-", "is not a package name"},
		{"a path for a version", "go:a\t../x\t-\t-\t-", `version "../x"`},
		{"no version", "go:a\t-\t-\t-\t-", `version ""`},
		{"sum", "go:a\tv1\tMIT\tABC\t-", "is not a SHA-256"},
		{"pairs", "go:a\tv1\tMIT\t" + someSum + "\tmany", "is not a count"},
		{"twice", "go:a\tv1\t-\t-\t-\ngo:a\tv2\t-\t-\t-", "line 3: go:a is in line 2 already"},
	} {
		_, err := Read(strings.NewReader("# comment\n" + test.line + "\n"))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.name, err, test.want)
		}
	}
}

func TestPath(t *testing.T) {
	for _, test := range []struct {
		p    Package
		want string
	}{
		{Package{Kind: Deb, Name: "cinder-doc", Version: "2:21.3.1-1~deb12u1", Arch: "all"}, "deb/cinder-doc_2%3a21.3.1-1~deb12u1_all.deb"},
		{Package{Kind: Npm, Name: "@types/node", Version: "26.6.6"}, "npm/types-node-26.6.6.tgz"},
		{Package{Kind: Npm, Name: "zod", Version: "4.6.7"}, "npm/zod-4.6.7.tgz"},
		{Package{Kind: Go, Name: "github.com/IBM/sarama", Version: "v1.0.0-RC1"}, "gomod/cache/download/github.com/!i!b!m/sarama/@v/v1.0.0-!r!c1.zip"},
	} {
		if got := filepath.ToSlash(test.p.Path("")); got != test.want {
			t.Errorf("%s: %s, want %s", test.p.ID(), got, test.want)
		}
	}
}

// TestCommittedList: the committed list is complete and sorted, and names only permissive licences.
func TestCommittedList(t *testing.T) {
	file, err := os.Open("../../packages.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packages, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 900 {
		t.Errorf("only %d packages", len(packages))
	}
	for i, p := range packages {
		if p.SHA256 == "" || licence.OfExpression(p.Licence, nil) != licence.Permissive {
			t.Errorf("%s: SHA-256 %q, licence %q", p.ID(), p.SHA256, p.Licence)
		}
		if i > 0 && packages[i-1].ID() >= p.ID() {
			t.Errorf("%s stands before %s", packages[i-1].ID(), p.ID())
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("deb:curl:amd64\t1:7-1\tcurl\t-\t3\n# x\n\nnpm:@a/b\t1\t-\t-\t-")
	f.Fuzz(func(t *testing.T, list string) {
		packages, err := Read(strings.NewReader(list))
		if err != nil {
			return
		}
		for _, p := range packages {
			if path := p.Path("cache"); !strings.HasPrefix(path, "cache"+string(filepath.Separator)) {
				t.Errorf("%s lies at %s, outside of the cache", p.ID(), path)
			}
		}
	})
}
