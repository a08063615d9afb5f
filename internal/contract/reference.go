package contract

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"remit/internal/contract/jsontree"
)

// dialect2020 is the only version of JSON Schema that a contract may name: it is
// the one that is kept.
const dialect2020 = "https://json-schema.org/draft/2020-12/schema"

// Names that need no escape in a reference, compiled on first use.
var (
	plainName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]+$`) })
	anchorName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`) })
)

// reference is a $ref whose end has yet to be found.
type reference struct {
	from *schema
	to   string
	at   string
}

func (c *compiler) dialect(s *schema, v *jsontree.Value) error {
	if err := c.isRoot(s); err != nil {
		return err
	}
	if v.Text != dialect2020 {
		return fmt.Errorf("want %s, not %s", dialect2020, orNothing(v))
	}
	return nil
}

// definitions stand at the root alone, so that one form of reference names them.
func (c *compiler) definitions(s *schema, v *jsontree.Value) error {
	if err := c.isRoot(s); err != nil {
		return err
	}
	if v.Kind != jsontree.Object {
		return fmt.Errorf("want an object, not %s", v.Kind)
	}
	for i := range v.Members {
		name := v.Members[i].Key
		if !plainName().MatchString(name) {
			return fmt.Errorf("the name %q must match %s", name, plainName())
		}
		definition, err := c.compile(&v.Members[i].Value, name, nil)
		if err != nil {
			return err
		}
		if err := c.name(definition, "#/$defs/"+name); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) isRoot(s *schema) error {
	if s != c.root {
		return fmt.Errorf("only the root of a schema can have it")
	}
	return nil
}

func (c *compiler) anchor(s *schema, v *jsontree.Value) error {
	if v.Kind != jsontree.String || !anchorName().MatchString(v.Text) {
		return fmt.Errorf("%s must match %s", orNothing(v), anchorName())
	}
	return c.name(s, "#"+v.Text)
}

func (c *compiler) name(s *schema, name string) error {
	if c.named[name] != nil {
		return fmt.Errorf("%s is there twice", name)
	}
	if c.named == nil {
		c.named = map[string]*schema{}
	}
	c.named[name] = s
	return nil
}

func (c *compiler) reference(s *schema, v *jsontree.Value, at string) error {
	if err := isText(v); err != nil {
		return err
	}
	c.refs = append(c.refs, reference{s, v.Text, at})
	return nil
}

// join leads every reference to its end. What a schema refers to has to hold, just
// as if it stood in its allOf.
func (c *compiler) join() error {
	for _, r := range c.refs {
		target := c.named[r.to]
		if target == nil {
			return fmt.Errorf("%s: $ref: nothing is at %q; want #/$defs/NAME or #ANCHOR", orRoot(r.at), r.to)
		}
		r.from.all = append(r.from.all, target)
	}
	seen := visits{}
	for _, r := range c.refs {
		if seen.findCircle(r.from) {
			return fmt.Errorf("%s: $ref: %q leads back here for the same value, so nothing could ever be told of it", orRoot(r.at), r.to)
		}
	}
	return nil
}

// visits are the schemas that were looked at; true while their parts are.
type visits map[*schema]bool

// findCircle finds a schema that judges a value by judging the same value. One that
// comes back to itself further down in a value is fine: values end.
func (v visits) findCircle(s *schema) bool {
	if open, known := v[s]; known {
		return open
	}
	v[s] = true
	v[s] = slices.ContainsFunc(s.parts(), v.findCircle)
	return v[s]
}
