package console

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
	"remit/internal/engine/passkey"
	"remit/internal/engine/passkey/passkeytest"
)

// withPasskeys gives a fixture passkeys, of which none is registered yet.
func withPasskeys(t *testing.T) (*fixture, *passkeytest.Memory) {
	t.Helper()
	c, memory := newFixture(t), &passkeytest.Memory{}
	c.Passkeys = passkeytest.NewKeys(memory, c.Now)
	c.Desk.Passkeys = c.Passkeys
	store := &approval.Recorded{Store: &approval.Signed{Store: c.approvals, Passkeys: c.Passkeys}, Audit: c}
	c.Desk.Open = func(context.Context) (approval.Store, error) { return store, nil }
	return c, memory
}

type sender func(method, target string, form url.Values, headers ...string) *httptest.ResponseRecorder

// ask returns what a page asks the authenticator of the browser.
func (send sender) ask(t *testing.T, target string, form url.Values) (q passkey.Question) {
	t.Helper()
	w := send("POST", target, form)
	if err := json.Unmarshal(w.Body.Bytes(), &q); err != nil || w.Code != 200 {
		t.Fatalf("%s: status %d, error %v: %s", target, w.Code, err, w.Body)
	}
	return q
}

// register registers the passkey of an authenticator.
func (send sender) register(t *testing.T, a *passkeytest.Authenticator, by *passkeytest.Authenticator) *httptest.ResponseRecorder {
	t.Helper()
	q := send.ask(t, "/console/passkeys/add", url.Values{})
	form := url.Values{"name": {" phone "}, "nonce": {q.Nonce}, "attestation": {a.Create(q)}}
	if by != nil {
		form.Set("assertion", by.Get(q))
	}
	return send("POST", "/console/passkeys", form)
}

func TestPasskeysPage(t *testing.T) {
	c, memory := withPasskeys(t)
	approver := sender(c.as(identity.Approver))
	local := func(target string) *httptest.ResponseRecorder {
		return approver("GET", passkeytest.Origin+target, nil)
	}
	wants(t, c.as(identity.Viewer)("GET", "/console/passkeys", nil), 403)
	wants(t, approver("GET", "/console/passkeys", nil), 200, `href="`+passkeytest.Origin+`/console/passkeys"`, "you sign in once more")
	lacks(t, approver("GET", "/console/passkeys", nil), `id="passkey-name"`)
	wants(t, local("/console/passkeys"), 200, "No passkeys", `id="passkey-name"`, "<noscript>", "data-passkey-message")
	c.Passkeys.Origin = func() string { return "" }
	wants(t, local("/console/passkeys"), 200, "set --public-url")
	c.Passkeys.Origin = func() string { return passkeytest.Origin }

	hers := passkeytest.NewAuthenticator(t)
	wants(t, approver.register(t, hers, nil), 303)
	wants(t, local("/console/passkeys"), 200, "phone", "never", "Approvals need the signature of a passkey now", "which confirms the new one")
	wants(t, approver.register(t, passkeytest.NewAuthenticator(t), nil), 403, "signature of a registered passkey is missing")
	wants(t, approver("POST", "/console/passkeys", url.Values{"name": {"\u202ex"}}), 400, "invisible")
	records := strings.Join(c.recorded(), "\n")
	for _, want := range []string{
		"console:ada passkeys/register ok", `"passkey":"` + hex.EncodeToString(hers.ID) + `","public_key":"`, "console:ada passkeys/register denied", "passkeys/register invalid",
	} {
		if !strings.Contains(records, want) {
			t.Errorf("no record %s in\n%s", want, records)
		}
	}
	memory.LedgerErr = errors.New("cut off")
	wants(t, local("/console/passkeys"), 503, "or remove it")
}

func TestPasskeysOfOthers(t *testing.T) {
	c, memory := withPasskeys(t)
	approver, hers := sender(c.as(identity.Approver)), passkeytest.NewAuthenticator(t)
	wants(t, approver.register(t, hers, nil), 303)
	c.people.cookies["session-of-approver"] = identity.Person{Name: "grace", Role: identity.Approver}
	id := hex.EncodeToString(hers.ID)
	w := approver("GET", passkeytest.Origin+"/console/passkeys", nil)
	wants(t, w, 200, "You have no passkey")
	lacks(t, w, id)
	q := approver.ask(t, "/console/passkeys/"+id+"/passkey", url.Values{})
	form := url.Values{"nonce": {q.Nonce}, "assertion": {hers.Get(q)}}
	wants(t, approver("POST", "/console/passkeys/"+id+"/remove", form), 404)
	admin := sender(c.as(identity.Admin))
	c.people.cookies["session-of-admin"] = identity.Person{Name: "root", Role: identity.Admin}
	wants(t, admin("GET", passkeytest.Origin+"/console/passkeys", nil), 200, id, "<td>ada</td>")
	wants(t, admin("POST", "/console/passkeys/"+id+"/remove", url.Values{}), 403)
	// The question was for another person.
	wants(t, admin("POST", "/console/passkeys/"+id+"/remove", form), 403)
	q = admin.ask(t, "/console/passkeys/"+id+"/passkey", url.Values{})
	wants(t, admin("POST", "/console/passkeys/"+id+"/remove", url.Values{"nonce": {q.Nonce}, "assertion": {hers.Get(q)}}), 303)
	if len(memory.Keys) > 0 || len(memory.Registered) > 0 {
		t.Error("the passkey is still there")
	}
	if records := strings.Join(c.recorded(), "\n"); !strings.Contains(records, "console:root passkeys/remove ok") || !strings.Contains(records, `"of":"console:ada"`) {
		t.Errorf("recorded\n%s", records)
	}
}

func TestSignedDecision(t *testing.T) {
	c, memory := withPasskeys(t)
	approver, hers := sender(c.as(identity.Approver)), passkeytest.NewAuthenticator(t)
	wants(t, approver.register(t, hers, nil), 303)
	r, other := c.addRequest(t, "k3v9q2xa7m", "agent:x", `{}`), c.addRequest(t, "m3v9q2xa7m", "agent:x", `{"n":1}`)
	const at = "/console/approvals/k3v9q2xa7m"
	wants(t, approver("GET", passkeytest.Origin+at, nil), 200, `data-passkey="`+at+`/passkey"`, "data-signs", "Approve with your passkey", "<noscript>")
	away := approver("GET", at, nil)
	wants(t, away, 200, `href="`+passkeytest.Origin+at+`"`, `value="deny"`)
	lacks(t, away, `value="approve"`)
	decide := func(id string, q passkey.Question, verdict string) *httptest.ResponseRecorder {
		form := url.Values{"verdict": {verdict}, "shown": {r.PageMark("")}, "nonce": {q.Nonce}}
		if q.Get != nil {
			form.Set("assertion", hers.Get(q))
		}
		return approver("POST", "/console/approvals/"+id+"/decide", form)
	}
	wants(t, approver("POST", at+"/passkey", url.Values{"shown": {other.PageMark("")}}), 409, "does not say what you saw")
	form := url.Values{"verdict": {"approve"}, "shown": {r.PageMark("")}}
	wants(t, approver("POST", at+"/decide", form), 403, "approvals must be signed")
	wants(t, decide("k3v9q2xa7m", approver.ask(t, "/console/approvals/m3v9q2xa7m/passkey", url.Values{"shown": {other.PageMark("")}}), "approve"), 403, "not valid for this")
	q := approver.ask(t, at+"/passkey", url.Values{"shown": {r.PageMark("")}})
	wants(t, decide("k3v9q2xa7m", q, "approve"), 303)
	wants(t, approver("POST", at+"/passkey", url.Values{"shown": {r.PageMark("")}}), 409, "approved already")
	wants(t, decide("m3v9q2xa7m", passkey.Question{}, "deny"), 303)
	if c.approvals.all[0].State != approval.Approved || c.approvals.all[1].State != approval.Denied {
		t.Errorf("decided %s and %s", c.approvals.all[0].State, c.approvals.all[1].State)
	}
	c.addRequest(t, "n3v9q2xa7m", "agent:x", `{}`)
	memory.LedgerErr = errors.New("cut off")
	closed := approver("GET", passkeytest.Origin+"/console/approvals/n3v9q2xa7m", nil)
	wants(t, closed, 200, "Nobody can approve this now", "workspaces/w/passkeys.json", `value="deny"`)
	lacks(t, closed, `value="approve"`)
}
