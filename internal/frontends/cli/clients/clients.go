// Package clients adds Remit to the configuration files of MCP clients and removes it again. It has
// a table of the clients with the place and format of their files. It starts no client.
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

// Server is the entry of Remit in a client: a command that the client starts, or the URL of a
// running server.
type Server struct {
	Name     string   // name of the server in the client
	Command  string   // absolute path of the program
	Args     []string // arguments of the command
	URL      string   // instead of a command
	TokenEnv string   // environment variable with the bearer token for the URL; "" for none
	Token    string   // the token itself, for clients that do not read environment variables
}

// Client is a program that talks to MCP servers.
type Client struct {
	Name  string   // name on the command line
	Title string   // product name
	Notes []string // advice for the user, in sentences

	// NeedsRoot means that the client starts servers in no folder of its own, so that an entry must
	// name the workspace.
	NeedsRoot bool

	file        func(System) string // path of its configuration file
	project     []string            // path of its file in a project; nil if it has none
	projectNote string              // advice for that file
	inProject   bool                // this is the client with the file of a project
	in          format
	stdio, http string // its values for "type"; "" if it has no such field
	address     string // its field for a URL; "" if it supports none
	token       string // its syntax for a variable in a header, with %s for the name
	// command returns the client's own command line that adds a server, and links returns links
	// that open the client to add it. Each is nil if the client has none.
	command func(c *Client, s Server, entry []field) []string
	links   func(s Server, entry []field) []Link
	// literal means that the client does not read environment variables, so that the token itself
	// must be in its file.
	literal bool
}

// Link is a link that opens a client, which then asks whether to add the server.
type Link struct {
	Title string
	URL   string
	Web   bool // a web page that redirects to the client, for sites that allow only web links
}

// field is a field of an entry. Its value is a string, []string or []field.
type field struct {
	key   string
	value any
}

// All returns the clients in the order in which they are listed.
func All() []*Client { return known }

// Names returns the names of all clients.
func Names() []string {
	var names []string
	for _, c := range All() {
		names = append(names, c.Name)
	}
	return names
}

// Find returns the client with a name, or nil if there is none.
func Find(name string) *Client {
	if i := slices.IndexFunc(known, func(c *Client) bool { return c.Name == name }); i >= 0 {
		return known[i]
	}
	return nil
}

// InProject returns the client with its file in a project, or nil if it reads none there.
func (c *Client) InProject() *Client {
	if c.project == nil {
		return nil
	}
	own := *c
	own.inProject, own.Notes, own.links = true, []string{c.projectNote}, nil
	own.file = func(s System) string { return s.join(append([]string{s.Project}, c.project...)...) }
	return &own
}

// IsInProject reports whether the file of the client is that of a project.
func (c *Client) IsInProject() bool { return c.inProject }

// Scope returns who the file is for: project or user, as the commands of clients call it.
func (c *Client) Scope() string {
	if c.inProject {
		return "project"
	}
	return "user"
}

// NeedsToken reports whether the token itself must be written to the file of the client.
func (c *Client) NeedsToken(s Server) bool { return c.literal && s.TokenEnv != "" }

// Language returns the language of the file: json or toml.
func (c *Client) Language() string { return c.in.language() }

// Snippet returns the text of a file that contains only the server.
func (c *Client) Snippet(s Server) (string, error) {
	text, err := c.put(nil, s)
	return string(text), err
}

// put returns the text of a file with the server added or updated.
func (c *Client) put(text []byte, s Server) ([]byte, error) {
	if err := checkName(s.Name); err != nil {
		return nil, err
	}
	for _, text := range append([]string{s.Command, s.URL, s.Token}, s.Args...) {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			return nil, fmt.Errorf("%q contains control or invalid characters, which the file of %s cannot hold; move "+
				"the program or the folder to another path",
				text, c.Title)
		}
	}
	fields, err := c.entry(s)
	if err != nil {
		return nil, err
	}
	_, entry, err := c.in.get(text, s.Name)
	if err != nil {
		return nil, err
	}
	if entry.sameKind(s) {
		return c.in.update(text, s.Name, fields)
	}
	return c.in.set(text, s.Name, func(st style) []byte { return c.in.render(s.Name, fields, st) })
}

// Command returns the client's own command line that adds the server, or "" if it has none.
func (c *Client) Command(s Server) string {
	entry, err := c.entry(s)
	if err != nil || c.command == nil {
		return ""
	}
	return contract.ShellLine(c.command(c, s, entry)...)
}

// Links returns links that open the client to add the server. It returns nil if the client supports
// none.
func (c *Client) Links(s Server) []Link {
	entry, err := c.entry(s)
	if err != nil || c.links == nil {
		return nil
	}
	return c.links(s, entry)
}

// checkName rejects names that some client does not accept or that need quotes in a file.
func checkName(name string) error {
	if !regexp.MustCompile(`^[\w-]{1,64}$`).MatchString(name) {
		return fmt.Errorf("the server name %q is not valid in every client; use up to 64 letters, digits, - and _", name)
	}
	return nil
}

// bearer returns the Authorization header with the token, or with a reference to a variable.
func bearer(reference string) []field {
	return []field{{"Authorization", "Bearer " + reference}}
}

// entry returns the fields of the server in the file of the client.
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

// errNoHTTP is returned for a server with a URL in the file of Claude Desktop, the only client
// whose file does not support that.
var errNoHTTP = errors.New("the file of Claude Desktop supports only servers that it starts itself; leave out --url, or add " +
	"the URL in its settings under Connectors")
