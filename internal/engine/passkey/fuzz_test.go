package passkey_test

import (
	"context"
	"testing"
	"time"

	"remit/internal/engine/passkey"
	"remit/internal/engine/passkey/passkeytest"
)

// FuzzAnswers checks that nothing that a browser posts is accepted, or makes the server panic,
// unless a registered passkey signed the question.
func FuzzAnswers(f *testing.F) {
	memory, now := &passkeytest.Memory{}, time.Unix(1e9, 0)
	newKeys := func(m *passkeytest.Memory) *passkey.Keys {
		keys := passkeytest.NewKeys(m, func() time.Time { return now })
		// Each input gets the same nonce, so that it always takes the same path.
		keys.UseOnce = func(context.Context, string, time.Time, time.Time) (bool, error) { return true, nil }
		return keys
	}
	keys, empty := newKeys(memory), newKeys(&passkeytest.Memory{})
	ask := func(q passkey.Question, err error) passkey.Question {
		if err != nil {
			f.Fatal(err)
		}
		return q
	}
	authenticator := passkeytest.NewAuthenticator(f)
	q := ask(keys.AskRegistration(f.Context(), ada))
	created := authenticator.Create(q)
	if _, _, err := keys.Register(f.Context(), ada, "key", passkey.Answer{Nonce: q.Nonce, Attestation: created}); err != nil {
		f.Fatal(err)
	}
	claim := keys.ApprovalClaim("k3v9q2xa7m", "shown")
	signed := authenticator.Get(ask(keys.AskApproval(f.Context(), ada, keys.ApprovalClaim("another", "shown"))))
	f.Add(signed, created)
	f.Add(`{"id":"AA","rawId":"AA","type":"public-key","response":{}}`, `{}`)
	f.Add(`[`, `{"id":"AA","rawId":"AA","type":"public-key","response":{"clientDataJSON":"e30","attestationObject":"oA"}}`)
	nonce := ask(keys.AskApproval(f.Context(), ada, claim)).Nonce
	f.Fuzz(func(t *testing.T, assertion, attestation string) {
		answer := passkey.Answer{Nonce: nonce, Assertion: assertion, Attestation: attestation}
		if _, err := keys.Sign(t.Context(), ada, claim, answer); err == nil {
			t.Errorf("signed with %q", assertion)
		}
		for _, keys := range []*passkey.Keys{keys, empty} {
			if _, _, err := keys.Register(t.Context(), ada, "key", answer); err == nil {
				t.Errorf("registered %q with %q", attestation, assertion)
			}
		}
		if proof, err := passkey.ParseProof(assertion); err == nil && proof.Verify(memory.Keys[0].PublicKey, claim) == nil {
			t.Errorf("verified %q", assertion)
		}
	})
}
