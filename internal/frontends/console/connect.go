package console

import (
	"html/template"
	"net/url"
	"slices"
	"strings"

	"remit/internal/engine"
	"remit/internal/engine/identity"
)

// connectPage is what the page shows.
type connectPage struct {
	Base     string
	Identity string
	Clients  []Client
	MCP      string
	Curl     string
	Shell    string
	Admin    bool
	Token    bool // clients have to send one
}

func (v *visit) connect() error {
	page := connectPage{
		Base: v.base(), MCP: v.base() + "/mcp", Identity: v.Identity(), Clients: v.Clients(v.base()),
		Admin: v.person.Role >= identity.Admin, Token: v.TokensNeeded(),
	}
	if tool := v.simplestTool(); tool != nil {
		shown := v.snippetsOf(tool)
		page.Curl, page.Shell = shown.Curl, "remit tools\n"+shown.CLI
	}
	return v.page("connect", "connect", "Connect", page)
}

// simplestTool is one that shows how to call any other; nil if none is served.
func (c *Console) simplestTool() *engine.Tool {
	tools := c.Engine.Tools()
	if len(tools) == 0 {
		return nil
	}
	return tools[max(0, slices.IndexFunc(tools, func(t *engine.Tool) bool { return t.Name == "hello" }))]
}

// base is where people reach the server, without a slash at the end.
func (c *Console) base() string { return strings.TrimSuffix(c.Base(), "/") }

// clientLink lets links through that open a client. They are made by us; to name what
// they may begin with keeps it so.
func clientLink(link string) template.URL {
	u, err := url.Parse(link)
	if err != nil || !slices.Contains([]string{"https", "cursor", "vscode", "vscode-insiders", "windsurf", "zed", "claude"}, u.Scheme) {
		return ""
	}
	return template.URL(link) //nolint:gosec // its scheme is one of those above, and none of them runs here
}
