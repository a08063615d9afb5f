package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/identity"
	"remit/internal/engine/passkey"
)

const (
	peoplePath   = accessPath + "/people"
	sessionsPath = accessPath + "/sessions"
	linksPath    = accessPath + "/links"
)

// personRow is a person with their valid sessions, newest first, and the number of their passkeys.
type personRow struct {
	Name     string
	Sessions []identity.Session
	Passkeys int
}

// Role returns the role of the newest session.
func (r personRow) Role() string {
	if len(r.Sessions) == 0 {
		return ""
	}
	return r.Sessions[0].Role.String()
}

// peopleRows returns everybody who is signed in or has a passkey, by name.
func (v *visit) peopleRows() ([]personRow, error) {
	sessions, err := v.People.People(v.r.Context())
	if err != nil {
		return nil, err
	}
	var keys []passkey.Passkey
	if needed, err := v.Passkeys.Required(v.r.Context()); err != nil || needed {
		if err == nil {
			keys, err = v.Passkeys.List(v.r.Context())
		}
		if err != nil { // sessions must be seen and ended nevertheless
			v.Log.Warn("cannot read the passkeys", "error", err, "cause", contract.AsError(err).Cause)
		}
	}
	var rows []personRow
	row := func(name string) *personRow {
		i := slices.IndexFunc(rows, func(r personRow) bool { return r.Name == name })
		if i < 0 {
			i, rows = len(rows), append(rows, personRow{Name: name})
		}
		return &rows[i]
	}
	for _, s := range sessions {
		r := row(s.Name)
		r.Sessions = append(r.Sessions, s)
	}
	for _, k := range keys {
		row(strings.TrimPrefix(k.Person, identity.Person{}.Principal())).Passkeys++
	}
	slices.SortFunc(rows, func(a, b personRow) int { return cmp.Compare(a.Name, b.Name) })
	return rows, nil
}

// linkPage is the data of the form that makes a sign-in link.
type linkPage struct {
	Name  string
	Again bool // the person was signed out
	Roles []ruleChoice
}

// newLinkForm shows the form for a sign-in link, filled with the name and the role of somebody who
// was signed out.
func (v *visit) newLinkForm() error {
	q := v.r.URL.Query()
	page := linkPage{Name: q.Get("name"), Again: q.Get("name") != "", Roles: []ruleChoice{
		{"viewer", "viewer: see everything except tokens, people and the settings", false},
		{"approver", "approver: also approve and deny requests, and use tools that write", false},
		{"admin", "admin: also see the settings, and create tokens and links", false},
	}}
	role := cmp.Or(q.Get("role"), identity.Approver.String())
	for i := range page.Roles {
		page.Roles[i].Chosen = page.Roles[i].Value == role
	}
	return v.page("link", "access", "Sign-in link", page)
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
		About: "Whoever opens this link first is signed in as this person. Send it through a channel that only they can read. " +
			"To make it void, sign the person out on the page Access.",
		Facts: [][2]string{{"Role", role.String()}, {"Valid", fmt.Sprintf("once, %s", validUntil(v.Now().Add(valid)))}},
	}
	return v.page("created", "access", page.Title, page)
}

// confirmSignOut asks before all sessions of a person end.
func (v *visit) confirmSignOut() error {
	name := v.r.URL.Query().Get("name")
	if err := identity.CheckName(name); err != nil {
		return err
	}
	rows, err := v.peopleRows()
	if err != nil {
		return err
	}
	page := confirmPage{
		Title: "Sign out " + name + "?", Action: peoplePath + "/signout", Name: name, Button: "Sign out " + name, Back: accessPath + "#people",
		Stops: []string{"Each sign-in link for " + name + " that was not used yet."},
		Again: "To let the person in again, make a new link. Passkeys stay registered, and what the person decided stays decided.",
	}
	i := slices.IndexFunc(rows, func(r personRow) bool { return r.Name == name })
	if i >= 0 && len(rows[i].Sessions) > 0 {
		all := rows[i].Sessions
		seen := slices.MaxFunc(all, func(a, b identity.Session) int { return a.Seen.Compare(b.Seen) }).Seen
		page.Facts = []confirmFact{
			{Label: "Role", Text: rows[i].Role()},
			{Label: "Sessions", Text: strconv.Itoa(len(all))},
			{Label: "Last seen", Text: distance(seen, v.Now())},
			v.lastUse(identity.Person{Name: name}.Principal()),
		}
		page.Stops = append(page.Stops, contract.Count(len(all), "session")+" of "+name+": every open page of theirs says so, and what they type there can no longer be sent.")
	}
	if name == v.person.Name {
		page.Stops = append(page.Stops, "This page too: you are "+name+".")
	}
	return v.confirm(page)
}

// signOutOther ends all sessions of a person and the event streams of their open pages, and makes
// their links void.
func (v *visit) signOutOther() error {
	name := v.r.PostForm.Get("name")
	role := ""
	if rows, err := v.peopleRows(); err == nil {
		for _, r := range rows {
			if r.Name == name {
				role = r.Role()
			}
		}
	}
	ctx, effect := v.start("console/sign_out_other", v.person, jsontree.M("name", jsontree.Str(name)))
	ended, err := v.People.SignOut(ctx, name)
	if err != nil {
		return err
	}
	effect.Describe(jsontree.M("sessions", jsontree.Int(int64(ended))))
	v.conclude(effect, nil)
	v.live.update(func() bool { v.live.signOuts++; return true })
	v.redirect(accessPath + "?" + url.Values{"out": {name}, "role": {role}}.Encode())
	return nil
}

// sessionByID returns a valid session, or a contract.NotFound error.
func (v *visit) sessionByID(id string) (identity.Session, error) {
	sessions, err := v.People.People(v.r.Context())
	if err != nil {
		return identity.Session{}, err
	}
	for _, s := range sessions {
		if s.ID() == id {
			return s, nil
		}
	}
	return identity.Session{}, contract.Errorf(contract.NotFound, "There is no such session; it may have ended already")
}

// confirmEndSession asks before one session ends.
func (v *visit) confirmEndSession() error {
	s, err := v.sessionByID(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return v.confirm(confirmPage{
		Title: "End a session of " + s.Name + "?", Action: sessionsPath + "/" + s.ID() + "/end", Button: "End the session", Back: accessPath + "#people",
		Facts: []confirmFact{
			{Label: "Role", Text: s.Role.String()},
			{Label: "Signed in", Text: distance(s.Created, v.Now())},
			{Label: "Last seen", Text: distance(s.Seen, v.Now())},
		},
		Stops: []string{"The pages that this session has open. Other sessions of " + s.Name + " and unused sign-in links go on."},
		Again: "A session never comes back. The person signs in again with a new link.",
	})
}

// endSession ends one session and the event streams of its open pages.
func (v *visit) endSession() error {
	ctx, effect := v.start("console/session_end", v.person)
	ended, err := v.People.EndSession(ctx, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	effect.Describe(jsontree.M("name", jsontree.Str(ended.Name)), jsontree.M("session", jsontree.Str(ended.ID())))
	v.conclude(effect, nil)
	v.live.update(func() bool { v.live.signOuts++; return true })
	v.redirect(accessPath + "?" + url.Values{"out": {ended.Name}, "role": {ended.Role.String()}}.Encode())
	return nil
}
