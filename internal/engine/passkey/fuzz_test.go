package passkey_test

import (
	"testing"
	"time"

	"remit/internal/engine/passkey"
	"remit/internal/engine/passkey/passkeytest"
)

// FuzzAnswers checks that nothing that a browser posts is accepted, or makes the server panic,
// unless a registered passkey signed it.
func FuzzAnswers(f *testing.F) {
	t := f
	memory := &passkeytest.Memory{}
	now := time.Unix(1e9, 0)
	keys := passkeytest.NewKeys(memory, func() time.Time { return now })
	authenticator := passkeytest.NewAuthenticator(t)
	q, err := keys.AskRegistration(t.Context(), ada)
	if err != nil {
		t.Fatal(err)
	}
	created := authenticator.Create(q)
	if _, _, err := keys.Register(t.Context(), ada, "key", passkey.Answer{Nonce: q.Nonce, Attestation: created}); err != nil {
		t.Fatal(err)
	}
	claim := keys.ApprovalClaim("k3v9q2xa7m", "shown")
	if q, err = keys.AskApproval(t.Context(), ada, claim); err != nil {
		t.Fatal(err)
	}
	f.Add(authenticator.Get(q), created)
	f.Add(`{"id":"AA","rawId":"AA","type":"public-key","response":{}}`, `{}`)
	f.Add(`[`, `{"id":"AA","rawId":"AA","type":"public-key","response":{"clientDataJSON":"e30","attestationObject":"oA"}}`)
	empty := passkeytest.NewKeys(&passkeytest.Memory{}, keys.Now)
	f.Fuzz(func(t *testing.T, assertion, attestation string) {
		fresh, err := keys.AskApproval(t.Context(), ada, claim)
		if err != nil {
			t.Fatal(err)
		}
		answer := passkey.Answer{Nonce: fresh.Nonce, Assertion: assertion, Attestation: attestation}
		if _, err := keys.Sign(t.Context(), ada, claim, answer); err == nil {
			t.Errorf("signed with %q", assertion)
		}
		for _, keys := range []*passkey.Keys{keys, empty} {
			again, err := keys.AskRegistration(t.Context(), ada)
			if err != nil {
				t.Fatal(err)
			}
			answer.Nonce = again.Nonce
			if _, _, err := keys.Register(t.Context(), ada, "key", answer); err == nil {
				t.Errorf("registered %q with %q", attestation, assertion)
			}
		}
		if proof, err := passkey.ParseProof(assertion); err == nil && proof.Verify(memory.Keys[0].PublicKey, claim) == nil {
			t.Errorf("verified %q", assertion)
		}
	})
}
