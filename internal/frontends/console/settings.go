package console

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

// settingsPage is the data of the settings page.
type settingsPage struct {
	Settings []Setting
	Identity string
	Person   identity.Person
	Tokens   []tokenRow
	Inactive int // number of expired and revoked tokens that are not shown
	All      bool
	Sets     []setRow
	People   []identity.Session
	Reloaded bool     // the configuration was just reloaded
	Restart  []string // the settings that then need a restart

	Root, Data, Database, Version string
	ReadOnly                      bool
	Approve                       string // what happens to calls that need approval
	Checks                        []checkRow
	Healthy                       bool // every check passed
}

// tokenRow is an agent token in the list.
type tokenRow struct {
	identity.Token
	State, Rate string
}

func (v *visit) settings() error { return v.showSettings(settingsPage{}) }

// reload reads the configuration again, and shows the settings.
func (v *visit) reload() error {
	if err := v.auditReady("reloaded"); err != nil {
		return err
	}
	restart, err := v.Reload()
	if err != nil {
		err = contract.Errorf(contract.Invalid, "The configuration is not valid, so nothing was reloaded: %s", err)
	}
	v.record("console/reload", v.person, err, jsontree.M("restart_for", jsontree.Str(strings.Join(restart, ","))))
	if err != nil {
		return err
	}
	return v.showSettings(settingsPage{Reloaded: true, Restart: restart})
}

func (v *visit) showSettings(page settingsPage) error {
	page.Settings, page.Identity, page.Person, page.Sets = v.Settings(), v.Identity(), v.person, v.sets()
	page.Root, page.Version, page.ReadOnly, page.Approve = v.Root, v.Version, v.Engine.ReadOnly, v.setting("approve")
	page.Data, page.Database = v.setting("data"), v.setting("database")
	page.Checks, page.Healthy = v.checks()
	page.All = v.r.URL.Query().Get("tokens") == "all"
	tokens, err := v.Tokens.List(v.r.Context())
	if err != nil {
		return err
	}
	if page.People, err = v.People.People(v.r.Context()); err != nil {
		return err
	}
	now := v.Now()
	for _, t := range tokens {
		if !t.Live(now) && !page.All {
			page.Inactive++
			continue
		}
		row := tokenRow{Token: t, State: t.StateLabel(now)}
		if t.Rate.Requests > 0 {
			row.Rate = contract.Rate(t.Rate).String()
		}
		page.Tokens = append(page.Tokens, row)
	}
	return v.page("settings", "settings", "Settings", page)
}

// createdPage is the data of the page that shows a new secret, once.
type createdPage struct {
	Title, About string
	Secret       string
	Label        string
	Facts        [][2]string
}

// makeToken creates a token and responds with its secret. The secret is in no URL and is never
// shown again.
func (v *visit) makeToken() error {
	asked, err := v.newToken()
	if err != nil {
		return err
	}
	if err := v.auditReady("created"); err != nil {
		return err
	}
	ctx, effect := v.start("console/token_create", v.person, jsontree.M("scopes", jsontree.Str(asked.Scopes.String())))
	secret, made, err := v.Tokens.Create(ctx, asked)
	if err != nil {
		return err
	}
	v.conclude(effect, nil)
	page := createdPage{
		Title: "Token " + made.Name, Label: "token", Secret: secret,
		About: "Copy the token now: it is not stored and will not be shown again. The agent sends it as Authorization: Bearer TOKEN.",
		Facts: [][2]string{
			{"Scopes", strings.Join(made.Scopes.List(), ", ")}, {"User", userText(made.User)}, {"Valid", validUntil(made.Expires)},
		},
	}
	return v.page("created", "settings", page.Title, page)
}

// newToken parses the form for a new token.
func (v *visit) newToken() (identity.NewToken, error) {
	form := v.r.PostForm
	sets := []string{}
	for _, set := range v.sets() {
		sets = append(sets, set.Name)
	}
	scopes, err := identity.ParseScopes(strings.Join(form["scope"], ","), sets)
	if err != nil {
		return identity.NewToken{}, contract.Errorf(contract.Invalid, "%s", err)
	}
	made := identity.NewToken{
		Name: strings.TrimSpace(form.Get("name")), User: strings.TrimSpace(form.Get("user")), Scopes: scopes, By: v.person.Principal(),
	}
	if days := form.Get("days"); days != "never" {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 3650 {
			return identity.NewToken{}, contract.Errorf(contract.Invalid, "days must be a number from 1 to 3650, or never")
		}
		made.Expires = v.Now().Add(time.Duration(n) * 24 * time.Hour)
	}
	if text := strings.TrimSpace(form.Get("rate")); text != "" {
		var rate contract.Rate
		if err := rate.UnmarshalText([]byte(text)); err != nil {
			return identity.NewToken{}, contract.Errorf(contract.Invalid, "rate: %s", err)
		}
		made.Rate = ratelimit.Rate(rate)
	}
	return made, nil
}

func userText(user string) string {
	switch user {
	case "":
		return "none: it cannot access the data of users"
	case identity.AnyUser:
		return "any"
	}
	return user
}

func validUntil(t time.Time) string {
	if t.IsZero() {
		return "until it is revoked"
	}
	return "until " + t.UTC().Format("2006-01-02 15:04 UTC")
}

func (v *visit) revokeToken() error {
	ctx, effect := v.start("console/token_revoke", v.person)
	if _, err := v.Tokens.Revoke(ctx, v.r.PathValue("id")); err != nil {
		return err
	}
	v.conclude(effect, nil)
	v.redirect("/console/settings")
	return nil
}

// signOutOther ends all sessions of a person and the event streams of their open pages.
func (v *visit) signOutOther() error {
	name := v.r.PostForm.Get("name")
	ctx, effect := v.start("console/sign_out_other", v.person, jsontree.M("name", jsontree.Str(name)))
	ended, err := v.People.SignOut(ctx, name)
	if err != nil {
		return err
	}
	effect.Describe(jsontree.M("sessions", jsontree.Int(int64(ended))))
	v.conclude(effect, nil)
	if ended == 0 {
		return contract.Errorf(contract.NotFound, "Nobody called %q is signed in", name)
	}
	v.live.update(func() bool { v.live.signOuts++; return true })
	v.redirect("/console/settings")
	return nil
}

// makeLink creates a link with which another person can sign in once.
func (v *visit) makeLink() error {
	form := v.r.PostForm
	role, err := identity.ParseRole(form.Get("role"))
	if err != nil {
		return contract.Errorf(contract.Invalid, "%s", err)
	}
	minutes, err := strconv.Atoi(form.Get("minutes"))
	if err != nil || minutes < 1 || minutes > 24*60 {
		return contract.Errorf(contract.Invalid, "minutes must be a number from 1 to %d", 24*60)
	}
	who := identity.Person{Name: strings.TrimSpace(form.Get("name")), Role: role}
	valid := time.Duration(minutes) * time.Minute
	if err := v.auditReady("created"); err != nil {
		return err
	}
	token, err := v.People.Link(who, valid)
	if err != nil {
		return err
	}
	v.record("console/link", v.person, nil, jsontree.M("name", jsontree.Str(who.Name)), jsontree.M("role", jsontree.Str(role.String())))
	page := createdPage{
		Title: "Link for " + who.Name, Label: "link", Secret: v.base() + "/console/login?token=" + url.QueryEscape(token),
		About: "Whoever opens this link first is signed in as this person. Send it through a channel that only they can read.",
		Facts: [][2]string{{"Role", role.String()}, {"Valid", fmt.Sprintf("once, %s", validUntil(v.Now().Add(valid)))}},
	}
	return v.page("created", "settings", page.Title, page)
}
