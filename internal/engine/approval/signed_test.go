package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/engine/passkey"
	"remit/internal/engine/passkey/passkeytest"
)

const ada = "console:ada"

// signed is a desk and a gate of a workspace in which Ada has registered a passkey.
type signed struct {
	*approval.Desk
	gate   *approval.Gate
	store  *fake
	memory *passkeytest.Memory
	ada    *passkeytest.Authenticator
	lines  [][]byte // audit records
}

// Ready implements the audit of approval.Recorded.
func (*signed) Ready(time.Time) error { return nil }

// Append implements audit.Storage.
func (s *signed) Append(_ string, record []byte, _ bool) (func(context.Context) error, error) {
	s.lines = append(s.lines, record)
	return func(context.Context) error { return nil }, nil
}

// Replace implements audit.Storage.
func (s *signed) Replace(_ string, record []byte, _ string) error {
	s.lines = append(s.lines, record)
	return nil
}

type recordStorage struct{ *signed }

func (recordStorage) Ready(string) error { return nil }

func newSigned(t *testing.T) *signed {
	t.Helper()
	s := &signed{store: &fake{}, memory: &passkeytest.Memory{}, ada: passkeytest.NewAuthenticator(t)}
	keys := passkeytest.NewKeys(s.memory, time.Now)
	q, err := keys.AskRegistration(t.Context(), ada)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := keys.Register(t.Context(), ada, "key", passkey.Answer{Nonce: q.Nonce, Attestation: s.ada.Create(q)}); err != nil {
		t.Fatal(err)
	}
	store := &approval.Recorded{
		Store: &approval.Signed{Store: &approval.Sealed{Store: s.store, Secret: []byte("s")}, Passkeys: keys},
		Audit: &audit.Log{Storage: recordStorage{s}},
	}
	s.Desk = &approval.Desk{
		Open: func(context.Context) (approval.Store, error) { return store, nil }, Now: time.Now, Passkeys: keys,
		Show: func(context.Context, approval.Request, string) (approval.Shown, error) {
			return approval.Shown{State: "v1"}, nil
		},
	}
	s.gate = &approval.Gate{Store: store, Signed: true}
	return s
}

func (s *signed) call() approval.Subject {
	call := subject()
	call.Workspace = "/w"
	call.Show = func(context.Context, string) (approval.Shown, error) { return approval.Shown{State: "v1"}, nil }
	return call
}

func (s *signed) pending(t *testing.T) approval.Request {
	t.Helper()
	id := pendingID(t, errorOf(s.gate.Pass(t.Context(), s.call(), nil)))
	r, err := s.store.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *signed) sign(t *testing.T, r approval.Request) approval.Decision {
	t.Helper()
	mark := r.PageMark("v1")
	q, err := s.AskPasskey(t.Context(), r.ID, ada, mark)
	if err != nil {
		t.Fatal(err)
	}
	return approval.Decision{Approve: true, By: ada, Mark: mark, Answer: passkey.Answer{Nonce: q.Nonce, Assertion: s.ada.Get(q)}}
}

func TestSignedApproval(t *testing.T) {
	s := newSigned(t)
	r := s.pending(t)
	if _, err := s.Decide(t.Context(), r.ID, s.sign(t, r)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.gate.Pass(t.Context(), s.call(), nil); err != nil {
		t.Errorf("the approved call does not pass: %v", err)
	}
	check := passkey.RecordCheck{Registered: map[string][]byte{s.memory.Keys[0].ID: s.memory.Keys[0].PublicKey}}
	record := s.lines[len(s.lines)-1]
	for _, part := range []string{`"signed":{`, `"client_data":"`, `"authenticator_data":"`, `"signature":"`, `"credential":"`, `"nonce":"`, r.ID} {
		if !strings.Contains(string(record), part) {
			t.Errorf("the record lacks %s: %s", part, record)
		}
	}
	if err := check.Check(record); err != nil {
		t.Error(err)
	}
	forged := strings.Replace(string(record), `"signature":"30`, `"signature":"31`, 1)
	if err := check.Check([]byte(forged)); err == nil {
		t.Error("a record with another signature is accepted")
	}
}

func TestUnsignedApprovalIsRefused(t *testing.T) {
	s := newSigned(t)
	r, other := s.pending(t), s.call()
	other.Arguments = []byte(`{"path":"docs/b.md"}`)
	id := pendingID(t, errorOf(s.gate.Pass(t.Context(), other, nil)))
	second, err := s.store.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	byHand := approval.Decision{Approve: true, By: "cli:eve"}
	contracttest.WantError(t, s.CheckWay(t.Context(), r, byHand), contract.Denied, "approve in the console at "+passkeytest.Origin)
	if last := string(s.lines[len(s.lines)-1]); !strings.Contains(last, `"principal":"cli:eve"`) || !strings.Contains(last, `"outcome":"denied"`) {
		t.Errorf("the refusal is recorded as %s", last)
	}
	if err := s.CheckWay(t.Context(), r, approval.Decision{By: "cli:eve"}); err != nil {
		t.Errorf("a denial: %v", err)
	}
	_, err = s.Decide(t.Context(), r.ID, approval.Decision{Approve: true, By: "cli:ada", Mark: r.PageMark("v1")})
	contracttest.WantError(t, err, contract.Denied, "Denying works everywhere")
	theirs := s.sign(t, second)
	theirs.Mark = r.PageMark("v1")
	_, err = s.Decide(t.Context(), r.ID, theirs)
	contracttest.WantError(t, err, contract.Denied, "not valid for this")
	if last := string(s.lines[len(s.lines)-1]); !strings.Contains(last, `"tool":"approvals/approve"`) || !strings.Contains(last, `"outcome":"denied"`) {
		t.Errorf("the refusal is recorded as %s", last)
	}
	ask := func(context.Context, approval.Request, approval.Shown) (approval.Answer, error) {
		return approval.Accepted, nil
	}
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, q approval.Request, shown approval.Shown) (approval.Answer, error) {
			time.Sleep(time.Minute)
			return ask(ctx, q, shown)
		}
		inside := newSigned(t)
		_, err := inside.gate.Pass(t.Context(), inside.call(), slow)
		if pendingID(t, err); !strings.Contains(err.Error(), "in the console with a passkey") || strings.Contains(err.Error(), "terminal") {
			t.Errorf("the client is told %v", err)
		}
	})
	if _, err := s.Decide(t.Context(), r.ID, approval.Decision{By: "cli:ada"}); err != nil {
		t.Errorf("deny: %v", err)
	}
}

// TestStoredSignatureIsVerified checks that a call cannot use an approval whose signature is
// missing or not valid, even if it has a valid seal.
func TestStoredSignatureIsVerified(t *testing.T) {
	for name, spoil := range map[string]func(s *signed, r *approval.Request){
		"no signature": func(_ *signed, r *approval.Request) { r.Proof = "" },
		"another signature": func(_ *signed, r *approval.Request) {
			r.Proof = strings.Replace(r.Proof, `"signature":"30`, `"signature":"31`, 1)
		},
		"of another request": func(_ *signed, r *approval.Request) {
			var proof passkey.Proof
			if json.Unmarshal([]byte(r.Proof), &proof) == nil {
				proof.Claim[2] = "another"
			}
			r.Proof = proof.String()
		},
		"passkey removed":    func(s *signed, _ *approval.Request) { s.memory.Keys = nil },
		"public key swapped": func(s *signed, _ *approval.Request) { s.memory.Keys = newSigned(s.ada.T.(*testing.T)).memory.Keys },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigned(t)
			r := s.pending(t)
			if _, err := s.Decide(t.Context(), r.ID, s.sign(t, r)); err != nil {
				t.Fatal(err)
			}
			spoil(s, &s.store.requests[0])
			if _, err := s.gate.Pass(t.Context(), s.call(), nil); kindOf(err) != contract.Pending {
				t.Errorf("the call passes: %v", err)
			}
		})
	}
}

func TestUnreadablePasskeysClose(t *testing.T) {
	s := newSigned(t)
	r := s.pending(t)
	if _, err := s.Decide(t.Context(), r.ID, s.sign(t, r)); err != nil {
		t.Fatal(err)
	}
	s.memory.LedgerErr = errors.New("cut off")
	if _, err := s.gate.Pass(t.Context(), s.call(), nil); kindOf(err) != contract.Unavailable {
		t.Errorf("the call passes: %v", err)
	}
	other := s.call()
	other.Arguments = []byte(`{}`)
	id := pendingID(t, errorOf(s.gate.Pass(t.Context(), other, nil)))
	second, err := s.store.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Decide(t.Context(), id, approval.Decision{Approve: true, By: "cli:ada", Mark: second.PageMark("v1")})
	contracttest.WantError(t, err, contract.Unavailable, "or remove it")
	if _, err := s.Decide(t.Context(), id, approval.Decision{By: "cli:ada"}); err != nil {
		t.Errorf("deny: %v", err)
	}
}
