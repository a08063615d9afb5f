// Package clients knows where each client keeps its MCP servers, and what it must be told.
package clients

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"remit/internal/contract"
)

//go:generate go -C ../../../../tools/generate run . clients

// Server is Remit as a client should know it: a command that the client starts, or
// the address of one that runs already.
type Server struct {
	Name     string   // what the client lists it as
	Command  string   // the whole path of the program
	Args     []string // of the command
	URL      string   // in place of a command
	TokenEnv string   // the variable that holds the bearer token of the URL; "" for none
	Token    string   // what it holds: for clients that look at no variables
}

// Client is a program that talks to MCP servers.
type Client struct {
	Name  string   // as people type it
	Title string   // as its makers call it
	Notes []string // what a person should know, in sentences

	file        func(System) string // where its servers are
	in          format
	stdio, http string // what it calls the two kinds of servers; "" if it does not name them
	address     string // the field of an address; "" if it takes none
	token       string // how it names a variable in a header, with %s for the variable
	// command is its own command line that adds a server with an entry, and links open it and have it ask; nil if it has none.
	command func(s Server, entry []field) []string
	links   func(s Server, entry []field) []Link
	// literal: it looks at no variables, so a token must stand in its file.
	literal bool
}

// Link opens a client, which then asks whether it should add the server.
type Link struct {
	Title string
	URL   string
	Web   bool // a web page that leads on, for pages that allow no other links
}

// field is a part of an entry: text, []string or []field.
type field struct {
	key   string
	value any
}

// All are the clients, in the order in which people are told of them.
func All() []*Client { return known }

// Names are what people type.
func Names() []string {
	var names []string
	for _, c := range All() {
		names = append(names, c.Name)
	}
	return names
}

// Find gives the client of a name; nil if there is none.
func Find(name string) *Client {
	if i := slices.IndexFunc(known, func(c *Client) bool { return c.Name == name }); i >= 0 {
		return known[i]
	}
	return nil
}

// NeedsToken tells whether the token of a server has to be written down in the file.
func (c *Client) NeedsToken(s Server) bool { return c.literal && s.TokenEnv != "" }

// Language is that of its file: json or toml.
func (c *Client) Language() string { return c.in.language() }

// Snippet is a whole file that holds nothing but the server.
func (c *Client) Snippet(s Server) (string, error) {
	text, err := c.put(nil, s)
	return string(text), err
}

// put gives the text of its file with the server in it.
func (c *Client) put(text []byte, s Server) ([]byte, error) {
	if err := checkName(s.Name); err != nil {
		return nil, err
	}
	for _, text := range append([]string{s.Command, s.URL, s.Token}, s.Args...) {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			return nil, fmt.Errorf("%q has characters that the file of %s cannot hold; move the program or the folder to a plainer path", text, c.Title)
		}
	}
	fields, err := c.entry(s)
	if err != nil {
		return nil, err
	}
	_, said, err := c.in.get(text, s.Name)
	if err != nil {
		return nil, err
	}
	if said.reaches(s) {
		return c.in.mend(text, s.Name, fields)
	}
	return c.in.set(text, s.Name, func(st style) []byte { return c.in.render(s.Name, fields, st) })
}

// Command is the command line of the client's own that adds the server; "" if it has
// none.
func (c *Client) Command(s Server) string {
	entry, err := c.entry(s)
	if err != nil || c.command == nil {
		return ""
	}
	return contract.ShellLine(c.command(s, entry)...)
}

// Links open the client and have it ask; none if it knows no such links.
func (c *Client) Links(s Server) []Link {
	entry, err := c.entry(s)
	if err != nil || c.links == nil {
		return nil
	}
	return c.links(s, entry)
}

// checkName refuses what a client would not take, or would have to be quoted.
func checkName(name string) error {
	if !regexp.MustCompile(`^[\w-]{1,64}$`).MatchString(name) {
		return fmt.Errorf("the name %q is none that every client takes; use up to 64 letters, digits, - and _", name)
	}
	return nil
}

// bearer is the header that carries the token, by way of a variable.
func bearer(reference string) []field {
	return []field{{"Authorization", "Bearer " + reference}}
}

// entry is what stands in its file of a server.
func (c *Client) entry(s Server) ([]field, error) {
	kind, fields := c.stdio, []field{{"command", s.Command}, {"args", s.Args}}
	if s.URL != "" {
		if c.address == "" {
			return nil, errNoHTTP
		}
		kind, fields = c.http, []field{{c.address, s.URL}}
	}
	if kind != "" {
		fields = slices.Insert(fields, 0, field{"type", kind})
	}
	_, isTOML := c.in.(tomlFile)
	switch {
	case s.URL == "" || s.TokenEnv == "":
	case isTOML:
		fields = append(fields, field{"bearer_token_env_var", s.TokenEnv})
	case c.literal:
		fields = append(fields, field{"headers", bearer(s.Token)})
	default:
		fields = append(fields, field{"headers", bearer(fmt.Sprintf(c.token, s.TokenEnv))})
	}
	return fields, nil
}

// errNoHTTP is what Claude Desktop gets for an address.
var errNoHTTP = errors.New("the file of Claude Desktop takes only servers that it starts itself; leave --url out, or add the address in its settings under Connectors")
