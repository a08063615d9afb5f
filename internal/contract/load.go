package contract

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"remit/internal/contract/jsontree"
)

// setFile holds what the contracts of one folder share.
const setFile = "_set.yaml"

// setDocument is _set.yaml: the set, and the defaults of its contracts.
type setDocument struct {
	Set      `yaml:",inline"`
	Order    []string `yaml:"order"` // tools that are listed before the others
	Defaults struct {
		Version  Version            `yaml:"version"`
		Access   Access             `yaml:"access"`
		Owner    string             `yaml:"owner"`
		Deadline Deadline           `yaml:"deadline"`
		Size     Size               `yaml:"size"`
		Errors   map[Kind]ErrorRule `yaml:"errors"`
	} `yaml:"defaults"`
}

// LoadAll reads all sets in a tree: one for each folder that holds a _set.yaml.
func LoadAll(tree fs.FS) ([]*Set, error) {
	var sets []*Set
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Base(name) != setFile {
			return err
		}
		set, err := Load(tree, path.Dir(name))
		if err != nil {
			return err
		}
		sets = append(sets, set)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(sets, func(a, b *Set) int { return strings.Compare(a.Name, b.Name) })
	return sets, nil
}

// Load reads the set in one folder: _set.yaml and one file for each tool.
func Load(tree fs.FS, dir string) (*Set, error) {
	var doc setDocument
	if err := readYAML(tree, path.Join(dir, setFile), &doc); err != nil {
		return nil, err
	}
	files, err := fs.Glob(tree, path.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list contracts: %w", err)
	}
	set := doc.Set
	for _, file := range files {
		if path.Base(file) == setFile {
			continue
		}
		c, err := doc.contract(tree, file)
		if err != nil {
			return nil, err
		}
		set.Contracts = append(set.Contracts, c)
	}
	if err := set.sort(doc.Order); err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(dir, setFile), err)
	}
	return &set, nil
}

// sort moves the tools named in first to the front. The others keep their order.
func (s *Set) sort(first []string) error {
	rest := s.Contracts
	s.Contracts = nil
	for _, name := range first {
		i := slices.IndexFunc(rest, func(c *Contract) bool { return c.Name == name })
		if i < 0 {
			return fmt.Errorf("order: %q is not a tool of the set, or is listed twice", name)
		}
		s.Contracts = append(s.Contracts, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	s.Contracts = append(s.Contracts, rest...)
	return nil
}

// LoadFile reads one contract with the defaults of the _set.yaml beside it.
func LoadFile(tree fs.FS, file string) (*Contract, error) {
	var doc setDocument
	err := readYAML(tree, path.Join(path.Dir(file), setFile), &doc)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return doc.contract(tree, file)
}

func (doc *setDocument) contract(tree fs.FS, file string) (*Contract, error) {
	c := &Contract{
		Version: doc.Defaults.Version, Access: doc.Defaults.Access, Owner: doc.Defaults.Owner,
		Deadline: doc.Defaults.Deadline, Size: doc.Defaults.Size,
	}
	if err := readYAML(tree, file, c); err != nil {
		return nil, err
	}
	errorRules := maps.Clone(doc.Defaults.Errors)
	if errorRules == nil {
		errorRules = map[Kind]ErrorRule{}
	}
	maps.Copy(errorRules, c.Errors)
	c.Errors = errorRules
	c.adopt(&doc.Set)
	if c.wraps() && c.Output.Kind != jsontree.Null {
		c.Output = enveloped(c.Output)
	}
	return c, c.seal()
}

// adopt copies into the contract what it takes from its set.
func (c *Contract) adopt(s *Set) {
	c.Set, c.Shape, c.hidden = s.Name, s.Shape, s.Hidden
}

// Adopt sets in every contract the fields that come from the set. Call it after decoding a set.
func (s *Set) Adopt() {
	for _, c := range s.Contracts {
		c.adopt(s)
	}
}

func readYAML(tree fs.FS, name string, into any) error {
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		return fmt.Errorf("read contract: %w", err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %s", name, yaml.FormatError(err, false, false))
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: there is a second document after ---; a contract file has exactly one", name)
	}
	return nil
}

// The drafts contain the placeholders NAME, TITLE and METHOD.
var (
	//go:embed drafts/tool.yaml
	draftTool string
	//go:embed drafts/set.yaml
	draftSet string
	//go:embed drafts/handler.txt
	draftHandler string
)

// Draft returns the first version of a contract file, with every required key. It passes Lint
// without a change.
func Draft(name string) ([]byte, error) {
	if !toolName().MatchString(name) {
		return nil, fmt.Errorf("a tool's name must match %s, not %q", toolName(), name)
	}
	title := strings.ReplaceAll(name, "_", " ")
	return draft(draftTool, name, strings.ToUpper(title[:1])+title[1:]), nil
}

// DraftSet returns the first version of a _set.yaml.
func DraftSet(name string) []byte { return draft(draftSet, name, name) }

func draft(text, name, title string) []byte {
	return []byte(strings.NewReplacer("NAME", scalar(name), "TITLE", scalar(title)).Replace(text))
}

// scalar writes text as a YAML string. It adds quotes where YAML needs them, as for null and "a:
// b".
func scalar(text string) string {
	quoted, err := yaml.Marshal(text)
	if err != nil {
		return strconv.Quote(text)
	}
	return strings.TrimSpace(string(quoted))
}

// DraftHandler returns the Go code of a handler for the contract that Draft returns.
func DraftHandler(name string) string {
	method := ""
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			method += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.NewReplacer("NAME", name, "METHOD", method).Replace(draftHandler)
}
