// Package fetch turns the committed list of packages into archives on disk that match their
// SHA-256, and opens them.
//
//	packages, err := fetch.Read(list)            // the lines of packages.tsv, in order
//	err = fetch.All(ctx, fetch.Options{Cache: dir, Progress: os.Stderr}, packages)
//	archive, err := fetch.Open(dir, packages[0]) // one at a time, or several at once
//	defer archive.Close()
//	for file := range archive.Files() {          // by path; what the licences allow
//		text, err := file.Read()
//	}
//
// Packages are downloaded by name with the usual clients (go, npm, apt-get), so the settings of
// those clients decide where from.
package fetch

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

// Kind says which client downloads a package.
type Kind string

// The kinds of packages, as the list spells them.
const (
	Deb Kind = "deb"
	Npm Kind = "npm"
	Go  Kind = "go"
)

// Package is one line of the list. The zero value of a field after Version means that it is not
// known yet.
type Package struct {
	Kind    Kind
	Name    string // without kind and architecture: curl, @types/node, golang.org/x/tools
	Arch    string // only for Debian packages: all, amd64
	Version string // as the client writes it, with + and :
	Licence string // as found in the archive
	SHA256  string // of the archive, in lower-case hexadecimal
	Pairs   int    // number of pairs from the package
}

// ID returns the first column of the list: go:golang.org/x/tools, npm:zod, deb:curl:amd64.
func (p Package) ID() string {
	if p.Kind == Deb {
		return string(p.Kind) + ":" + p.Name + ":" + p.Arch
	}
	return string(p.Kind) + ":" + p.Name
}

// Path returns the path of the archive in the cache, whether it exists or not.
func (p Package) Path(cache string) string {
	switch p.Kind {
	case Deb:
		file := p.Name + "_" + strings.ReplaceAll(p.Version, ":", "%3a") + "_" + p.Arch + ".deb"
		return filepath.Join(cache, "deb", file)
	case Npm:
		name := strings.ReplaceAll(strings.TrimPrefix(p.Name, "@"), "/", "-")
		return filepath.Join(cache, "npm", name+"-"+p.Version+".tgz")
	default:
		dir := filepath.Join(cache, "gomod", "cache", "download", filepath.FromSlash(escapeUpper(p.Name)))
		return filepath.Join(dir, "@v", escapeUpper(p.Version)+".zip")
	}
}

// escapeUpper escapes upper-case letters like the module cache, for file systems that ignore case.
func escapeUpper(path string) string {
	var b strings.Builder
	for _, r := range path {
		if unicode.IsUpper(r) {
			b.WriteByte('!')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Read parses a list: tab-separated ID, version, licence, SHA-256 and pairs. "-" means that a field
// is not known yet, and lines that start with # are comments. Read preserves the order.
func Read(list io.Reader) ([]Package, error) {
	var packages []Package
	seen := map[string]int{}
	lines := bufio.NewScanner(list)
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		p, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("list of packages, line %d: %w", number, err)
		}
		if first, ok := seen[p.ID()]; ok {
			return nil, fmt.Errorf("list of packages, line %d: %s is in line %d already", number, p.ID(), first)
		}
		seen[p.ID()] = number
		packages = append(packages, p)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read list of packages: %w", err)
	}
	return packages, nil
}

func parse(line string) (Package, error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 5 {
		return Package{}, fmt.Errorf("%d fields, want 5: kind:name, version, licence, SHA-256, pairs", len(fields))
	}
	for i, field := range fields {
		if field == "-" {
			fields[i] = ""
		}
	}
	p := Package{Version: fields[1], Licence: fields[2], SHA256: fields[3]}
	if err := p.setID(fields[0]); err != nil {
		return Package{}, err
	}
	if !plainName(p.Version) {
		return Package{}, fmt.Errorf("%s: version %q", p.ID(), p.Version)
	}
	if p.SHA256 != "" && !isSum(p.SHA256) {
		return Package{}, fmt.Errorf("%s: %q is not a SHA-256", p.ID(), p.SHA256)
	}
	if fields[4] == "" {
		return p, nil
	}
	pairs, err := strconv.Atoi(fields[4])
	if err != nil || pairs < 0 {
		return Package{}, fmt.Errorf("%s: pairs %q is not a count", p.ID(), fields[4])
	}
	p.Pairs = pairs
	return p, nil
}

func (p *Package) setID(id string) error {
	kind, name, _ := strings.Cut(id, ":")
	p.Kind, p.Name = Kind(kind), name
	switch p.Kind {
	case Npm, Go:
	case Deb:
		p.Name, p.Arch, _ = strings.Cut(name, ":")
		if p.Arch == "" {
			return fmt.Errorf("%q lacks an architecture, as in deb:curl:amd64", id)
		}
	default:
		return fmt.Errorf("%q has none of the kinds deb, npm and go", id)
	}
	if !plainName(p.Name) || !plainName("x"+p.Arch) {
		return fmt.Errorf("%q is not a package name", id)
	}
	return nil
}

// plainName rejects names and versions that are options of a client or paths out of the cache.
func plainName(name string) bool {
	if name == "" || name[0] == '-' || name[0] == '/' || strings.Contains(name, "..") {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("@/._-+~:", r)
	}) < 0
}

func isSum(sum string) bool {
	return len(sum) == 64 && strings.Trim(sum, "0123456789abcdef") == ""
}

// Write writes packages in the format that Read parses, below a comment.
func Write(list io.Writer, comment string, packages []Package) error {
	out := bufio.NewWriter(list)
	for line := range strings.Lines(comment) {
		_, _ = fmt.Fprintf(out, "# %s\n", strings.TrimRight(line, "\n"))
	}
	for _, p := range packages {
		pairs := strconv.Itoa(p.Pairs)
		if p.Pairs == 0 {
			pairs = "-"
		}
		_, _ = fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", p.ID(), p.Version, orDash(p.Licence), orDash(p.SHA256), pairs)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write list of packages: %w", err)
	}
	return nil
}

func orDash(field string) string {
	if field == "" {
		return "-"
	}
	return field
}
