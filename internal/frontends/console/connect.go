package console

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/identity"
	"remit/internal/visible"
)

const connectPath = "/console/connect"

// connectPage is the data of the connect page.
type connectPage struct {
	Base     string
	Identity string
	Clients  []clientTab
	Client   *Client // the chosen one; nil if there are none
	MCP      string
	Curl     string
	Shell    string
	Admin    bool
	Token    bool // clients must send a token

	Agent   string // the name of the token whose calls are shown; "" for all callers
	Agents  []ruleChoice
	Secret  string // of a token that was just made
	Form    tokenForm
	Live    *connectLive
	LiveURL string
}

// clientTab is a client to choose.
type clientTab struct {
	Title, Href string
	Chosen      bool
}

// connect shows how to connect a client, and what it has done since the page was opened.
func (v *visit) connect() error {
	q := v.r.URL.Query()
	return v.showConnect(http.StatusOK, q.Get("client"), q.Get("agent"), "", tokenForm{})
}

func (v *visit) showConnect(status int, client, agent, secret string, form tokenForm) error {
	page := connectPage{
		Base: v.base(), MCP: v.base() + "/mcp", Identity: v.Identity(), Secret: secret,
		Admin: v.person.Role >= identity.Admin, Token: v.TokensRequired() || secret != "", Agent: agent, Form: form,
	}
	all := v.Clients(v.base(), secret)
	for i := range all {
		page.Clients = append(page.Clients, clientTab{Title: all[i].Title, Href: connectHref(all[i].ID, agent), Chosen: all[i].ID == client})
		if all[i].ID == client || client == "" && i == 0 {
			page.Client, page.Clients[i].Chosen = &all[i], true
		}
	}
	if client != "" && page.Client == nil {
		return contract.Errorf(contract.NotFound, "There are no instructions for a client %q; choose another", client)
	}
	if tool := v.simplestTool(); tool != nil {
		shown := v.snippetsOf(tool)
		page.Curl, page.Shell = shown.Curl, "remit tools\n"+shown.CLI
	}
	if page.Admin {
		if err := v.connectAgents(&page); err != nil {
			return err
		}
	}
	since := v.Now()
	page.LiveURL = connectPath + "/live?" + url.Values{"agent": {agent}, "since": {strconv.FormatInt(since.UnixMicro(), 10)}}.Encode()
	var err error
	if page.Live, err = v.connectLines(agent, since); err != nil {
		return err
	}
	return v.pageWith(status, "connect", "connect", "Connect", &page)
}

func connectHref(client, agent string) string {
	values := url.Values{"client": {client}}
	if agent != "" {
		values.Set("agent", agent)
	}
	return connectPath + "?" + values.Encode()
}

// connectAgents fills the choice of tokens and the form for a new one.
func (v *visit) connectAgents(page *connectPage) error {
	tokens, _, err := v.tokenRows(false)
	if err != nil {
		return err
	}
	page.Agents = []ruleChoice{{"", "any caller", page.Agent == ""}}
	for _, t := range tokens {
		if t.Role == identity.NoRole {
			page.Agents = append(page.Agents, ruleChoice{t.Name, t.Name, t.Name == page.Agent})
		}
	}
	if page.Form.Problem == "" {
		page.Form.User = v.person.Name
		v.fill(&page.Form, identity.Scopes{{Set: identity.AnySet}: true}, "90")
	}
	return nil
}

// connectToken makes a token and shows it once, in the instructions for the chosen client.
func (v *visit) connectToken() error {
	client := v.r.PostForm.Get("client")
	secret, made, err := v.createToken()
	if err != nil {
		if kind := contract.AsError(err).Kind; kind != contract.Invalid && kind != contract.Conflict {
			return err
		}
		form := tokenForm{Problem: contract.AsError(err).Message, Name: v.r.PostForm.Get("name"), User: v.r.PostForm.Get("user")}
		// What is no scope stays unchecked.
		chosen, _ := identity.ParseScopes(strings.Join(v.r.PostForm["scope"], ","), nil)
		v.fill(&form, chosen, v.r.PostForm.Get("days"))
		return v.showConnect(http.StatusBadRequest, client, "", "", form)
	}
	return v.showConnect(http.StatusOK, client, made.Name, secret, tokenForm{})
}

// connectLive is what a client has done since the page was opened.
type connectLive struct {
	Agent    string
	Arrivals []Arrival
	Calls    []auditindex.Call // oldest first
	Rejected int               // requests with a token that is not valid
	Waited   bool              // long enough to say what to try
	Local    bool              // callers need no token
	Admin    bool
}

// connectPatience is after how long without a sign of the client the page says what to try.
const connectPatience = 20 * time.Second

// connectLines reads what the callers with the name of an agent have done since a time; of all
// callers if the name is "".
func (v *visit) connectLines(agent string, since time.Time) (*connectLive, error) {
	live := &connectLive{Agent: agent, Waited: v.Now().Sub(since) >= connectPatience, Local: !v.TokensRequired(), Admin: v.person.Role >= identity.Admin}
	principal := ""
	if agent != "" {
		principal = identity.Token{Name: agent}.Principal()
	}
	live.Arrivals = v.Arrivals.since(since, principal)
	if v.Calls == nil {
		return live, nil
	}
	_ = v.Calls.Refresh(v.r.Context()) // the next second shows what is missing
	page, err := v.Calls.Page(v.r.Context(), auditindex.Filter{Caller: principal, From: since, ExceptFrontend: frontendPage}, "", 50)
	if err != nil {
		return nil, err
	}
	for _, c := range slices.Backward(page.Calls) {
		if c.Frontend != frontendConsole && isCall(&c.Kind) && !c.Time.Before(since) {
			live.Calls = append(live.Calls, c)
		}
	}
	live.Calls = live.Calls[max(0, len(live.Calls)-8):]
	wrong, err := v.Calls.Page(v.r.Context(), auditindex.Filter{Tool: "auth/token", From: since}, "", 50)
	for _, c := range wrong.Calls {
		if !c.Time.Before(since) {
			live.Rejected++
		}
	}
	return live, err
}

// Client returns which client made a call.
func (*connectLive) Client(c auditindex.Call) string { return clientOf(&c) }

// Any reports whether the client did anything.
func (l *connectLive) Any() bool { return len(l.Arrivals)+len(l.Calls) > 0 }

// Did describes an arrival.
func (*connectLive) Did(a Arrival) string {
	switch a.Method {
	case "initialize", "server/discover":
		return visible.Line(a.Client+" connected via "+a.Frontend) + " (" + visible.Line(a.Method+", "+a.Version) + ")"
	case "tools/list":
		return "It asked for the list of tools"
	}
	return visible.Line(a.Method)
}

// connectUpdate responds with what the client has done since the page was opened.
func (v *visit) connectUpdate() error {
	q := v.r.URL.Query()
	micros, err := strconv.ParseInt(q.Get("since"), 10, 64)
	if err != nil {
		return contract.Errorf(contract.Invalid, "since must be a time in microseconds")
	}
	since := time.UnixMicro(micros)
	if day := v.Now().Add(-24 * time.Hour); since.Before(day) {
		since = day // a page that was left open must not read months of records every two seconds
	}
	live, err := v.connectLines(q.Get("agent"), since)
	if err != nil {
		return err
	}
	return v.part("connect", "connect-live", live)
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
