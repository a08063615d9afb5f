package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
)

// identityWorkspace is a workspace that can only manage identities.
type identityWorkspace struct {
	Workspace
	tokens   identity.Tokens
	signIn   identity.SignIn
	stored   []identity.Token
	sessions sessionStore

	actions      []string // recorded actions
	canRecordErr error    // result of CanRecord
	recordErr    error    // result of Record
}

func newIdentityWorkspace(now func() time.Time) *identityWorkspace {
	o := &identityWorkspace{}
	secret := func() ([]byte, error) { return []byte("a secret"), nil }
	o.tokens = identity.Tokens{Store: func(context.Context) (identity.TokenStore, error) { return o, nil }, Secret: secret, Now: now}
	o.signIn = identity.SignIn{
		Secret: secret, Now: now,
		Sessions: func(context.Context) (identity.SessionStore, error) { return &o.sessions, nil },
		UseOnce:  func(context.Context, string, time.Time, time.Time) (bool, error) { return true, nil },
	}
	return o
}

func (o *identityWorkspace) Identity() Identity       { return o }
func (o *identityWorkspace) Tokens() *identity.Tokens { return &o.tokens }
func (o *identityWorkspace) SignIn() *identity.SignIn { return &o.signIn }
func (o *identityWorkspace) CanRecord() error         { return o.canRecordErr }
func (o *identityWorkspace) HasRecords() bool         { return true }
func (o *identityWorkspace) Record(_ context.Context, r *audit.Record) error {
	o.actions = append(o.actions, r.Tool+" "+r.Principal+" "+string(r.Arguments.Append(nil)))
	return o.recordErr
}

func (o *identityWorkspace) Start(ctx context.Context, r *audit.Record) (context.Context, *audit.Effect) {
	return audit.Start(ctx, r, o)
}

func (o *identityWorkspace) Write(ctx context.Context, r *audit.Record, _ bool) error {
	return o.Record(ctx, r)
}

func (*identityWorkspace) ConsoleURL(path string) string      { return "http://127.0.0.1:8722" + path }
func (*identityWorkspace) PingDatabase(context.Context) error { return nil }
func (*identityWorkspace) Close() error                       { return nil }

// The workspace stores tokens in memory; the real store is sqlstore.
func (o *identityWorkspace) Add(_ context.Context, t identity.Token) error {
	o.stored = append([]identity.Token{t}, o.stored...)
	return nil
}

func (o *identityWorkspace) ByHash(_ context.Context, hash string) (identity.Token, bool, error) {
	i := slices.IndexFunc(o.stored, func(t identity.Token) bool { return t.Hash == hash })
	if i < 0 {
		return identity.Token{}, false, nil
	}
	return o.stored[i], true, nil
}

func (o *identityWorkspace) Replace(context.Context, string, identity.Token) error {
	return errors.New("no command narrows a token")
}

func (o *identityWorkspace) List(context.Context) ([]identity.Token, error) {
	return slices.Clone(o.stored), nil
}

func (o *identityWorkspace) Revoke(ctx context.Context, name string, now time.Time) (identity.Token, error) {
	i := slices.IndexFunc(o.stored, func(t identity.Token) bool { return t.Name == name || t.ID == name })
	if i < 0 {
		return identity.Token{}, identity.TokenNotFound(name)
	}
	o.stored[i].Revoked = now
	o.stored[i].DescribeIn(ctx)
	return o.stored[i], nil
}

func (*identityWorkspace) Use(context.Context, string, time.Time) error { return nil }

// sessionStore stores sessions in memory, newest last.
type sessionStore struct {
	identity.SessionStore
	people []identity.Session
}

func (r *sessionStore) Add(_ context.Context, s identity.Session) error {
	r.people = append(r.people, s)
	return nil
}

func (r *sessionStore) List(context.Context) ([]identity.Session, error) {
	return slices.Clone(r.people), nil
}

func (*sessionStore) Void(context.Context, string, time.Time, time.Time) error { return nil }
func (*sessionStore) Voided(context.Context, ...string) (time.Time, error)     { return time.Time{}, nil }

func (r *sessionStore) End(_ context.Context, hash string) error {
	r.people = slices.DeleteFunc(r.people, func(s identity.Session) bool { return s.Hash == hash })
	return nil
}

// tokenUser runs commands about tokens.
type tokenUser struct {
	t         *testing.T
	workspace *identityWorkspace
	now       time.Time
}

func newTokenUser(t *testing.T) *tokenUser {
	t.Helper()
	c := &tokenUser{t: t, now: time.Date(2026, 11, 16, 23, 30, 0, 0, time.FixedZone("", -5*60*60))}
	c.workspace = newIdentityWorkspace(func() time.Time { return c.now })
	return c
}

// types runs a command and returns its output. The command must end with the exit code.
func (c *tokenUser) types(code int, args ...string) (out, errOut string) {
	c.t.Helper()
	var stdout, stderr bytes.Buffer
	program := &Program{
		Version: "test",
		Open:    func(context.Context, Settings, *slog.Logger) (Workspace, error) { return c.workspace, nil },
		Catalog: func(...string) ([]*contract.Set, error) {
			return []*contract.Set{{Name: "tasks"}, {Name: "books"}}, nil
		},
		Logger:    func(io.Writer, LogOptions) (*slog.Logger, error) { return slog.New(slog.DiscardHandler), nil },
		Now:       func() time.Time { return c.now },
		AskPerson: func(context.Context, string) (string, error) { return "y", nil },
		Args:      append([]string{"token"}, append(args, "--root", c.t.TempDir())...),
		Env:       func(string) (string, bool) { return "", false },
		Stdin:     strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
	}
	if got := program.Main(c.t.Context()); got != code {
		c.t.Fatalf("remit token %q ended with %d, want %d\n%s%s", args, got, code, stdout.String(), stderr.String())
	}
	return stdout.String(), stderr.String()
}

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is not printed:\n%s", word, text)
		}
	}
}

// TestTokenIsPrintedAlone checks that stdout has only the token, for scripts.
func TestTokenIsPrintedAlone(t *testing.T) {
	c := newTokenUser(t)
	out, errOut := c.types(ExitOK, "create", "--name", "ci", "--scopes", "tasks:write,books:read", "--user", "ada", "--rate", "600/min", "--expires", "2027-01-31")
	secret := strings.TrimSuffix(out, "\n")
	if strings.ContainsAny(secret, " \n") {
		t.Errorf("stdout is %q", out)
	}
	contains(t, errOut, `Created the token "ci"`, `books:read, tasks:write for the user "ada" only, 600/min at most`, "valid until 2027-02-01 00:00:00",
		"not shown again", "From now on", `Bearer`)
	if strings.Contains(errOut, secret) {
		t.Error("the secret is on stderr as well")
	}
	made, err := c.workspace.tokens.Check(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	if made.User != "ada" || made.Rate.Requests != 600 || made.Rate.Per != time.Minute || !strings.HasPrefix(made.By, "cli:") {
		t.Errorf("made %+v", made)
	}
	if _, errOut := c.types(ExitOK, "create", "--name", "second"); strings.Contains(errOut, "From now on") {
		t.Error("the note about the first token is printed twice")
	}
}

func TestTokenDefaults(t *testing.T) {
	c := newTokenUser(t)
	c.types(ExitOK, "create", "--name", "ci")
	made := c.workspace.stored[0]
	if made.Scopes.String() != "*:read" || made.User != loginName() || !made.Expires.Equal(c.now.AddDate(0, 0, 90)) || made.Rate.Requests != 0 {
		t.Errorf("made %+v", made)
	}
	for given, want := range map[string]string{"*": "for any user", "": "for no user"} {
		_, errOut := c.types(ExitOK, "create", "--name", "of "+given+".", "--user", given, "--expires", "never")
		contains(t, errOut, want, "never expires")
		if c.workspace.stored[0].User != given {
			t.Errorf("the user %q became %q", given, c.workspace.stored[0].User)
		}
	}
}

func TestTokenRefusals(t *testing.T) {
	c := newTokenUser(t)
	for _, tc := range []struct {
		code int
		args string
		want string
	}{
		{ExitUsage, "create", "add --name, such as --name ci"},
		{ExitUsage, "create --name ci --scopes task:read", `did you mean "tasks"?`},
		{ExitUsage, "create --name ci --scopes tasks", "TOOLSET:read or TOOLSET:write"},
		{ExitUsage, "create --name ci --scopes ,", "at least one scope"},
		{ExitUsage, "create --name ci --rate 600", "write it like 100/min"},
		{ExitUsage, "create --name ci --expires soon", "use a value such as 90d, 12h, 2027-01-31 or never"},
		{ExitUsage, "create --name ci --expires 2026-11-15", "2026-11-15 is in the past"},
		{ExitUsage, "create --name ci --expires 99999999d", "90d"},
		{ExitFailed, "create --name ci\u202e", "invisible character"},
		{ExitFailed, "revoke nobody", `There is no token "nobody"; "remit token list" lists the tokens`},
		{ExitUsage, "revoke", "remit token revoke NAME|ID"},
		{ExitUsage, "link --role root", "must be viewer, approver or admin"},
		{ExitUsage, "link --expires 10", "use a value such as 10m, 12h or 7d"},
		{ExitFailed, "link --expires 8d", "7 days"},
		{ExitUsage, "create ci", "unknown command"},
		{ExitUsage, "lst", `did you mean "list"?`},
	} {
		out, errOut := c.types(tc.code, strings.Fields(tc.args)...)
		if !strings.Contains(errOut, tc.want) || out != "" {
			t.Errorf("remit token %s: %s%s", tc.args, out, errOut)
		}
	}
	if len(c.workspace.stored) != 0 {
		t.Errorf("%d tokens were made", len(c.workspace.stored))
	}
}

func TestTokenList(t *testing.T) {
	c := newTokenUser(t)
	out, _ := c.types(ExitOK, "list")
	contains(t, out, "There are no tokens.", "remit token create --name NAME")
	for _, name := range []string{"ci", "old", "short", "strange"} {
		c.types(ExitOK, "create", "--name", name, "--user", "ada", "--expires", map[bool]string{true: "1h", false: "90d"}[name == "short"])
	}
	out, _ = c.types(ExitOK, "revoke", "old")
	contains(t, out, `Revoked the token "old"`, "2026-11-16 23:30:00", "calls with it are refused")
	// So the seal is not ours.
	c.workspace.stored[0].Name, c.workspace.stored[0].Hash = "strange\u202e", "hash-of-another"
	c.now = c.now.Add(time.Hour)

	out, _ = c.types(ExitOK, "list")
	contains(t, out, "ID ", "ci ", "active", "*:read", "ada", "2027-02-14 23:30", "never")
	if strings.Count(out, "\n") != 2 {
		t.Errorf("not only the live one is shown:\n%s", out)
	}
	out, _ = c.types(ExitOK, "list", "--all")
	contains(t, out, "revoked", "expired", "not created here", `strange\u202e`)

	out, _ = c.types(ExitOK, "list", "--all", "--json")
	var views []map[string]any
	if err := json.Unmarshal([]byte(out), &views); err != nil || len(views) != 4 {
		t.Fatalf("%v:\n%s", err, out)
	}
	for _, secret := range []string{"hash", "seal", "token"} {
		if _, told := views[0][secret]; told {
			t.Errorf("the list shows the %s", secret)
		}
	}
	if views[3]["name"] != "ci" || views[3]["state"] != "live" || views[2]["state"] != "revoked" {
		t.Errorf("the list is %v", views)
	}
}

func TestTokenAsJSON(t *testing.T) {
	c := newTokenUser(t)
	out, errOut := c.types(ExitOK, "create", "--name", "ci", "--json")
	var made struct {
		Token  string
		Name   string
		State  string
		Scopes []string
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil || errOut != "" {
		t.Fatalf("%v: %s%s", err, out, errOut)
	}
	if _, err := c.workspace.tokens.Check(t.Context(), made.Token); err != nil || made.Name != "ci" || made.State != "live" || len(made.Scopes) != 1 {
		t.Errorf("made %+v, error %v", made, err)
	}
}

func TestTokenLink(t *testing.T) {
	c := newTokenUser(t)
	for _, tc := range []struct {
		args []string
		who  identity.Person
	}{
		{[]string{"link"}, identity.Person{Name: loginName(), Role: identity.Admin}},
		{[]string{"link", "--name", "grace", "--role", "viewer", "--expires", "2h"}, identity.Person{Name: "grace", Role: identity.Viewer}},
	} {
		out, errOut := c.types(ExitOK, tc.args...)
		u, err := url.Parse(strings.TrimSuffix(out, "\n"))
		if err != nil || u.Path != "/console/login" || u.Host != "127.0.0.1:8722" {
			t.Fatalf("the link is %q", out)
		}
		if _, who, _, err := c.workspace.signIn.Redeem(t.Context(), u.Query().Get("token")); err != nil || who != tc.who {
			t.Errorf("the link is for %v, error %v", who, err)
		}
		contains(t, errOut, "as "+tc.who.Role.String(), "once")
	}
}

// signIn signs people in at the console.
func (c *tokenUser) signIn(names ...string) {
	c.t.Helper()
	for _, name := range names {
		link, err := c.workspace.signIn.Link(identity.Person{Name: name, Role: identity.Viewer}, time.Minute)
		if err != nil {
			c.t.Fatal(err)
		}
		if _, _, _, err := c.workspace.signIn.Redeem(c.t.Context(), link); err != nil {
			c.t.Fatal(err)
		}
	}
}

func TestTokenSessions(t *testing.T) {
	c := newTokenUser(t)
	out, _ := c.types(ExitOK, "sessions")
	contains(t, out, "Nobody is signed in", "remit token link")
	c.signIn("grace", "gr\u00e2ce")
	out, _ = c.types(ExitOK, "sessions")
	contains(t, out, "NAME ", "grace ", "gr\u00e2ce ", "viewer", "2026-11-16 23:30", "2026-11-17 11:30")
	out, _ = c.types(ExitOK, "sessions", "--json")
	var views []map[string]any
	if err := json.Unmarshal([]byte(out), &views); err != nil || len(views) != 2 || len(views[0]) != 5 || views[0]["name"] != "grace" || views[0]["role"] != "viewer" {
		t.Fatalf("%v:\n%s", err, out)
	}
}

func TestTokenSignout(t *testing.T) {
	c := newTokenUser(t)
	c.signIn("grace", "grace", "ada", "bob")
	for _, tc := range []struct {
		code int
		args []string
		want string
		left int
	}{
		{ExitUsage, []string{"signout"}, "name the person to sign out", 4},
		{ExitUsage, []string{"signout", "grace", "--all"}, "name the person to sign out", 4},
		{ExitFailed, []string{"signout", ""}, "A name is needed", 4},
		{ExitOK, []string{"signout", "eve"}, `Nobody called "eve" is signed in; "remit token sessions" shows who is`, 4},
		{ExitOK, []string{"signout", "grace"}, "Ended sessions: 2.", 2},
		{ExitOK, []string{"signout", "--all"}, "Ended sessions: 2.", 0},
		{ExitOK, []string{"signout", "--all"}, "Ended sessions: 0.", 0},
	} {
		out, errOut := c.types(tc.code, tc.args...)
		if contains(t, out+errOut, tc.want); len(c.workspace.sessions.people) != tc.left {
			t.Errorf("%q: %d are left, want %d", tc.args, len(c.workspace.sessions.people), tc.left)
		}
	}
	var want []string
	for _, about := range []string{`{"name":"eve","sessions":0}`, `{"name":"grace","sessions":2}`, `{"name":"*","sessions":2}`, `{"name":"*","sessions":0}`} {
		want = append(want, "token/signout "+operator()+" "+about)
	}
	if !slices.Equal(c.workspace.actions, want) {
		t.Errorf("it is recorded as %q, want %q", c.workspace.actions, want)
	}
}

// TestTokenAudit checks that granting rights is recorded, and refused if it cannot be recorded.
func TestTokenAudit(t *testing.T) {
	c := newTokenUser(t)
	c.types(ExitOK, "create", "--name", "ci", "--scopes", "tasks:read", "--user", "ada")
	c.types(ExitOK, "revoke", "ci")
	c.types(ExitOK, "link", "--name", "grace", "--role", "viewer")
	id := `"id":"` + c.workspace.stored[0].ID + `","name":"ci"}`
	want := []string{
		"token/create " + operator() + ` {"scopes":"tasks:read","user":"ada",` + id,
		"token/revoke " + operator() + " {" + id,
		"token/link " + operator() + ` {"name":"grace","role":"viewer"}`,
	}
	if !slices.Equal(c.workspace.actions, want) {
		t.Errorf("it is recorded as %q, want %q", c.workspace.actions, want)
	}
	c.workspace.recordErr = contract.Errorf(contract.Unavailable, "no disk")
	for _, args := range [][]string{{"create", "--name", "late"}, {"link"}} {
		if out, errOut := c.types(ExitFailed, args...); out != "" || !strings.Contains(errOut, "no disk") {
			t.Errorf("%q prints %q and %q", args, out, errOut)
		}
	}
	if late := c.workspace.stored[0]; late.Name != "late" || late.Revoked.IsZero() {
		t.Errorf("the token is valid: %+v", late)
	}
	c.workspace.canRecordErr = contract.Errorf(contract.Unavailable, "no disk")
	c.types(ExitFailed, "create", "--name", "later")
	if len(c.workspace.stored) != 2 {
		t.Errorf("it was made: %+v", c.workspace.stored)
	}
}

// TestWelcome checks that the sign-in link which serve prints is valid for only an hour, that the
// line says so, and that output which is captured has no link.
func TestWelcome(t *testing.T) {
	c := newTokenUser(t)
	captured := (&Program{Stderr: &bytes.Buffer{}}).consoleLine(c.workspace)
	if contains(t, captured, "Console: http://127.0.0.1:8722/ ", `"remit token link"`); strings.Contains(captured, "token=") {
		t.Errorf("captured output: %s", captured)
	}
	line := (&Program{}).signInLine(c.workspace)
	contains(t, line, "http://127.0.0.1:8722/console/login?token=", "valid once, for an hour", "remit token link")
	_, rest, _ := strings.Cut(line, "token=")
	token, _, _ := strings.Cut(rest, " ")
	printed := c.now
	c.now = printed.Add(time.Hour)
	if _, _, _, err := c.workspace.signIn.Redeem(t.Context(), token); err == nil {
		t.Error("the link is valid after an hour")
	}
	c.now = printed.Add(time.Hour - time.Second)
	if _, who, _, err := c.workspace.signIn.Redeem(t.Context(), token); err != nil || who.Role != identity.Admin {
		t.Errorf("within the hour: %v, error %v", who, err)
	}
}

func TestSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10m": 10 * time.Minute, "12h": 12 * time.Hour, "90d": 90 * 24 * time.Hour, "36500d": 36500 * 24 * time.Hour,
		"": 0, "d": 0, "0d": 0, "-1d": 0, "1": 0, "1w": 0, "1.5h": 0, "36501d": 0, "99999999999999999999d": 0, "1 d": 0, "1h30m": 0,
	} {
		if got, err := parseDuration(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %s, error %v", text, got, err)
		}
	}
}
