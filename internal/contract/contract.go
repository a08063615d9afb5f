// Package contract defines what a tool promises to its callers. It parses, checks, explains,
// renders and compares contracts. It does not run tools.
package contract

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"remit/internal/contract/jsontree"
)

// Set is a family of tools that share an error shape, defaults and a version.
type Set struct {
	Name string `json:"name" yaml:"name"`
	// Another name of the set; see Prefix.
	Namespace   string `json:"namespace,omitempty" yaml:"namespace"`
	Title       string `json:"title" yaml:"title"`
	Description string `json:"description" yaml:"description"`
	// Sent to the client's model.
	Instructions string `json:"instructions,omitempty" yaml:"instructions"`
	Shape        Shape  `json:"shape" yaml:"shape"`
	// Served only if a caller names it, and not listed anywhere.
	Hidden    bool        `json:"hidden,omitempty" yaml:"hidden"`
	Contracts []*Contract `json:"contracts" yaml:"-"`
}

// Prefix returns what precedes the names of the set's tools if another served set has a tool of the
// same name: namespace_tool.
func (s *Set) Prefix() string {
	return cmp.Or(s.Namespace, strings.ReplaceAll(s.Name, "-", "_")) + "_"
}

// IsNamed reports whether the set has this name or namespace.
func (s *Set) IsNamed(name string) bool {
	return s.Name == name || s.Namespace != "" && s.Namespace == name
}

// Find returns the contract of a tool of the set, or nil.
func (s *Set) Find(name string) *Contract {
	if i := slices.IndexFunc(s.Contracts, func(c *Contract) bool { return c.Name == name }); i >= 0 {
		return s.Contracts[i]
	}
	return nil
}

// Contract holds everything that a caller of one tool may rely on.
type Contract struct {
	Name        string  `json:"name" yaml:"name"`
	Title       string  `json:"title" yaml:"title"`
	Version     Version `json:"version" yaml:"version"`
	Description string  `json:"description" yaml:"description"`
	// A call in one sentence, for the person who approves it, and what it changes, by which
	// requests are grouped. Both are templates with places for arguments; see template.
	Summary string `json:"summary,omitempty" yaml:"summary"`
	Target  string `json:"target,omitempty" yaml:"target"`
	Hints   Hints  `json:"hints" yaml:"hints"`
	Access  Access `json:"access" yaml:"access"`
	// The argument that names the owner of the data: the caller itself.
	Owner  string         `json:"owner,omitempty" yaml:"owner"`
	Input  jsontree.Value `json:"input" yaml:"input"`
	Output jsontree.Value `json:"output,omitzero" yaml:"output"`
	// The output's only list, sent without the object around it.
	Bare string `json:"bare,omitempty" yaml:"bare"`
	// Answers with content blocks; no output schema.
	Content  bool         `json:"content,omitempty" yaml:"content"`
	Task     TaskMode     `json:"task,omitempty" yaml:"task"`
	Rate     Rate         `json:"rate,omitzero" yaml:"rate"`
	Deadline Deadline     `json:"deadline" yaml:"deadline"`
	Size     Size         `json:"size" yaml:"size"`
	Paths    []PathPolicy `json:"paths,omitempty" yaml:"paths"`
	Approval Approval     `json:"approval,omitzero" yaml:"approval"`
	// Another tool of the set that can do the same: the operator's rules for it hold here too.
	StrictAs string             `json:"strictAs,omitempty" yaml:"strictAs"`
	Truncate Truncate           `json:"truncate,omitzero" yaml:"truncate"`
	Errors   map[Kind]ErrorRule `json:"errors" yaml:"errors"`
	Examples []Example          `json:"examples" yaml:"examples"`

	// Digest is the sha256 of the canonical contract. It identifies its exact text.
	Digest string `json:"digest" yaml:"-"`

	Set   string `json:"-" yaml:"-"` // the set's name
	Shape Shape  `json:"-" yaml:"-"` // the set's error shape

	hidden      bool // the set is hidden
	compileOnce sync.Once
	input       *schema
	output      *schema
	mirrors     []HeaderParam
	compileErr  error
}

// Hints are the four hints about behaviour that MCP clients show to people.
type Hints struct {
	ReadOnly    bool `json:"readOnly" yaml:"readOnly"`
	Destructive bool `json:"destructive" yaml:"destructive"`
	Idempotent  bool `json:"idempotent" yaml:"idempotent"`
	OpenWorld   bool `json:"openWorld" yaml:"openWorld"`
}

// Access says who may call the tool: anybody, or only identified callers.
type Access string

// The two kinds of access.
const (
	Public Access = "public"
	Caller Access = "caller"
)

// TaskMode says whether a client may run the tool in the background, as a task.
type TaskMode string

// The task modes. With the zero TaskMode the tool always answers in the call itself.
const (
	TaskOptional TaskMode = "optional" // as a task if the client supports tasks
	TaskRequired TaskMode = "required" // only as a task
)

// Deadline holds the expected duration of a call and the time after which it is cancelled.
type Deadline struct {
	Target Duration `json:"target" yaml:"target"`
	Max    Duration `json:"max" yaml:"max"`
	// With holds other durations, by the name of a boolean argument: they apply if it is true.
	With map[string]Durations `json:"with,omitempty" yaml:"with"`
}

// Durations are the two durations of a Deadline.
type Durations struct {
	Target Duration `json:"target" yaml:"target"`
	Max    Duration `json:"max" yaml:"max"`
}

// For returns the durations that apply to a call with these arguments.
func (d *Deadline) For(args *jsontree.Value) Durations {
	applies := Durations{d.Target, d.Max}
	for name, with := range d.With {
		if arg, ok := args.Get(name); ok && arg.True() && with.Max > applies.Max {
			applies = with
		}
	}
	return applies
}

// longest returns the longest time that a call may take.
func (d *Deadline) longest() Duration {
	longest := d.Max
	for _, with := range d.With {
		longest = max(longest, with.Max)
	}
	return longest
}

// atMost returns the deadline with every duration limited.
func (d *Deadline) atMost(limit Duration) Deadline {
	limited := Deadline{Target: min(d.Target, limit), Max: min(d.Max, limit)}
	for name, with := range d.With {
		if limited.With == nil {
			limited.With = map[string]Durations{}
		}
		limited.With[name] = Durations{min(with.Target, limit), min(with.Max, limit)}
	}
	return limited
}

// Size limits what a caller may send: the arguments as a whole, and single arguments by name. A
// string counts its UTF-8 bytes, any other value the bytes of its JSON as sent.
type Size struct {
	Request Bytes            `json:"request" yaml:"request"`
	Args    map[string]Bytes `json:"args,omitempty" yaml:"args"`
}

// Approval says whether a person must approve a call before the tool runs, and how long a request
// for approval, and then its answer, stays valid.
type Approval struct {
	Required bool     `json:"required,omitempty" yaml:"required"`
	Window   Duration `json:"window,omitempty" yaml:"window"`
	// Each means that a person decides about every single call: no standing permission lets one
	// pass.
	Each bool `json:"each,omitempty" yaml:"each"`
}

// Example is a documented call. Tests replay it on every front end.
type Example struct {
	Title string `json:"title" yaml:"title"`
	// Files in the workspace, by path.
	Given map[string]string `json:"given,omitempty" yaml:"given"`
	// Calls that the same caller makes first.
	Before    []Step         `json:"before,omitempty" yaml:"before"`
	Approve   string         `json:"approve,omitempty" yaml:"approve"`
	Arguments jsontree.Value `json:"arguments" yaml:"arguments"`
	Result    jsontree.Value `json:"result,omitzero" yaml:"result"`
	Error     jsontree.Value `json:"error,omitzero" yaml:"error"`
	// Fields that differ from run to run: id, data.list[].id.
	Varies []string `json:"varies,omitempty" yaml:"varies"`
}

// Step is a call of another tool of the set that prepares the data an example needs.
type Step struct {
	Tool      string         `json:"tool" yaml:"tool"`
	Arguments jsontree.Value `json:"arguments" yaml:"arguments"`
}

// seal computes the digest over all other fields of the contract.
func (c *Contract) seal() error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode contract %s: %w", c.Name, err)
	}
	tree, err := jsontree.ParseTrusted(data)
	if err != nil {
		return fmt.Errorf("read back contract %s: %w", c.Name, err)
	}
	tree.Members = slices.DeleteFunc(tree.Members, func(m jsontree.Member) bool { return m.Key == "digest" })
	tree.Members = append(tree.Members, jsontree.M("set", jsontree.Str(c.Set)), jsontree.M("shape", jsontree.Str(string(c.Shape))))
	sum := sha256.Sum256(tree.Canonical())
	c.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return nil
}

// Renamed returns the same contract, with the same digest, under another name of the tool.
func (c *Contract) Renamed(name string) *Contract {
	renamed := &Contract{hidden: c.hidden}
	from, to := reflect.ValueOf(c).Elem(), reflect.ValueOf(renamed).Elem()
	for i := range from.NumField() {
		if to.Field(i).CanSet() {
			to.Field(i).Set(from.Field(i))
		}
	}
	renamed.Name = name
	return renamed
}

// PathPolicy returns the path policy of an argument, or nil if it has none.
func (c *Contract) PathPolicy(arg string) *PathPolicy {
	for i := range c.Paths {
		if c.Paths[i].Arg == arg {
			return &c.Paths[i]
		}
	}
	return nil
}

// compile compiles both schemas when a call first needs them.
func (c *Contract) compile() error {
	c.compileOnce.Do(func() {
		if c.compileErr = c.compileSchemas(); c.compileErr != nil {
			c.compileErr = fmt.Errorf("compile contract %s/%s: %w", c.Set, c.Name, c.compileErr)
		}
	})
	return c.compileErr
}

func (c *Contract) compileSchemas() (err error) {
	if c.input, err = compileSchema(&c.Input); err != nil {
		return err
	}
	c.mirrors = c.input.mirrors(nil)
	if c.Content {
		c.output = blocks()
		return nil
	}
	c.output, err = compileSchema(&c.Output)
	return err
}

// blocks returns the output schema of every tool that answers with content: a list of objects, each
// with its type.
func blocks() *schema {
	kind, block, list, answer := newSchema(), newSchema(), newSchema(), newSchema()
	kind.types = []string{"string"}
	block.types, block.props, block.required = []string{"object"}, []property{{"type", kind}}, []string{"type"}
	list.types, list.items = []string{"array"}, block
	answer.types, answer.props, answer.required = []string{"object"}, []property{{"content", list}}, []string{"content"}
	return answer
}

// PathPolicy says which paths an argument may name. Patterns are globs over slash-separated paths
// relative to the workspace root.
type PathPolicy struct {
	Arg   string   `json:"arg" yaml:"arg"`
	Allow []string `json:"allow,omitempty" yaml:"allow"` // empty means every path
	Deny  []string `json:"deny,omitempty" yaml:"deny"`
	Max   Bytes    `json:"max,omitempty" yaml:"max"` // maximum size of the file; 0 means no limit

	// Holds under every policy; nil has only the built-in rules.
	Secrets *SecretPolicy `json:"-" yaml:"-"`
}

// Allows reports whether the clean path matches an allow pattern.
func (p *PathPolicy) Allows(clean string) bool {
	return len(p.Allow) == 0 || matchesAny(p.Allow, clean)
}

// Denies reports whether a rule denies the clean path of a file.
func (p *PathPolicy) Denies(clean string) bool { return p.Rule(clean, false) != "" }

// Rule returns the rule that denies a clean path: a deny pattern that the path or a folder above it
// matches, or a rule of the secret policy. It returns "" if there is none. It ignores letter case,
// because many file systems do. folder says that the path is that of a folder.
func (p *PathPolicy) Rule(clean string, folder bool) string {
	if i := deniedBy(p.Deny, fold(clean)); i >= 0 {
		return p.Deny[i]
	}
	return p.Secrets.Rule(clean, folder)
}

// deniedBy returns the index of the pattern that a path in lower case, or a folder above it,
// matches, or -1.
func deniedBy(patterns []string, lower string) int {
	return slices.IndexFunc(patterns, func(pattern string) bool {
		for at := lower; at != ""; at = at[:max(strings.LastIndexByte(at, '/'), 0)] {
			if doublestar.MatchUnvalidated(pattern, at) {
				return true
			}
		}
		return false
	})
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, name) })
}
