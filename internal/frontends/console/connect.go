package console

import (
	"html/template"
	"net/url"
	"slices"
	"strings"

	"remit/internal/engine"
	"remit/internal/engine/identity"
)

// connectPage is the data of the connect page.
type connectPage struct {
	Base     string
	Identity string
	Clients  []Client
	MCP      string
	Curl     string
	Shell    string
	Admin    bool
	Token    bool // clients must send a token
}

func (v *visit) connect() error {
	page := connectPage{
		Base: v.base(), MCP: v.base() + "/mcp", Identity: v.Identity(), Clients: v.Clients(v.base()),
		Admin: v.person.Role >= identity.Admin, Token: v.TokensRequired(),
	}
	if tool := v.simplestTool(); tool != nil {
		shown := v.snippetsOf(tool)
		page.Curl, page.Shell = shown.Curl, "remit tools\n"+shown.CLI
	}
	return v.page("connect", "connect", "Connect", page)
}

// simplestTool returns a tool that shows how to call any other, or nil if none is served.
func (c *Console) simplestTool() *engine.Tool {
	tools := c.Engine.Tools()
	if len(tools) == 0 {
		return nil
	}
	return tools[max(0, slices.IndexFunc(tools, func(t *engine.Tool) bool { return t.Name == "hello" }))]
}

// base returns the URL of the server without a trailing slash.
func (c *Console) base() string { return strings.TrimSuffix(c.Base(), "/") }

// clientLink marks a link that opens a client as safe for html/template. We build these links
// ourselves; the check of the scheme makes sure that it stays so.
func clientLink(link string) template.URL {
	u, err := url.Parse(link)
	if err != nil || !slices.Contains([]string{"https", "cursor", "vscode", "vscode-insiders", "windsurf", "zed", "claude"}, u.Scheme) {
		return ""
	}
	return template.URL(link) //nolint:gosec // the scheme is in the list above; none of them runs code in the page
}
