package passkey

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"

	"remit/internal/contract/jsontree"
)

// The tools of audit records about passkeys.
const (
	RecordRegistered = "passkeys/register"
	RecordRemoved    = "passkeys/remove"
)

// RecordOf returns the arguments of a record about a passkey. With the public key, later records
// can be verified without the database.
func RecordOf(p *Passkey, proof Proof) []jsontree.Member {
	about := []jsontree.Member{
		jsontree.M("passkey", jsontree.Str(p.ID)), jsontree.M("public_key", jsontree.Str(hex.EncodeToString(p.PublicKey))),
	}
	if !proof.IsZero() {
		about = append(about, jsontree.M(RecordMember, proof.Value()))
	}
	return about
}

// RecordCheck checks the signatures in audit records, in the order of the records.
type RecordCheck struct {
	// Registered are the public keys of the passkeys that are registered now, by id. They count
	// more than what the records say.
	Registered map[string][]byte
	recorded   map[string][]byte
}

// Recorded returns the public keys that the records registered so far, as hexadecimal text by id.
func (c *RecordCheck) Recorded() map[string]string {
	keys := map[string]string{}
	for id, key := range c.recorded {
		keys[id] = hex.EncodeToString(key)
	}
	return keys
}

// Restore takes over what Recorded returned, for records that were dropped.
func (c *RecordCheck) Restore(keys map[string]string) {
	for id, key := range keys {
		c.note(id, key)
	}
}

// note notes that a record registered a passkey.
func (c *RecordCheck) note(id, key string) {
	if c.recorded == nil {
		c.recorded = map[string][]byte{}
	}
	c.recorded[id], _ = hex.DecodeString(key) // an invalid key verifies nothing
}

// signedMark is in every record with a signature, and keyMark in every record about a passkey. Most
// records have neither, and need not be parsed.
var (
	signedMark = []byte(`"` + RecordMember + `":{`)
	keyMark    = []byte(`"tool":"passkeys/`)
)

// Check returns an error if a record has a signature that does not verify.
func (c *RecordCheck) Check(line []byte) error {
	if !bytes.Contains(line, signedMark) && !bytes.Contains(line, keyMark) {
		return nil
	}
	record, err := jsontree.Parse(line)
	if err != nil {
		return nil //nolint:nilerr // the chain itself is checked elsewhere
	}
	tool, args, outcome := record.Field("tool"), record.Field("arguments"), record.Field("outcome")
	if outcome.Text != "ok" {
		return nil
	}
	signed, hasSignature := args.Get(RecordMember)
	id, key := args.Field("passkey"), args.Field("public_key")
	if hasSignature {
		if err := c.verify(tool.Text, &args, &signed); err != nil {
			return err
		}
	}
	if tool.Text == RecordRegistered {
		c.note(id.Text, key.Text)
	}
	return nil
}

// verify checks the signature of one record, and that it is under what the record says.
func (c *RecordCheck) verify(tool string, args, signed *jsontree.Value) error {
	proof, err := ParseProof(string(signed.Append(nil)))
	if err != nil {
		return err
	}
	id, request := args.Field("passkey"), args.Field("request")
	var about, purpose string
	switch tool {
	case RecordRegistered:
		purpose = addPurpose
	case RecordRemoved:
		purpose, about = removePurpose, id.Text
	case "approvals/approve":
		purpose, about = ApprovalPurpose, request.Text
	case "rules/allow":
		purpose, about = rulePurpose, request.Text
	default:
		return nil // an argument of a tool that happens to have this name
	}
	if len(proof.Claim) < 3 || proof.Claim[0] != purpose || about != "" && proof.Claim[2] != about ||
		purpose == ApprovalPurpose && proof.Claim[len(proof.Claim)-1] != Approves {
		return fmt.Errorf("its signature is for something else")
	}
	key := c.Registered[proof.Credential]
	if key == nil {
		key = c.recorded[proof.Credential]
	}
	if key == nil {
		return fmt.Errorf("its signature is of a passkey that was never registered")
	}
	if err := proof.Verify(key, slices.Clone(proof.Claim)); err != nil {
		return fmt.Errorf("its passkey signature is not valid: %w", err)
	}
	return nil
}
