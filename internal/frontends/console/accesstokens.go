package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

const (
	accessPath = "/console/access"
	tokensPath = accessPath + "/tokens"
)

// tokenRow is an agent token in the list.
type tokenRow struct {
	identity.Token
	State, Rate string
	Active      bool
	Soon        bool // it expires within three days
}

// Monogram returns two letters for the agent.
func (r tokenRow) Monogram() string { return monogram(r.Principal()) }

// Colour returns the class with the colour of the agent.
func (r tokenRow) Colour() string { return colourOf(r.Principal()) }

// soon is the remaining time of a token from which on the list says that it expires.
const soon = 72 * time.Hour

// tokenRows returns the tokens, and the number of inactive ones that are left out.
func (v *visit) tokenRows(all bool) (rows []tokenRow, inactive int, err error) {
	tokens, err := v.Tokens.List(v.r.Context())
	if err != nil {
		return nil, 0, err
	}
	now := v.Now()
	for _, t := range tokens {
		row := tokenRow{Token: t, State: t.StateLabel(now), Active: t.Live(now)}
		if !row.Active && !all {
			inactive++
			continue
		}
		row.Soon = row.Active && !t.Expires.IsZero() && t.Expires.Sub(now) < soon
		if t.Rate.Requests > 0 {
			row.Rate = contract.Rate(t.Rate).String()
		}
		rows = append(rows, row)
	}
	return rows, inactive, nil
}

// tokenByID returns a token, or a contract.NotFound error.
func (v *visit) tokenByID(id string) (identity.Token, error) {
	tokens, err := v.Tokens.List(v.r.Context())
	if err != nil {
		return identity.Token{}, err
	}
	for _, t := range tokens {
		if t.ID == id {
			return t, nil
		}
	}
	return identity.Token{}, contract.Errorf(contract.NotFound, "There is no such token; it may have been narrowed, which changes its id")
}

// createdPage is the data of the page that shows a new secret, once.
type createdPage struct {
	Title, About string
	Secret       string
	Label        string
	Facts        [][2]string
	Connect      string // the page that shows how to connect the agent
}

// makeToken creates a token and responds with its secret. The secret is in no URL and is never
// shown again.
func (v *visit) makeToken() error {
	secret, made, err := v.createToken()
	if err != nil {
		return v.tokenFormAgain(&tokenForm{Action: tokensPath, Title: "New token"}, err)
	}
	page := createdPage{
		Title: "Token " + made.Name, Label: "token", Secret: secret,
		About: "Copy the token now: it is not stored and will not be shown again. The agent sends it as Authorization: Bearer TOKEN.",
		Facts: [][2]string{
			{"Scopes", strings.Join(made.Scopes.List(), ", ")}, {"User", userText(made.User)}, {"Valid", validUntil(made.Expires)},
		},
		Connect: "/console/connect?" + url.Values{"agent": {made.Name}}.Encode(),
	}
	if made.Role != identity.NoRole {
		page.Facts, page.Connect = [][2]string{{"Role", made.Role.String()}, {"Valid", validUntil(made.Expires)}}, ""
	}
	return v.page("created", "access", page.Title, page)
}

// createToken creates the token that the form describes.
func (v *visit) createToken() (secret string, made identity.Token, err error) {
	asked, err := v.newToken()
	if err != nil {
		return "", made, err
	}
	if err := v.auditReady("created"); err != nil {
		return "", made, err
	}
	ctx, effect := v.start("console/token_create", v.person, jsontree.M("scopes", jsontree.Str(asked.Scopes.String())))
	if secret, made, err = v.Tokens.Create(ctx, asked); err != nil {
		return "", made, err
	}
	v.conclude(effect, nil)
	return secret, made, nil
}

// newToken parses the form for a new token.
func (v *visit) newToken() (made identity.NewToken, err error) {
	form := v.r.PostForm
	made = identity.NewToken{
		Name: strings.TrimSpace(form.Get("name")), User: strings.TrimSpace(form.Get("user")), By: v.person.Principal(), Elicits: form.Get("elicits") == "yes",
	}
	if form.Get("role") != "" {
		if made.Role, err = identity.ParseRole(form.Get("role")); err != nil {
			return made, contract.Errorf(contract.Invalid, "%s", err)
		}
	} else if made.Scopes, err = v.formScopes(); err != nil {
		return made, err
	}
	if days := form.Get("days"); days != never {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 3650 {
			return made, contract.Errorf(contract.Invalid, "days must be a number from 1 to 3650, or never")
		}
		made.Expires = v.Now().Add(time.Duration(n) * 24 * time.Hour)
	}
	made.Rate, err = v.formRate()
	return made, err
}

// never is the value of a form for a token that does not expire, and keep that for one that expires
// when it did before.
const (
	never = "never"
	keep  = "keep"
)

func (v *visit) formScopes() (identity.Scopes, error) {
	sets := []string{}
	for _, set := range v.sets() {
		sets = append(sets, set.Name)
	}
	scopes, err := identity.ParseScopes(strings.Join(v.r.PostForm["scope"], ","), sets)
	if err != nil {
		return nil, contract.Errorf(contract.Invalid, "%s", err)
	}
	return scopes, nil
}

func (v *visit) formRate() (rate ratelimit.Rate, err error) {
	text := strings.TrimSpace(v.r.PostForm.Get("rate"))
	if text == "" {
		return rate, nil
	}
	var parsed contract.Rate
	if err := parsed.UnmarshalText([]byte(text)); err != nil {
		return rate, contract.Errorf(contract.Invalid, "rate: %s", err)
	}
	return ratelimit.Rate(parsed), nil
}

// tokenForm is the data of the forms that make and narrow a token.
type tokenForm struct {
	Title, Action string
	Like          string // the name of the token that the form was filled from
	Narrow        *tokenRow
	Name, User    string
	Rate, Role    string
	Elicits       bool
	Scopes        []scopeChoice
	Days          []ruleChoice
	Problem       string

	had identity.Scopes // nil: everything may be chosen
}

// scopeChoice are the two scopes of a toolset.
type scopeChoice struct {
	Set, Label  string
	Read, Write scopeBox
}

// scopeBox is a checkbox; it is left out unless Shown.
type scopeBox struct{ Shown, Checked bool }

// fill fills the choices of the form. chosen are the scopes that are checked.
func (v *visit) fill(f *tokenForm, chosen identity.Scopes, days string) {
	box := func(set string, write, exists bool) scopeBox {
		return scopeBox{exists && (f.had == nil || f.had.Has(set, write)), chosen[identity.Scope{Set: set, Write: write}]}
	}
	f.Scopes = append(f.Scopes, scopeChoice{identity.AnySet, "all", box(identity.AnySet, false, true), box(identity.AnySet, true, true)})
	for _, set := range v.sets() {
		f.Scopes = append(f.Scopes, scopeChoice{set.Name, set.Name, box(set.Name, false, true), box(set.Name, true, set.Write > 0)})
	}
	lasts := []ruleChoice{{"7", "7 days", false}, {"30", "30 days", false}, {"90", "90 days", false}, {"365", "a year", false}, {never, "until it is revoked", false}}
	if f.Narrow != nil {
		lasts = slices.DeleteFunc(lasts, func(c ruleChoice) bool {
			n, err := strconv.Atoi(c.Value)
			return err != nil || !f.Narrow.Expires.IsZero() && v.Now().AddDate(0, 0, n).After(f.Narrow.Expires)
		})
		lasts = append(lasts, ruleChoice{keep, "as before: " + validUntil(f.Narrow.Expires), false})
	}
	if !slices.ContainsFunc(lasts, func(c ruleChoice) bool { return c.Value == days }) {
		if n, err := strconv.Atoi(days); err == nil && n > 0 {
			lasts = append(lasts, ruleChoice{days, contract.Count(n, "day"), false})
		}
	}
	for i := range lasts {
		lasts[i].Chosen = lasts[i].Value == days
	}
	f.Days = lasts
}

// newTokenForm shows the form for a token, filled with the name and the rights of another one that
// has ended.
func (v *visit) newTokenForm() error {
	f := tokenForm{Title: "New token", Action: tokensPath, User: v.person.Name}
	like := v.r.URL.Query().Get("like")
	if like == "" {
		v.fill(&f, identity.Scopes{{Set: identity.AnySet}: true}, "90")
		return v.page("token", "access", f.Title, &f)
	}
	t, err := v.tokenByID(like)
	if err != nil {
		return err
	}
	f.Title, f.Like, f.Name, f.User, f.Elicits = "Make token again", t.Name, t.Name, t.User, t.Elicits
	if t.Role != identity.NoRole {
		f.Role = t.Role.String()
	}
	if t.Rate.Requests > 0 {
		f.Rate = contract.Rate(t.Rate).String()
	}
	days := never
	if !t.Expires.IsZero() {
		days = strconv.Itoa(max(1, int(t.Expires.Sub(t.Created).Round(24*time.Hour).Hours()/24)))
	}
	v.fill(&f, t.Scopes, days)
	return v.page("token", "access", f.Title, &f)
}

// tokenFormAgain shows a form again with what was typed, and why it was not accepted.
func (v *visit) tokenFormAgain(f *tokenForm, failed error) error {
	kind := contract.AsError(failed).Kind
	if kind != contract.Invalid && kind != contract.Conflict {
		return failed
	}
	form := v.r.PostForm
	f.Problem, f.Name, f.User, f.Rate = contract.AsError(failed).Message, form.Get("name"), form.Get("user"), form.Get("rate")
	f.Role, f.Elicits = form.Get("role"), form.Get("elicits") == "yes"
	// What is no scope stays unchecked.
	chosen, _ := identity.ParseScopes(strings.Join(form["scope"], ","), nil)
	v.fill(f, chosen, form.Get("days"))
	status := http.StatusBadRequest
	if kind == contract.Conflict {
		status = http.StatusConflict
	}
	return v.pageWith(status, "token", "access", f.Title, f)
}

// narrowForm shows the form that takes rights from a token.
func (v *visit) narrowForm() error {
	f, err := v.narrowing()
	if err != nil {
		return err
	}
	f.User, f.Rate = f.Narrow.User, f.Narrow.Rate
	v.fill(f, f.Narrow.Scopes, keep)
	return v.page("token", "access", f.Title, f)
}

// narrowing returns the form for the live token that the path names.
func (v *visit) narrowing() (*tokenForm, error) {
	t, err := v.tokenByID(v.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if !t.Live(v.Now()) {
		return nil, identity.NotLive(t.Name)
	}
	row := tokenRow{Token: t}
	if t.Rate.Requests > 0 {
		row.Rate = contract.Rate(t.Rate).String()
	}
	return &tokenForm{Title: "Narrow token " + t.Name, Action: tokensPath + "/" + t.ID + "/narrow", Narrow: &row, had: t.Scopes}, nil
}

// narrowToken takes rights from a token. What the token may do afterwards is recorded with it.
func (v *visit) narrowToken() error {
	f, err := v.narrowing()
	if err != nil {
		return err
	}
	n := identity.Narrowing{User: strings.TrimSpace(v.r.PostForm.Get("user")), Expires: f.Narrow.Expires}
	if days := cmp.Or(v.r.PostForm.Get("days"), keep); days != keep {
		count, err := strconv.Atoi(days)
		if err != nil || count < 1 || count > 3650 {
			return v.tokenFormAgain(f, contract.Errorf(contract.Invalid, "days must be a number from 1 to 3650, or keep"))
		}
		n.Expires = v.Now().AddDate(0, 0, count)
	}
	if n.Scopes, err = v.formScopes(); err == nil {
		n.Rate, err = v.formRate()
	}
	if err != nil {
		return v.tokenFormAgain(f, err)
	}
	ctx, effect := v.start("console/token_narrow", v.person, jsontree.M("was", jsontree.Str(f.Narrow.ID)), jsontree.M("scopes", jsontree.Str(n.Scopes.String())))
	if _, err := v.Tokens.Narrow(ctx, f.Narrow.ID, n); err != nil {
		return v.tokenFormAgain(f, err)
	}
	v.conclude(effect, nil)
	v.redirect(accessPath + "#tokens")
	return nil
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

// confirmRevokeToken asks before a token is revoked, and says what stops working.
func (v *visit) confirmRevokeToken() error {
	t, err := v.tokenByID(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	page := confirmPage{
		Title: "Revoke token " + t.Name + "?", Action: tokensPath + "/" + t.ID + "/revoke", Button: "Revoke " + t.Name, Back: accessPath + "#tokens",
		Facts: []confirmFact{{Label: "Scopes", Text: cmp.Or(strings.Join(t.Scopes.List(), ", "), "none")}, {Label: "Valid", Text: validUntil(t.Expires)}, v.lastUse(t.Principal())},
		Stops: []string{
			"Each call with this token is rejected, from the next one on.",
			"Open connections, download links and tasks that it started end.",
		},
		Again: "A revoked token stays revoked. “Make again...” then opens a form with the same name and scopes, which makes another token with another secret.",
	}
	waiting, err := v.waitingOf(v.r.Context(), t.Principal())
	if err != nil {
		return err
	}
	if waiting > 0 {
		page.Stops = append(page.Stops, contract.Count(waiting, "request")+" of "+t.Principal()+" that wait for a person: no call can use them any more.")
	}
	rules, err := v.rulesOf(v.r.Context(), t.Principal())
	if err != nil {
		return err
	}
	if rules > 0 {
		page.Stops = append(page.Stops, contract.Count(rules, "rule")+" in force for "+t.Principal()+": they are for this token, and a new one of the same name has none.")
	}
	return v.confirm(page)
}

func (v *visit) revokeToken() error {
	ctx, effect := v.start("console/token_revoke", v.person)
	revoked, err := v.Tokens.Revoke(ctx, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	v.conclude(effect, nil)
	v.redirect(accessPath + "?" + url.Values{"revoked": {revoked.ID}}.Encode())
	return nil
}
