// Package contract holds what a tool promises to its callers: it parses, checks,
// explains, renders and compares those promises, and runs nothing.
package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"remit/internal/contract/jsontree"
)

// Set is a family of tools that share an error shape, defaults and a version.
type Set struct {
	Name         string      `json:"name" yaml:"name"`
	Title        string      `json:"title" yaml:"title"`
	Description  string      `json:"description" yaml:"description"`
	Instructions string      `json:"instructions,omitempty" yaml:"instructions"` // what a client's model is told of the set
	Shape        Shape       `json:"shape" yaml:"shape"`
	Hidden       bool        `json:"hidden,omitempty" yaml:"hidden"` // served when named, and mentioned nowhere else
	Contracts    []*Contract `json:"contracts" yaml:"-"`
}

// Find returns the contract of a tool of the set, or nil.
func (s *Set) Find(name string) *Contract {
	if i := slices.IndexFunc(s.Contracts, func(c *Contract) bool { return c.Name == name }); i >= 0 {
		return s.Contracts[i]
	}
	return nil
}

// Contract is everything a caller may rely on when calling one tool.
type Contract struct {
	Name        string             `json:"name" yaml:"name"`
	Title       string             `json:"title" yaml:"title"`
	Version     Version            `json:"version" yaml:"version"`
	Description string             `json:"description" yaml:"description"`
	Hints       Hints              `json:"hints" yaml:"hints"`
	Access      Access             `json:"access" yaml:"access"`
	Owner       string             `json:"owner,omitempty" yaml:"owner"` // the argument that names the user whose data it is: callers reach their own
	Input       jsontree.Value     `json:"input" yaml:"input"`
	Output      jsontree.Value     `json:"output,omitzero" yaml:"output"`
	Bare        string             `json:"bare,omitempty" yaml:"bare"`       // the one list of the output, which everything but structuredContent holds without an object around it
	Content     bool               `json:"content,omitempty" yaml:"content"` // answers with content blocks and publishes no output schema
	Task        TaskMode           `json:"task,omitempty" yaml:"task"`
	Rate        Rate               `json:"rate,omitzero" yaml:"rate"`
	Deadline    Deadline           `json:"deadline" yaml:"deadline"`
	Size        Size               `json:"size" yaml:"size"`
	Paths       []PathPolicy       `json:"paths,omitempty" yaml:"paths"`
	Approval    Approval           `json:"approval,omitzero" yaml:"approval"`
	Truncate    Truncate           `json:"truncate,omitzero" yaml:"truncate"`
	Errors      map[Kind]ErrorRule `json:"errors" yaml:"errors"`
	Examples    []Example          `json:"examples" yaml:"examples"`

	// Digest identifies the exact text: sha256 of the canonical contract.
	Digest string `json:"digest" yaml:"-"`

	Set   string `json:"-" yaml:"-"` // the set's name
	Shape Shape  `json:"-" yaml:"-"` // the set's error shape

	hidden      bool // the set is
	compileOnce sync.Once
	input       *schema
	output      *schema
	mirrors     []Mirror
	compileErr  error
}

// Hints are the four promises of behaviour that MCP clients show to people.
type Hints struct {
	ReadOnly    bool `json:"readOnly" yaml:"readOnly"`
	Destructive bool `json:"destructive" yaml:"destructive"`
	Idempotent  bool `json:"idempotent" yaml:"idempotent"`
	OpenWorld   bool `json:"openWorld" yaml:"openWorld"`
}

// Access says who may call: anybody, or callers that identity has named.
type Access string

// The two kinds of access.
const (
	Public Access = "public"
	Caller Access = "caller"
)

// TaskMode says whether a client may run the tool in the background, as a task.
type TaskMode string

// The modes. The zero TaskMode answers in the call itself, always.
const (
	TaskOptional TaskMode = "optional" // as a task for clients that know tasks
	TaskRequired TaskMode = "required" // as a task, and never otherwise
)

// Deadline says how long a call should take and when it is given up.
type Deadline struct {
	Target Duration `json:"target" yaml:"target"`
	Max    Duration `json:"max" yaml:"max"`
}

// Size bounds what a caller may send: the whole of the arguments, and single
// arguments by name (a string by its UTF-8 bytes, anything else by its JSON as sent).
type Size struct {
	Request Bytes            `json:"request" yaml:"request"`
	Args    map[string]Bytes `json:"args,omitempty" yaml:"args"`
}

// Approval says whether a person has to agree before the tool runs, and for how
// long a question, and then its answer, stays valid.
type Approval struct {
	Required bool     `json:"required,omitempty" yaml:"required"`
	Window   Duration `json:"window,omitempty" yaml:"window"`
}

// Example is a documented call. It is replayed as a test on every face.
type Example struct {
	Title     string            `json:"title" yaml:"title"`
	Given     map[string]string `json:"given,omitempty" yaml:"given"`   // files of the workspace, by path
	Before    []Step            `json:"before,omitempty" yaml:"before"` // calls that the same caller makes first
	Approve   string            `json:"approve,omitempty" yaml:"approve"`
	Arguments jsontree.Value    `json:"arguments" yaml:"arguments"`
	Result    jsontree.Value    `json:"result,omitzero" yaml:"result"`
	Error     jsontree.Value    `json:"error,omitzero" yaml:"error"`
	Varies    []string          `json:"varies,omitempty" yaml:"varies"` // what differs from run to run: id, data.id, data.list[].id
}

// Step is a call of another tool of the set, without which an example would have
// nothing to work on.
type Step struct {
	Tool      string         `json:"tool" yaml:"tool"`
	Arguments jsontree.Value `json:"arguments" yaml:"arguments"`
}

// seal computes the digest over everything else that the contract says.
func (c *Contract) seal() error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode contract %s: %w", c.Name, err)
	}
	tree, err := jsontree.Parse(data)
	if err != nil {
		return fmt.Errorf("read back contract %s: %w", c.Name, err)
	}
	tree.Members = slices.DeleteFunc(tree.Members, func(m jsontree.Member) bool { return m.Key == "digest" })
	tree.Members = append(tree.Members, jsontree.M("set", jsontree.Str(c.Set)), jsontree.M("shape", jsontree.Str(string(c.Shape))))
	sum := sha256.Sum256(tree.Canonical())
	c.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return nil
}

// PathPolicy returns the policy of an argument, or nil.
func (c *Contract) PathPolicy(arg string) *PathPolicy {
	for i := range c.Paths {
		if c.Paths[i].Arg == arg {
			return &c.Paths[i]
		}
	}
	return nil
}

// compile prepares both schemas, the first time a call needs them.
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

// blocks is what every tool that answers with content promises: a list of objects
// that say of which type they are.
func blocks() *schema {
	kind, block, list, answer := newSchema(), newSchema(), newSchema(), newSchema()
	kind.types = []string{"string"}
	block.types, block.props, block.required = []string{"object"}, []property{{"type", kind}}, []string{"type"}
	list.types, list.items = []string{"array"}, block
	answer.types, answer.props, answer.required = []string{"object"}, []property{{"content", list}}, []string{"content"}
	return answer
}

// PathPolicy says which paths one argument may name. Patterns are globs over
// slash-separated paths beneath the workspace root.
type PathPolicy struct {
	Arg   string   `json:"arg" yaml:"arg"`
	Allow []string `json:"allow,omitempty" yaml:"allow"` // none means every path
	Deny  []string `json:"deny,omitempty" yaml:"deny"`
	Max   Bytes    `json:"max,omitempty" yaml:"max"` // size of the file, 0 means no limit
}

// Allows tells whether the clean path matches an allow pattern.
func (p *PathPolicy) Allows(clean string) bool {
	return len(p.Allow) == 0 || matchesAny(p.Allow, clean)
}

// Denies tells whether the clean path, or a folder above it, matches a deny
// pattern. Letter case does not count, because on many disks it does not.
func (p *PathPolicy) Denies(clean string) bool {
	lower := strings.ToLower(clean)
	for at := lower; at != ""; at = at[:max(strings.LastIndexByte(at, '/'), 0)] {
		if matchesAny(p.Deny, at) {
			return true
		}
	}
	return false
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, name) })
}
