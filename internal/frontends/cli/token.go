package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

// Identity manages the tokens of agents and the sign-in of people at the console.
type Identity interface {
	// Tokens returns the tokens of agents.
	Tokens() *identity.Tokens
	// SignIn returns the sign-in of people at the console.
	SignIn() *identity.SignIn
	// CanRecord returns an error if Record would fail. Check it before granting rights; revoking
	// rights must not depend on it.
	CanRecord() error
	// Start returns a context that carries the record of an action, for stores that keep the record
	// with the change.
	Start(ctx context.Context, r *audit.Record) (context.Context, *audit.Effect)
	// Record adds an action of a person to the audit log.
	Record(ctx context.Context, r *audit.Record) error
	// HasRecords reports whether the workspace has a place for records already. A mistake at the
	// command line must not create one.
	HasRecords() bool
	// ConsoleURL returns the URL of a path of the console, such as /console/login.
	ConsoleURL(path string) string
}

// withIdentity returns a runFunc that runs body with the Identity of the workspace.
func (p *Program) withIdentity(body func(ctx context.Context, who Identity, args []string) error) runFunc {
	return p.with(func(cmd *cobra.Command, w Workspace, args []string) error {
		if err := w.PingDatabase(cmd.Context()); err != nil {
			return err
		}
		return body(cmd.Context(), w.Identity(), args)
	})
}

// newToken holds the flags of token create.
type newToken struct {
	name, scopes, user, expires, rate, role string

	elicitation bool
}

func (p *Program) tokenCreate() *cobra.Command {
	var n newToken
	c := &cobra.Command{Use: "create --name NAME", Aliases: []string{"new", "add"}, Args: cobra.NoArgs}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if n.role != "" {
			for _, other := range []string{"scopes", "user", "elicitation"} {
				if cmd.Flags().Changed(other) {
					return usageError{fmt.Errorf("--%s: a token with a role decides about requests and does nothing else; leave it out", other)}
				}
			}
		} else if !cmd.Flags().Changed("user") {
			n.user = loginName()
		}
		wanted, err := p.readToken(n)
		if err != nil {
			return usageError{err}
		}
		return p.withIdentity(func(ctx context.Context, who Identity, _ []string) error {
			// By the clock that decides whether it has expired.
			if wanted.Expires, err = expiry(n.expires, who.Tokens().Now()); err != nil {
				return usageError{fmt.Errorf("--expires: %w", err)}
			}
			return p.createToken(ctx, who, wanted)
		})(cmd, args)
	}
	flags := c.Flags()
	flags.StringVar(&n.name, "name", "", "name of the agent in the audit log and in approvals; must be unique among valid tokens")
	flags.StringVar(&n.scopes, "scopes", "*:read", "toolsets that the token may use, such as tasks:read,books:write")
	flags.StringVar(&n.user, "user", "", "user whose data the token may use: '*' for any user, '' for none (default: your login name)")
	flags.StringVar(&n.expires, "expires", "90d", "when the token expires: a duration such as 90d or 12h, the last "+
		"valid day such as 2027-01-31, or never")
	flags.StringVar(&n.role, "role", "", "make the token of a person, such as the bot of a team: approver decides about requests at "+
		"/approvals, and does nothing else")
	flags.BoolVar(&n.elicitation, "elicitation", false, "let what the person at the agent's client answers count as their decision")
	flags.StringVar(&n.rate, "rate", "", "rate limit of the token, such as 600/min (default: the limit of the server)")
	flags.BoolVar(&p.asJSON, "json", false, "print the token and its rights as JSON")
	return c
}

// readToken parses the flags of token create.
func (p *Program) readToken(n newToken) (identity.NewToken, error) {
	wanted := identity.NewToken{Name: n.name, User: n.user, By: operator(), Elicits: n.elicitation}
	if n.name == "" {
		return wanted, errors.New("the name of the token is missing; add --name, such as --name ci")
	}
	known, err := p.Catalog()
	if err != nil {
		return wanted, err
	}
	if n.role != "" {
		if wanted.Role, err = identity.ParseRole(n.role); err != nil || wanted.Role != identity.Approver {
			return wanted, fmt.Errorf("--role: %q is not a role of a token; use approver", n.role)
		}
	} else if wanted.Scopes, err = identity.ParseScopes(n.scopes, setNames(known)); err != nil {
		return wanted, fmt.Errorf("--scopes: %w", err)
	}
	if wanted.Expires, err = expiry(n.expires, p.Now()); err != nil {
		return wanted, fmt.Errorf("--expires: %w", err)
	}
	if n.rate != "" {
		var rate contract.Rate
		if err := rate.UnmarshalText([]byte(n.rate)); err != nil {
			return wanted, fmt.Errorf("--rate: %w", err)
		}
		wanted.Rate = ratelimit.Rate(rate)
	}
	return wanted, nil
}

// createToken creates a token and prints its secret, which is not shown again.
func (p *Program) createToken(ctx context.Context, who Identity, wanted identity.NewToken) error {
	if err := p.consentToToken(ctx, who, wanted); err != nil {
		return err
	}
	before, err := who.Tokens().AnyCreated(ctx)
	if err != nil {
		return err
	}
	if err := who.CanRecord(); err != nil {
		return err
	}
	about := []jsontree.Member{jsontree.M("scopes", jsontree.Str(wanted.Scopes.String())), jsontree.M("user", jsontree.Str(wanted.User))}
	if wanted.Role != identity.NoRole {
		about = append(about, jsontree.M("role", jsontree.Str(wanted.Role.String())))
	}
	if wanted.Elicits {
		about = append(about, jsontree.M("elicitation", jsontree.Boolean(true)))
	}
	recorded, effect := who.Start(ctx, action("token/create", about...))
	secret, made, err := who.Tokens().Create(recorded, wanted)
	if err != nil {
		return err
	}
	if err := effect.Conclude(ctx, nil); err != nil {
		_, undone := who.Tokens().Revoke(ctx, made.ID)
		return errors.Join(err, undone)
	}
	if p.asJSON {
		return writeJSON(p.Stdout, struct {
			Token string `json:"token"`
			tokenView
		}{secret, viewOfToken(&made, p.Now())})
	}
	fmt.Fprintln(p.Stdout, secret)
	fmt.Fprintf(p.Stderr, "Created the token %q (%s): %s. %s.\n", made.Name, made.ID, describeRights(&made), describeExpiry(&made, p.Now()))
	fmt.Fprintf(p.Stderr, "Keep it like a password: it is not shown again. Callers send it as \"Authorization: Bearer TOKEN\".\n")
	if !before {
		fmt.Fprintln(p.Stderr, p.hint("From now on \"remit serve\" requires a token from every caller over HTTP."))
	}
	return nil
}

// consentToToken asks the person at the terminal before a token is created that lets somebody
// decide about requests.
func (p *Program) consentToToken(ctx context.Context, who Identity, wanted identity.NewToken) error {
	create := action("token/create", jsontree.M("name", jsontree.Str(wanted.Name)))
	switch {
	case wanted.Role != identity.NoRole:
		return p.requireConsent(ctx, who, create, fmt.Sprintf("Create a token that lets %q approve and deny requests in the name of a person?", wanted.Name))
	case wanted.Elicits:
		return p.requireConsent(ctx, who, create, fmt.Sprintf("Create a token with which an answer in a dialog of the client of %q approves its calls?", wanted.Name))
	}
	return nil
}

// describeRights describes the rights of a token.
func describeRights(t *identity.Token) string {
	if t.Role != identity.NoRole {
		return "decides about requests as " + t.Role.String() + ", at /approvals only"
	}
	whose := fmt.Sprintf("for the user %q only", t.User)
	switch t.User {
	case identity.AnyUser:
		whose = "for any user"
	case "":
		whose = "for no user"
	}
	often := ""
	if t.Rate != (ratelimit.Rate{}) {
		often = ", " + contract.Rate(t.Rate).String() + " at most"
	}
	return strings.Join(t.Scopes.List(), ", ") + " " + whose + often
}

func describeExpiry(t *identity.Token, now time.Time) string {
	if t.Expires.IsZero() {
		return "It never expires"
	}
	return "It is valid until " + t.Expires.In(now.Location()).Format(time.DateTime)
}

// expiry parses the time when a token expires: a duration, a day, or never, which is the zero time.
// A token is valid to the end of the day in the user's time zone.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "never" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		if end := day.AddDate(0, 0, 1); end.After(now) {
			return end, nil
		}
		return time.Time{}, fmt.Errorf("%s is in the past", text)
	}
	length, err := parseDuration(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a valid expiry; use a value such as 90d, 12h, 2027-01-31 or never", text)
	}
	return now.Add(length), nil
}

// parseDuration parses a duration with one unit: minutes, hours or days.
func parseDuration(text string) (time.Duration, error) {
	const maxDuration = 100 * 365 * 24 * time.Hour // more is a typing error
	wrong := fmt.Errorf("%q is not a duration; use a value such as 10m, 12h or 7d", text)
	if text == "" {
		return 0, wrong
	}
	unit, known := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	if !known || err != nil || n == 0 || n > uint64(maxDuration/unit) {
		return 0, wrong
	}
	return time.Duration(n) * unit, nil
}

// tokenView is the JSON form of a token.
type tokenView struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	State     string    `json:"state"`
	Scopes    []string  `json:"scopes"`
	User      string    `json:"user"`
	Rate      string    `json:"rate,omitempty"`
	Role      string    `json:"role,omitempty"`
	Elicits   bool      `json:"elicitation,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	UsedAt    time.Time `json:"used_at,omitzero"`
}

func viewOfToken(t *identity.Token, now time.Time) tokenView {
	view := tokenView{
		ID: t.ID, Name: t.Name, State: t.State(now), Scopes: append([]string{}, t.Scopes.List()...), User: t.User,
		CreatedAt: t.Created, CreatedBy: t.By, ExpiresAt: t.Expires, RevokedAt: t.Revoked, UsedAt: t.Used, Elicits: t.Elicits,
	}
	if t.Role != identity.NoRole {
		view.Role = t.Role.String()
	}
	if t.Rate != (ratelimit.Rate{}) {
		view.Rate = contract.Rate(t.Rate).String()
	}
	return view
}

func (p *Program) tokenList() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Args:    cobra.NoArgs,
		RunE: p.withIdentity(func(ctx context.Context, who Identity, _ []string) error {
			tokens, err := who.Tokens().List(ctx)
			if err != nil {
				return err
			}
			now := p.Now()
			if !all {
				tokens = slices.DeleteFunc(tokens, func(t identity.Token) bool { return !t.Live(now) })
			}
			views := convert(tokens, func(t identity.Token) tokenView { return viewOfToken(&t, now) })
			err = p.show(views, func() { p.printTokens(tokens, now) })
			return errors.Join(err, p.hintNoToken(ctx, who))
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "include revoked and expired tokens, and tokens not created here")
	return p.withJSON("print as JSON", c)
}

// minute formats a time in the user's time zone, to the minute.
func (p *Program) minute(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.In(p.Now().Location()).Format("2006-01-02 15:04")
}

func (p *Program) printTokens(tokens []identity.Token, now time.Time) {
	t := table{shrink: 3, empty: p.hint("There are no tokens. \"remit token create --name NAME\" creates one.")}
	t.add("ID", "NAME", "STATE", "SCOPES", "USER", "EXPIRES", "LAST USED")
	for i := range tokens {
		n := &tokens[i]
		rights := n.Scopes.String()
		if n.Role != identity.NoRole {
			rights = n.Role.String()
		}
		t.add(n.ID, n.Name, n.StateLabel(now), rights, n.User, p.minute(n.Expires), p.minute(n.Used))
	}
	t.write(p.Stdout)
}

// hintNoToken prints on stderr that callers still need a token, if none is valid any more.
func (p *Program) hintNoToken(ctx context.Context, who Identity) error {
	needed, err := who.Tokens().AnyCreated(ctx)
	if err != nil || !needed {
		return err
	}
	tokens, err := who.Tokens().List(ctx)
	if err == nil && !slices.ContainsFunc(tokens, func(t identity.Token) bool { return t.Live(p.Now()) }) {
		fmt.Fprintln(p.Stderr, "No token of Remit is valid, and \"remit serve\" still requires a token over HTTP, unless --identity is off.\n"+
			"Create one: remit token create --name NAME")
	}
	return err
}

func (p *Program) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use:               "revoke NAME|ID",
		Aliases:           []string{"rm", "delete", "remove"},
		Args:              exactArgs(1),
		ValidArgsFunction: p.completeToken(),
		RunE: p.withIdentity(func(ctx context.Context, who Identity, args []string) error {
			recorded, effect := who.Start(ctx, action("token/revoke"))
			t, err := who.Tokens().Revoke(recorded, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(p.Stdout, "Revoked the token %q (%s) at %s: calls with it are refused.\n",
				t.Name, t.ID, t.Revoked.In(p.Now().Location()).Format(time.DateTime))
			return errors.Join(effect.Conclude(ctx, nil), p.hintNoToken(ctx, who))
		}),
	}
}

func (p *Program) tokenLink() *cobra.Command {
	var name, role, expires string
	c := &cobra.Command{
		Use:  "link",
		Args: cobra.NoArgs,
		RunE: p.withIdentity(func(ctx context.Context, who Identity, _ []string) error {
			r, err := identity.ParseRole(role)
			if err != nil {
				return usageError{fmt.Errorf("--role: %w", err)}
			}
			good, err := parseDuration(expires)
			if err != nil {
				return usageError{fmt.Errorf("--expires: %w", err)}
			}
			if name == "" {
				name = loginName()
			}
			link := action("token/link", jsontree.M("name", jsontree.Str(name)), jsontree.M("role", jsontree.Str(r.String())))
			question := fmt.Sprintf("Create a link that signs %q in to the console as %s?", name, r)
			if err := p.requireConsent(ctx, who, link, question); err != nil {
				return err
			}
			token, err := who.SignIn().Link(identity.Person{Name: name, Role: r}, good)
			if err != nil {
				return err
			}
			if err := who.Record(ctx, link); err != nil {
				return err // the link was not shown to anybody
			}
			fmt.Fprintln(p.Stdout, who.ConsoleURL("/console/login?token="+url.QueryEscape(token)))
			fmt.Fprintf(p.Stderr, p.hint("The link signs %q in as %s. It works once, until %s, while \"remit serve\" runs.\n"),
				name, r, p.Now().Add(good).Format(time.DateTime))
			return nil
		}),
	}
	c.Flags().StringVar(&name, "name", "", "name of the person in the audit log (default: your login name)")
	c.Flags().StringVar(&role, "role", "admin", "role of the person: viewer, approver or admin")
	c.Flags().StringVar(&expires, "expires", "10m", "how long the link is valid, such as 10m, 12h or 7d")
	return c
}
