package passkey_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"testing"

	"remit/internal/engine/passkey"
)

// TestRecordCheck checks that the signature in a record is verified, with the public key of an
// earlier record or that of the registered passkey.
func TestRecordCheck(t *testing.T) {
	f := newFixture(t)
	q := f.question(t, f.claim())
	proof, err := f.Sign(t.Context(), ada, f.claim(), passkey.Answer{Nonce: q.Nonce, Assertion: f.ada.Get(q)})
	if err != nil {
		t.Fatal(err)
	}
	line := func(tool string, args map[string]any) []byte {
		text, err := json.Marshal(map[string]any{"tool": tool, "arguments": args, "outcome": "ok"})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	key := f.memory.Keys[0]
	registered := line(passkey.RecordRegistered, map[string]any{"passkey": key.ID, "public_key": hex.EncodeToString(key.PublicKey)})
	approved := line("approvals/approve", map[string]any{"request": "k3v9q2xa7m", "signed": proof})
	check := func(registered map[string][]byte, lines ...[]byte) error {
		c := passkey.RecordCheck{Registered: registered}
		for _, line := range lines {
			if err := c.Check(line); err != nil {
				return err
			}
		}
		return nil
	}
	if err := check(nil, registered, approved, line("tasks/add", map[string]any{"signed": map[string]any{"a": 1}})); err != nil {
		t.Error(err)
	}
	if err := check(map[string][]byte{key.ID: key.PublicKey}, approved); err != nil {
		t.Error(err)
	}
	stranger := newFixture(t).memory.Keys[0].PublicKey
	replaced := func(old, new string) []byte { return bytes.Replace(approved, []byte(old), []byte(new), 1) }
	for name, err := range map[string]error{
		"of an unknown passkey":  check(nil, approved),
		"with another key now":   check(map[string][]byte{key.ID: stranger}, registered, approved),
		"of another request":     check(nil, registered, replaced(`"request":"k3v9q2xa7m"`, `"request":"m3v9q2xa7m"`)),
		"of another claim":       check(nil, registered, bytes.ReplaceAll(approved, []byte("k3v9q2xa7m"), []byte("m3v9q2xa7m"))),
		"with another signature": check(nil, registered, replaced(`"signature":"30`, `"signature":"31`)),
		"with other client data": check(nil, registered, replaced(`"client_data":"7b`, `"client_data":"207b`)),
		"with no signature":      check(nil, registered, replaced(proof.Signature, "")),
	} {
		if err == nil {
			t.Errorf("a record %s is accepted", name)
		}
	}
}
