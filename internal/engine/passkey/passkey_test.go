package passkey_test

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/engine/identity"
	"remit/internal/engine/passkey"
	"remit/internal/engine/passkey/passkeytest"
)

const ada, grace = "console:ada", "console:grace"

func TestMemory(t *testing.T) {
	passkeytest.Suite(t, func(*testing.T) passkey.Store { return &passkeytest.Memory{} })
}

// fixture is a workspace in which Ada has registered a passkey.
type fixture struct {
	*passkey.Keys
	memory *passkeytest.Memory
	ada    *passkeytest.Authenticator
	now    time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureWith(t, passkeytest.NewAuthenticator(t))
}

func newFixtureWith(t *testing.T, hers *passkeytest.Authenticator) *fixture {
	t.Helper()
	f := &fixture{memory: &passkeytest.Memory{}, ada: hers, now: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}
	f.Keys = passkeytest.NewKeys(f.memory, func() time.Time { return f.now })
	if _, _, err := f.register(t, ada, f.ada, nil); err != nil {
		t.Fatal(err)
	}
	return f
}

// register registers a passkey, confirmed by another one.
func (f *fixture) register(t *testing.T, person string, with, by *passkeytest.Authenticator) (passkey.Passkey, passkey.Proof, error) {
	t.Helper()
	q, err := f.AskRegistration(t.Context(), person)
	if err != nil {
		t.Fatal(err)
	}
	answer := passkey.Answer{Nonce: q.Nonce, Attestation: with.Create(q)}
	if by != nil {
		answer.Assertion = by.Get(q)
	}
	return f.Register(t.Context(), person, "phone", answer)
}

func (f *fixture) claim() passkey.Claim { return f.ApprovalClaim("k3v9q2xa7m", "shown") }

func (f *fixture) question(t *testing.T, claim passkey.Claim) passkey.Question {
	t.Helper()
	q, err := f.AskApproval(t.Context(), ada, claim)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// answerTo signs the challenge that follows from the nonce of a question, whoever made that up.
func answerTo(f *fixture, q passkey.Question) passkey.Answer {
	q.Get.Challenge = identity.Digest(append(f.claim(), q.Nonce)...)
	return passkey.Answer{Nonce: q.Nonce, Assertion: f.ada.Get(q)}
}

func TestSignature(t *testing.T) {
	f := newFixture(t)
	q := f.question(t, f.claim())
	if q.Origin != passkeytest.Origin || q.Get.RelyingPartyID != "localhost" || q.Get.UserVerification != "required" || len(q.Get.AllowedCredentials) != 1 {
		t.Errorf("the browser is asked %+v", q.Get)
	}
	answer := passkey.Answer{Nonce: q.Nonce, Assertion: f.ada.Get(q)}
	f.now = f.now.Add(time.Minute)
	proof, err := f.Sign(t.Context(), ada, f.claim(), answer)
	if err != nil {
		t.Fatal(err)
	}
	all, err := f.List(t.Context())
	if err != nil || len(all) != 1 || !all[0].Used.Equal(f.now) || all[0].Name != "phone" || all[0].Transports != "internal" {
		t.Errorf("listed %+v, error %v", all, err)
	}
	again, err := passkey.ParseProof(proof.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Verify(all[0].PublicKey, f.claim()); err != nil {
		t.Errorf("the stored signature does not verify: %v", err)
	}
	if err := again.Verify(all[0].PublicKey, f.ApprovalClaim("k3v9q2xa7m", "another")); err == nil {
		t.Error("the stored signature verifies for another page")
	}
	if _, err := f.Sign(t.Context(), ada, f.claim(), answer); contract.AsError(err).Kind != contract.Denied {
		t.Errorf("the same answer once more: %v", err)
	}
}

// forgeries are answers that must not be accepted.
var forgeries = map[string]struct {
	person string
	spoil  func(f *fixture)
	forge  func(f *fixture, q passkey.Question) (passkey.Claim, passkey.Answer)
}{
	"another origin":        {spoil: func(f *fixture) { f.ada.Origin = "https://evil.example" }},
	"another port":          {spoil: func(f *fixture) { f.ada.Origin = "http://localhost:8723" }},
	"another scheme":        {spoil: func(f *fixture) { f.ada.Origin = "https://localhost:8722" }},
	"another party":         {spoil: func(f *fixture) { f.ada.RPID = "evil.example" }},
	"no verification":       {spoil: func(f *fixture) { f.ada.Unverified = true }},
	"another ceremony":      {spoil: func(f *fixture) { f.ada.Type = "webauthn.create" }},
	"a bogus signature":     {spoil: func(f *fixture) { f.ada.Key = passkeytest.NewAuthenticator(f.ada.T).Key }},
	"an unknown credential": {spoil: func(f *fixture) { f.ada.ID = []byte("another credential") }},
	"another person":        {person: grace},
	"too late":              {spoil: func(f *fixture) { f.now = f.now.Add(2 * time.Minute) }},
	"before its time":       {spoil: func(f *fixture) { f.now = f.now.Add(-time.Second) }},
	"another request": {forge: func(f *fixture, q passkey.Question) (passkey.Claim, passkey.Answer) {
		return f.ApprovalClaim("m3v9q2xa7m", "shown"), passkey.Answer{Nonce: q.Nonce, Assertion: f.ada.Get(q)}
	}},
	"another page": {forge: func(f *fixture, q passkey.Question) (passkey.Claim, passkey.Answer) {
		return f.ApprovalClaim("k3v9q2xa7m", "another"), passkey.Answer{Nonce: q.Nonce, Assertion: f.ada.Get(q)}
	}},
	"another verdict": {forge: func(f *fixture, q passkey.Question) (passkey.Claim, passkey.Answer) {
		claim := f.claim()
		claim[len(claim)-1] = "deny"
		return claim, passkey.Answer{Nonce: q.Nonce, Assertion: f.ada.Get(q)}
	}},
	"another workspace": {forge: func(f *fixture, q passkey.Question) (passkey.Claim, passkey.Answer) {
		claim := f.claim()
		claim[1] = "/other"
		return claim, passkey.Answer{Nonce: q.Nonce, Assertion: f.ada.Get(q)}
	}},
	"another nonce": {forge: func(f *fixture, q passkey.Question) (passkey.Claim, passkey.Answer) {
		return f.claim(), passkey.Answer{Nonce: f.question(f.ada.T.(*testing.T), f.claim()).Nonce, Assertion: f.ada.Get(q)}
	}},
	"a made-up nonce": {forge: func(f *fixture, q passkey.Question) (passkey.Claim, passkey.Answer) {
		q.Nonce = strings.Repeat("ff", len(q.Nonce)/2)
		return f.claim(), answerTo(f, q)
	}},
	"an altered nonce": {forge: func(f *fixture, q passkey.Question) (passkey.Claim, passkey.Answer) {
		q.Nonce = q.Nonce[:len(q.Nonce)-2] + "00" // the end of the seal
		return f.claim(), answerTo(f, q)
	}},
	"the nonce of another person": {forge: func(f *fixture, q passkey.Question) (passkey.Claim, passkey.Answer) {
		theirs, err := f.AskRegistration(f.ada.T.Context(), grace)
		if err != nil {
			f.ada.T.Fatal(err)
		}
		q.Nonce = theirs.Nonce
		return f.claim(), answerTo(f, q)
	}},
	"no answer": {forge: func(f *fixture, q passkey.Question) (passkey.Claim, passkey.Answer) {
		return f.claim(), passkey.Answer{Nonce: q.Nonce}
	}},
}

// TestForgedSignature checks that an answer is good for one question, one person and our own page.
func TestForgedSignature(t *testing.T) {
	for name, c := range forgeries {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			q := f.question(t, f.claim())
			if c.spoil != nil {
				c.spoil(f)
			}
			claim, answer := f.claim(), passkey.Answer{Nonce: q.Nonce, Assertion: f.ada.Get(q)}
			if c.forge != nil {
				claim, answer = c.forge(f, q)
			}
			person := ada
			if c.person != "" {
				person = c.person
			}
			if _, err := f.Sign(t.Context(), person, claim, answer); err == nil || contract.AsError(err).Kind != contract.Denied {
				t.Errorf("error %v, want a denial", err)
			}
			if all, _ := f.List(t.Context()); len(all) != 1 || !all[0].Used.IsZero() {
				t.Error("the passkey counts as used")
			}
		})
	}
}

func TestPasskeyOfAnotherPerson(t *testing.T) {
	f := newFixture(t)
	hers := passkeytest.NewAuthenticator(t)
	if _, _, err := f.register(t, grace, hers, f.ada); err != nil {
		t.Fatal(err)
	}
	q, err := f.AskApproval(t.Context(), grace, f.claim())
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Sign(t.Context(), grace, f.claim(), passkey.Answer{Nonce: q.Nonce, Assertion: f.ada.Get(q)})
	contracttest.WantError(t, err, contract.Denied, "not registered here for you")
	if q, err = f.AskApproval(t.Context(), grace, f.claim()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Sign(t.Context(), grace, f.claim(), passkey.Answer{Nonce: q.Nonce, Assertion: hers.Get(q)}); err != nil {
		t.Errorf("with her own: %v", err)
	}
	if _, err := f.AskApproval(t.Context(), "console:eve", f.claim()); contract.AsError(err).Kind != contract.Denied {
		t.Errorf("a person without a passkey: %v", err)
	}
}

func TestCounterThatDoesNotGrow(t *testing.T) {
	f := newFixture(t)
	sign := func(count uint32) error {
		q := f.question(t, f.claim())
		f.ada.Count = count
		_, err := f.Sign(t.Context(), ada, f.claim(), passkey.Answer{Nonce: q.Nonce, Assertion: f.ada.Get(q)})
		return err
	}
	for _, c := range []struct {
		count uint32
		ok    bool
	}{{0, true}, {5, true}, {5, false}, {4, false}, {0, false}, {6, true}} {
		if err := sign(c.count); (err == nil) != c.ok {
			t.Errorf("the counter %d: error %v", c.count, err)
		}
	}
}

// TestRegistration checks that the first passkey is accepted as it is, and any other one only with
// the signature of a registered one.
func TestRegistration(t *testing.T) {
	f := newFixture(t)
	other := passkeytest.NewAuthenticator(t)
	q, err := f.AskRegistration(t.Context(), grace)
	if err != nil {
		t.Fatal(err)
	}
	if q.Get == nil || q.Create == nil || q.Create.AuthenticatorSelection.UserVerification != "required" {
		t.Fatalf("asked %+v", q)
	}
	for name, answer := range map[string]func(q passkey.Question) passkey.Answer{
		"no confirmation": func(q passkey.Question) passkey.Answer { return passkey.Answer{Attestation: other.Create(q)} },
		"confirmed with itself": func(q passkey.Question) passkey.Answer {
			return passkey.Answer{Attestation: other.Create(q), Assertion: other.Get(q)}
		},
		"of another question": func(q passkey.Question) passkey.Answer {
			early, err := f.AskRegistration(context.Background(), grace)
			if err != nil {
				t.Fatal(err)
			}
			return passkey.Answer{Attestation: other.Create(early), Assertion: f.ada.Get(q)}
		},
		"without verification": func(q passkey.Question) passkey.Answer {
			lazy := passkeytest.NewAuthenticator(t)
			lazy.Unverified = true
			return passkey.Answer{Attestation: lazy.Create(q), Assertion: f.ada.Get(q)}
		},
		"of another port": func(q passkey.Question) passkey.Answer {
			away := passkeytest.NewAuthenticator(t)
			away.Origin = "http://localhost:1"
			return passkey.Answer{Attestation: away.Create(q), Assertion: f.ada.Get(q)}
		},
	} {
		q, err := f.AskRegistration(t.Context(), grace)
		if err != nil {
			t.Fatal(err)
		}
		answered := answer(q)
		answered.Nonce = q.Nonce
		if _, _, err := f.Register(t.Context(), grace, "key", answered); contract.AsError(err).Kind != contract.Denied {
			t.Errorf("%s: %v", name, err)
		}
	}
	made, proof, err := f.register(t, grace, other, f.ada)
	if err != nil || made.Person != grace || proof.IsZero() {
		t.Fatalf("registered %+v, proof %v, error %v", made, proof, err)
	}
	if all, err := f.List(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%d passkeys, error %v", len(all), err)
	}
	if _, _, err := f.register(t, grace, other, f.ada); contract.AsError(err).Kind != contract.Conflict {
		t.Errorf("the same passkey again: %v", err)
	}
}

// TestTwoFirstPasskeys checks that of two people who register the first passkey at once, the second
// is asked for a confirmation, with and without a ledger.
func TestTwoFirstPasskeys(t *testing.T) {
	for _, ledger := range []bool{true, false} {
		f := &fixture{memory: &passkeytest.Memory{}, now: time.Unix(1e9, 0)}
		f.Keys = passkeytest.NewKeys(f.memory, func() time.Time { return f.now })
		if !ledger {
			f.Ledger = nil
		}
		var questions [2]passkey.Question
		for i, person := range []string{ada, grace} {
			var err error
			if questions[i], err = f.AskRegistration(t.Context(), person); err != nil {
				t.Fatal(err)
			}
		}
		for i, person := range []string{ada, grace} {
			answer := passkey.Answer{Nonce: questions[i].Nonce, Attestation: passkeytest.NewAuthenticator(t).Create(questions[i])}
			if _, _, err := f.Register(t.Context(), person, "key", answer); (err == nil) != (i == 0) {
				t.Errorf("ledger %v: registration %d: %v", ledger, i, err)
			}
		}
	}
}

// staleLedger shows nothing to readers, as in the moment before somebody else writes.
type staleLedger struct{ *passkeytest.Memory }

func (staleLedger) Load() (map[string]string, error) { return nil, nil }

func TestFirstPasskeyIsTakenMeanwhile(t *testing.T) {
	f := newFixture(t)
	f.Ledger = staleLedger{f.memory}
	_, _, err := f.register(t, grace, passkeytest.NewAuthenticator(t), nil)
	contracttest.WantError(t, err, contract.Conflict, "must be confirmed with it")
	if len(f.memory.Registered) != 1 || len(f.memory.Keys) != 1 {
		t.Errorf("registered %v", f.memory.Registered)
	}
}

func TestRemoval(t *testing.T) {
	f := newFixture(t)
	id := hex.EncodeToString(f.ada.ID)
	ask := func() passkey.Question {
		t.Helper()
		q, err := f.AskRemoval(t.Context(), ada, id)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	if _, _, err := f.Remove(t.Context(), ada, id, passkey.Answer{Nonce: ask().Nonce}); contract.AsError(err).Kind != contract.Denied {
		t.Errorf("without a signature: %v", err)
	}
	q := f.question(t, f.claim())
	if _, _, err := f.Remove(t.Context(), ada, id, passkey.Answer{Nonce: q.Nonce, Assertion: f.ada.Get(q)}); contract.AsError(err).Kind != contract.Denied {
		t.Errorf("with the signature of an approval: %v", err)
	}
	q = ask()
	if _, _, err := f.Remove(t.Context(), ada, id, passkey.Answer{Nonce: q.Nonce, Assertion: f.ada.Get(q)}); err != nil {
		t.Error(err)
	}
	if required, err := f.Required(t.Context()); required || err != nil {
		t.Errorf("required %v, error %v, after the last one was removed", required, err)
	}
}

// TestDatabaseCannotChangePasskeys checks that approvals still need the registered passkey whatever
// happens to the database.
func TestDatabaseCannotChangePasskeys(t *testing.T) {
	thief := passkeytest.NewAuthenticator(t)
	for name, spoil := range map[string]func(f *fixture){
		"rows deleted": func(f *fixture) { f.memory.Keys = nil },
		"public key swapped": func(f *fixture) {
			f.memory.Keys[0].PublicKey = newFixture(t).memory.Keys[0].PublicKey
		},
		"public key swapped and sealed": func(f *fixture) { // as by somebody who can read the key
			thief := passkeytest.NewAuthenticator(t)
			thief.ID = f.ada.ID
			other := newFixtureWith(t, thief)
			f.memory.Keys, f.ada = other.memory.Keys, thief
		},
		"sealed row of another passkey": func(f *fixture) {
			other := newFixture(t)
			f.memory.Keys, f.ada = other.memory.Keys, other.ada
		},
		"person swapped": func(f *fixture) { f.memory.Keys[0].Person = grace },
		"counter reset":  func(f *fixture) { f.memory.Keys[0].SignCount = 99 },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			q := f.question(t, f.claim())
			spoil(f)
			if required, err := f.Required(t.Context()); !required || err != nil {
				t.Errorf("required %v, error %v", required, err)
			}
			if _, err := f.Sign(t.Context(), ada, f.claim(), passkey.Answer{Nonce: q.Nonce, Assertion: f.ada.Get(q)}); err == nil {
				t.Error("signed")
			}
			if all, err := f.List(t.Context()); len(all) > 0 || err != nil {
				t.Errorf("%+v can sign, error %v", all, err)
			}
			if q, err := f.AskRegistration(t.Context(), ada); err == nil {
				answer := passkey.Answer{Nonce: q.Nonce, Attestation: thief.Create(q)}
				if _, _, err := f.Register(t.Context(), ada, "key", answer); err == nil {
					t.Error("another passkey was registered without a confirmation")
				}
			} else if e := contract.AsError(err); e.Kind != contract.Unavailable || !strings.Contains(e.Message, "remove workspaces/w/passkeys.json") {
				t.Errorf("the error names no way out: %v", err)
			}
		})
	}
}

func TestUnreadableLedger(t *testing.T) {
	f := newFixture(t)
	f.memory.LedgerErr = errors.New("changed")
	_, err := f.Required(t.Context())
	contracttest.WantError(t, err, contract.Unavailable, "Restore workspaces/w/passkeys.json in the key folder, or remove it")
}
