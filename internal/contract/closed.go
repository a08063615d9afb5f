package contract

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"remit/internal/contract/jsontree"
)

// Closed makes a contract that knows its name, and what it says only as text, as
// Compact wrote it. A program that serves many tools starts without reading all
// that they promise. Open reads it, and so do Accept and Conform; until then every
// other field is empty.
func Closed(name string, text []byte) *Contract {
	return &Contract{Name: name, text: text, madeClosed: true}
}

// Opened makes the contract that Closed would make, and reads it at once.
func Opened(name string, text []byte) (*Contract, error) {
	c := &Contract{Name: name, text: text}
	return c, c.Open()
}

// MadeClosed tells whether Closed made the contract, so that it may have to be opened.
func (c *Contract) MadeClosed() bool { return c.madeClosed }

// Open reads what a closed contract says, the first time. It does not touch the
// name, which others may be reading. Any number of goroutines may open a contract.
func (c *Contract) Open() error {
	c.openOnce.Do(func() {
		if c.text == nil {
			return
		}
		if err := c.read(c.text); err != nil {
			c.openErr = fmt.Errorf("open contract %s: %w", c.Name, err)
		}
		c.text = nil
	})
	return c.openErr
}

func (c *Contract) read(text []byte) error {
	body, examples, found := bytes.Cut(text, []byte{'\t'})
	if !found {
		return errors.New("its text has no tab before the examples")
	}
	tree, err := jsontree.Parse(body)
	if err != nil {
		return err
	}
	if _, named := tree.Get("name"); named {
		return errors.New("its text has a name of its own")
	}
	if err := tree.Decode(c); err != nil {
		return err
	}
	c.Examples.text = examples
	return nil
}

// Compact writes what a contract says, all but its name, as one line for Closed:
// compact JSON, a tab, and the JSON of the examples, which are read last if at all.
func (c *Contract) Compact() ([]byte, error) {
	data, err := plainJSON(c)
	if err != nil {
		return nil, fmt.Errorf("write contract %s: %w", c.Name, err)
	}
	tree, err := jsontree.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read back contract %s: %w", c.Name, err)
	}
	examples := tree.Field("examples")
	tree.Members = slices.DeleteFunc(tree.Members, func(m jsontree.Member) bool { return m.Key == "name" || m.Key == "examples" })
	return examples.Append(append(tree.Append(nil), '\t')), nil
}
