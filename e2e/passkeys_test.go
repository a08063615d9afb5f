package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"remit/internal/engine/audit"
)

// addAuthenticator gives a tab an authenticator with a verified person who is always present.
func (v *tab) addAuthenticator(transport webauthn.AuthenticatorTransport) webauthn.AuthenticatorID {
	v.t.Helper()
	if _, err := chromedp.Call(v.ctx, webauthn.Enable, webauthn.EnableParams{}); err != nil {
		v.t.Fatal(err)
	}
	added, err := chromedp.Call(v.ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
		Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: transport,
			HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
		},
	})
	if err != nil {
		v.t.Fatal(err)
	}
	return added.AuthenticatorID
}

// verifies sets whether the authenticator recognizes the person.
func (v *tab) verifies(id webauthn.AuthenticatorID, verified bool) {
	v.t.Helper()
	_, err := chromedp.Call(v.ctx, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: id, IsUserVerified: verified})
	if err != nil {
		v.t.Fatal(err)
	}
}

// enter presses a button with the keyboard.
func (v *tab) enter(selector string) {
	v.t.Helper()
	evaluate[bool](v, `(() => { document.querySelector(`+quoted(selector)+`).focus(); return true })()`)
	v.run(chromedp.KeyEvent("\r"))
}

// approveOpen approves the request that is open.
func (v *tab) approveOpen() {
	v.t.Helper()
	v.waitReview("", true)
	v.hold("a", 0)
}

const approveButton = `button[value="approve"]`

// registered opens a console at localhost whose person has registered a passkey.
func registered(t *testing.T, w *httpServer) (*tab, webauthn.AuthenticatorID) {
	t.Helper()
	local := strings.Replace(w.url, "127.0.0.1", "localhost", 1)
	ada := openBrowser(t).windowAt(w, local, "approver", "ada")
	authenticator := ada.addAuthenticator(webauthn.AuthenticatorTransportInternal)
	ada.open("/console/passkeys")
	ada.waitForText("Approvals need no signature")
	evaluate[bool](ada, `(() => { document.querySelector("#passkey-name").value = "laptop"; return true })()`)
	ada.enter(`form[data-passkey="/console/passkeys/add"] button`)
	ada.waitForText("Approvals need the signature of a passkey now")
	ada.waitForText("laptop")
	return ada, authenticator
}

// TestPasskey: a person registers a passkey, and from then on nothing but its signature approves.
func TestPasskey(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.env = []string{"REMIT_KEYS=" + filepath.Join(t.TempDir(), "keys")}
	person, agent := s.personToken("--name", "bot", "--role", "approver"), s.token("--name", "agent", "--scopes", "*", "--user", "*")
	w := s.serve("--toolsets", "learning-os")
	ask := func(decision string) string {
		t.Helper()
		got := w.post("/tools/write_memory_entry", entryOf(decision), bearer(agent))
		return string(requestID.FindSubmatch(got.body)[1])
	}
	before := ask("approved before")
	if got := s.person("approvals", "approve", before); got.code != 0 {
		t.Fatalf("at the terminal, without a passkey: %+v", got)
	}
	cookie := w.signedIn()
	if page := w.get("/console/passkeys", cookie); !strings.Contains(string(page.body), strings.Replace(w.url, "127.0.0.1", "localhost", 1)+"/console/passkeys") {
		t.Errorf("the page at 127.0.0.1 does not say where to go: %s", clip(page.body))
	}
	ada, authenticator := registered(t, w)
	if got := w.post("/tools/write_memory_entry", entryOf("approved before"), bearer(agent)); got.status != http.StatusForbidden {
		t.Errorf("an approval from before counts: %d %s", got.status, got.body)
	}

	id := ask("signed")
	ada.open("/console/approvals/" + id)
	ada.verifies(authenticator, false)
	ada.approveOpen()
	ada.waitForText("Nothing was signed")
	ada.screenshot("request")
	ada.verifies(authenticator, true)
	ada.checkAccessibility("the page of a request")
	ada.approveOpen()
	ada.waitForText("The agent may now repeat the same call")
	if got := w.post("/tools/write_memory_entry", entryOf("signed"), bearer(agent)); got.status != http.StatusOK {
		t.Errorf("signed, and yet: %d %s", got.status, got.body)
	}
	ada.open("/console/passkeys")
	ada.screenshot("passkeys")
	ada.checkAccessibility("the page of passkeys")
	ada.checkFaults("the console at localhost")

	checkOtherWays(t, w, ask("other ways"), person, cookie)
	w.end()
	checkSignedRecords(t, s, id)
}

// checkOtherWays: with a passkey registered, any other way of approving is refused; denying is not.
func checkOtherWays(t *testing.T, w *httpServer, id, person string, cookie http.Header) {
	t.Helper()
	s := w.workspace
	if got := s.person("approvals", "approve", id); got.code == 0 || !strings.Contains(got.errOut, "approve in the console at http://localhost:") || strings.Contains(got.errOut, "Type ") {
		t.Errorf("at the terminal: %+v", got)
	}
	shown := regexp.MustCompile(`"shown":"([^"]*)"`).FindSubmatch(w.get("/approvals/"+id, bearer(person)).body)
	got := w.post("/approvals/"+id+"/approve", `{"shown":"`+string(shown[1])+`"}`, bearer(person))
	if got.status != http.StatusForbidden || !strings.Contains(string(got.body), "approvals must be signed") {
		t.Errorf("over the API: %d %s", got.status, got.body)
	}
	page := w.get("/console/approvals/"+id, cookie)
	if text := string(page.body); strings.Contains(text, approveButton[6:]) || !strings.Contains(text, "/console/approvals/"+id+`">http://localhost:`) {
		t.Errorf("the page at 127.0.0.1 does not send the person to localhost: %s", text)
	}
	if got := w.approve(id, w.seen(id, cookie), cookie); got.status != http.StatusForbidden {
		t.Errorf("a form without a signature: %d %s", got.status, clip(got.body))
	}
	r := s.stdio("--toolsets", "learning-os")
	r.initialize(`{"elicitation":{}}`)
	if got := r.call("write_memory_entry", entryOf("in a dialog")); !strings.Contains(got.text, `"status":"pending"`) || strings.Contains(got.text, "remit ") {
		t.Errorf("over stdio: %s", got.text)
	}
	r.end()
	if got := s.person("approvals", "deny", id); got.code != 0 {
		t.Errorf("deny at the terminal: %+v", got)
	}
}

// checkSignedRecords: the records hold the signature, and audit verify names one that was changed,
// even if all hashes of the chain were computed again.
func checkSignedRecords(t *testing.T, s *workspace, id string) {
	t.Helper()
	s.verifyAudit()
	names, err := filepath.Glob(s.path(".remit/audit/*.jsonl"))
	s.check(err)
	name := names[len(names)-1]
	data, err := os.ReadFile(name)
	s.check(err)
	for _, want := range []string{`"passkeys/register"`, `"public_key":"`, `"signed":{"claim":["approval 1",`, `"outcome":"denied"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no record has %s", want)
		}
	}
	for _, way := range []string{"cli", "api", "console"} {
		if !regexp.MustCompile(`"frontend":"` + way + `"[^\n]*"tool":"approvals/approve"[^\n]*"outcome":"denied"`).Match(data) {
			t.Errorf("the attempt by %s is not recorded", way)
		}
	}
	var forged []byte
	number, last := 0, audit.InitialHash
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		record, _, _ := bytes.Cut(line, []byte(`,"prev":"`))
		record = append(bytes.Clone(record), '}')
		if bytes.Contains(record, []byte(`"signed":{`)) && bytes.Contains(record, []byte(id)) {
			number = i + 1
			record = regexp.MustCompile(`"signature":"....`).ReplaceAll(record, []byte(`"signature":"3046`))
			record = bytes.Replace(record, []byte(`"authenticator_data":"49`), []byte(`"authenticator_data":"48`), 1)
		}
		sealed := audit.Seal(last, record)
		last, forged = audit.HashOf(sealed), append(append(forged, sealed...), '\n')
	}
	s.check(os.WriteFile(name, forged, 0o600))
	want := fmt.Sprintf("line %d: its passkey signature is not valid", number)
	if got := s.remit("audit", "verify"); got.code == 0 || number == 0 || !strings.Contains(got.errOut, want) {
		t.Errorf("audit verify does not say %q: %+v", want, got)
	}
}

// TestPasskeyOfTheDatabase: a public key that was swapped in the database, deleted rows and an
// older data folder do not make another way of approving possible.
func TestPasskeyOfTheDatabase(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	keys := s.ownKeys()
	w := s.serve("--toolsets", "learning-os")
	w.request("first") // creates the database
	w.end()
	older := filepath.Join(t.TempDir(), "older")
	s.copyFolder(s.path(".remit"), older)
	w = s.serve("--toolsets", "learning-os")
	ada, _ := registered(t, w)
	id := w.request("second")
	for _, change := range []string{
		`UPDATE passkeys SET public_key = x'a0'`, `UPDATE passkeys SET person = 'console:eve'`, `UPDATE passkeys SET sign_count = 0, seal = ''`, `DELETE FROM passkeys`,
	} {
		s.behind(change)
		ada.open("/console/approvals/" + id)
		ada.approveOpen()
		ada.waitForText("you have registered none that can be used")
		if got := s.person("approvals", "approve", id); got.code == 0 || !strings.Contains(got.errOut, "approvals must be signed") {
			t.Errorf("after %s, at the terminal: %+v", change, got)
		}
	}
	w.end()
	s.copyFolder(older, s.path(".remit"))
	w = s.serve("--toolsets", "learning-os", "--log-level", "error")
	id = w.request("third")
	if got := s.person("approvals", "approve", id); got.code == 0 || !strings.Contains(got.errOut, "approvals must be signed") {
		t.Errorf("with an older data folder, at the terminal: %+v", got)
	}
	names, err := filepath.Glob(filepath.Join(keys, "workspaces", "*", "passkeys.json"))
	s.check(err)
	s.check(os.Truncate(names[0], 100))
	if got := s.person("approvals", "approve", id); got.code == 0 || !strings.Contains(got.errOut, "in the key folder, or remove it") {
		t.Errorf("with a damaged list of passkeys, at the terminal: %+v", got)
	}
	w.end()
}

// behind changes the database of the workspace while the server runs.
func (s *workspace) behind(statement string) {
	s.t.Helper()
	// The server may be writing.
	db, err := sql.Open("sqlite", "file:"+s.path(".remit/remit.db")+"?_pragma=busy_timeout(60000)")
	s.check(err)
	_, err = db.ExecContext(s.t.Context(), statement)
	s.check(err)
	s.check(db.Close())
}

// TestSecondPasskey: another passkey needs the signature of a registered one, and once the last one
// is removed, the other ways of approving work again.
func TestSecondPasskey(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, flags ...string) {
		s := newWorkspace(t, nil)
		s.env = []string{"REMIT_KEYS=" + filepath.Join(t.TempDir(), "keys")}
		if len(flags) > 0 {
			s.env = append(s.env, "REMIT_DATABASE="+flags[1])
		}
		checkSecondPasskey(t, s)
	})
}

func checkSecondPasskey(t *testing.T, s *workspace) {
	t.Helper()
	w := s.serve("--toolsets", "learning-os")
	ada, first := registered(t, w)
	const removal, confirmed = `a[href$="/remove"]`, `form[action$="/remove"] button`
	add := func(name string) {
		t.Helper()
		evaluate[bool](ada, `(() => { document.querySelector("#passkey-name").value = `+quoted(name)+`; return true })()`)
		ada.enter(`form[data-passkey="/console/passkeys/add"] button`)
	}
	ada.verifies(first, false) // the authenticator does not recognize the person
	add("phone")
	ada.waitForText("Nothing was signed")
	ada.verifies(first, true)
	add("phone") // the only authenticator holds one already
	ada.waitForText("already has a passkey for this workspace")
	ada.addAuthenticator(webauthn.AuthenticatorTransportUsb)
	add("phone")
	ada.waitForCount(removal, 2)
	id := w.request("by hand")
	for left := 1; left >= 0; left-- {
		ada.enter(removal)
		ada.waitForText("What stops working")
		ada.enter(confirmed)
		ada.waitForText("is removed, and never works again")
		ada.waitForCount(removal, left)
	}
	ada.waitForText("Approvals need no signature")
	if got := s.person("approvals", "approve", id); got.code != 0 {
		t.Errorf("at the terminal, after the last one was removed: %+v", got)
	}
	w.end()
	records := s.remit("audit", "list", "--json", "--limit", "1000").out
	for what, want := range map[string]int{`"passkeys/register"`: 2, `"passkeys/remove"`: 2, `"passkey add 1"`: 1, `"passkey remove 1"`: 2} {
		if n := strings.Count(records, what); n != want {
			t.Errorf("%d records have %s, want %d", n, what, want)
		}
	}
	s.verifyAudit()
}

// waitForCount waits until the page has so many elements.
func (v *tab) waitForCount(selector string, count int) {
	v.t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(v.ctx, timeout)
		n, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.querySelectorAll(`+quoted(selector)+`).length`))
		cancel()
		if err == nil && n == count {
			return
		}
		if time.Now().After(deadline) {
			v.t.Fatalf("%s has %d of %s, want %d", v.address(), n, selector, count)
		}
	}
}
