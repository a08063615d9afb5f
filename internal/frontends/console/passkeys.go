package console

import (
	"encoding/json"
	"net/url"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/identity"
	"remit/internal/engine/passkey"
	"remit/internal/visible"
)

// signing says what the approval of a request needs besides a click.
type signing struct {
	Needed bool   // a passkey must sign it
	At     string // the page where passkeys work, if this one is elsewhere
	Closed string // why nobody can approve now
}

// signing returns what the approval of a request needs. page is the path of its review.
func (v *visit) signing(page string) (s signing) {
	needed, err := v.Passkeys.Required(v.r.Context())
	if err != nil {
		v.Log.Warn("cannot read the passkeys", "error", err, "cause", contract.AsError(err).Cause)
		return signing{Closed: visible.Line(contract.AsError(err).Message)}
	}
	if s.Needed = needed; needed {
		s.At, err = v.passkeyPage(page)
	}
	if err != nil {
		s.Closed = contract.AsError(err).Message
	}
	return s
}

// passkeyPage returns the URL of a page at the origin where passkeys work; "" if this one
// is there already. The script compares the origin again, because a proxy may hide it from us.
func (v *visit) passkeyPage(path string) (string, error) {
	origin := v.Passkeys.Origin()
	at, err := url.Parse(origin)
	switch {
	case err != nil || origin == "":
		return "", passkey.NoOriginError()
	case v.Proxied || strings.EqualFold(v.r.Host, at.Host):
		return "", nil
	}
	return origin + path, nil
}

// passkeysPage is the data of the page about passkeys.
type passkeysPage struct {
	Keys    []passkeyRow
	Others  bool // the list has passkeys of other people
	Needed  bool // any passkey is registered
	At      string
	Problem string // why none can be added
	Again   string // the name of the person's passkey that was just removed
}

// passkeyRow is a passkey in the list.
type passkeyRow struct {
	passkey.Passkey
	Whose string
}

func (v *visit) passkeys() error {
	var page passkeysPage
	var err error
	if again := v.r.URL.Query().Get("removed"); identity.CheckName(again) == nil {
		page.Again = again
	}
	if page.At, err = v.passkeyPage(v.r.URL.Path); err != nil {
		page.Problem = contract.AsError(err).Message
	}
	if page.Needed, err = v.Passkeys.Required(v.r.Context()); err != nil {
		return err
	}
	all, err := v.Passkeys.List(v.r.Context())
	if err != nil {
		return err
	}
	for _, p := range all {
		if v.mayRemove(&p) {
			page.Keys = append(page.Keys, passkeyRow{p, strings.TrimPrefix(p.Person, identity.Person{}.Principal())})
			page.Others = page.Others || p.Person != v.person.Principal()
		}
	}
	return v.page("passkeys", "passkeys", "Passkeys", page)
}

// mayRemove reports whether a passkey is one of the person's own, or the person is an admin.
func (v *visit) mayRemove(p *passkey.Passkey) bool {
	return p.Person == v.person.Principal() || v.person.Role >= identity.Admin
}

// passkeyAnswer returns what the script of a page added to a form.
func (v *visit) passkeyAnswer() passkey.Answer {
	form := v.r.PostForm
	return passkey.Answer{Nonce: form.Get("nonce"), Assertion: form.Get("assertion"), Attestation: form.Get("attestation")}
}

// askApproval responds with the question to the passkey of a person who approves a request.
func (v *visit) askApproval() error {
	q, err := v.Desk.AskPasskey(v.r.Context(), v.r.PathValue("id"), v.person.Principal(), v.r.PostForm.Get("shown"))
	return v.respondQuestion(q, err)
}

func (v *visit) askNewPasskey() error {
	q, err := v.Passkeys.AskRegistration(v.r.Context(), v.person.Principal())
	return v.respondQuestion(q, err)
}

func (v *visit) askRemoval() error {
	q, err := v.Passkeys.AskRemoval(v.r.Context(), v.person.Principal(), v.r.PathValue("id"))
	return v.respondQuestion(q, err)
}

func (v *visit) respondQuestion(q passkey.Question, err error) error {
	if err != nil {
		return err
	}
	body, err := json.Marshal(q)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "application/json")
	_, _ = v.w.Write(body) // an error means that the browser has disconnected
	return nil
}

func (v *visit) addPasskey() error {
	if err := v.auditReady("registered"); err != nil {
		return err
	}
	name := strings.TrimSpace(v.r.PostForm.Get("name"))
	ctx, effect := v.start(passkey.RecordRegistered, v.person, jsontree.M("name", jsontree.Str(name)))
	_, _, err := v.Passkeys.Register(ctx, v.person.Principal(), name, v.passkeyAnswer())
	v.conclude(effect, err)
	if err != nil {
		return err
	}
	v.redirect("/console/passkeys")
	return nil
}

// ownedPasskey returns the passkey that the path names, if the visitor may remove it.
func (v *visit) ownedPasskey() (passkey.Passkey, error) {
	p, found, err := v.Passkeys.ByID(v.r.Context(), v.r.PathValue("id"))
	if err == nil && (!found || !v.mayRemove(&p)) {
		err = contract.Errorf(contract.NotFound, "You have no such passkey")
	}
	return p, err
}

// confirmRemovePasskey asks before a passkey is removed, and says what stops working.
func (v *visit) confirmRemovePasskey() error {
	p, err := v.ownedPasskey()
	if err != nil {
		return err
	}
	all, err := v.Passkeys.List(v.r.Context())
	if err != nil {
		return err
	}
	own := 0
	for i := range all {
		if all[i].Person == p.Person {
			own++
		}
	}
	whose := strings.TrimPrefix(p.Person, identity.Person{}.Principal())
	page := confirmPage{
		Title: "Remove passkey " + p.Name + "?", Action: "/console/passkeys/" + p.ID + "/remove", Passkey: "/console/passkeys/" + p.ID + "/passkey",
		Button: "Remove " + p.Name, Back: "/console/passkeys", Stops: []string{"Signing with this passkey, at once."},
		Facts: []confirmFact{{Label: "Person", Text: whose}, {Label: "Created", Text: distance(p.Created, v.Now())}, {Label: "Last used", Text: "never"}},
		Again: "A removed passkey never works again, even if the device still offers it. “Make again...” registers another one. " +
			"Removing asks for the signature of a registered passkey.",
	}
	if !p.Used.IsZero() {
		page.Facts[2].Text = distance(p.Used, v.Now())
	}
	switch {
	case len(all) == 1:
		page.Stops = append(page.Stops, "The need for signatures: it is the last passkey of the workspace, so approvals then need none, and the other ways of approving work again.")
	case own == 1:
		page.Stops = append(page.Stops, "Approving by "+whose+": it is their last passkey, and approvals in this workspace need one.")
	}
	return v.confirm(page)
}

func (v *visit) removePasskey() error {
	p, err := v.ownedPasskey()
	if err != nil {
		return err
	}
	if err := v.auditReady("removed"); err != nil {
		return err
	}
	ctx, effect := v.start(passkey.RecordRemoved, v.person, jsontree.M("name", jsontree.Str(p.Name)), jsontree.M("of", jsontree.Str(p.Person)))
	_, _, err = v.Passkeys.Remove(ctx, v.person.Principal(), p.ID, v.passkeyAnswer())
	v.conclude(effect, err)
	if err != nil {
		return err
	}
	next := "/console/passkeys"
	if p.Person == v.person.Principal() {
		next += "?" + url.Values{"removed": {p.Name}}.Encode()
	}
	v.redirect(next)
	return nil
}
