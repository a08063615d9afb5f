package passkey

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/go-webauthn/webauthn/protocol"

	"remit/internal/contract/jsontree"
)

// RecordMember is the name of a proof among the arguments of a record.
const RecordMember = "signed"

// Proof is a signature with everything that is needed to verify it, except for the public key. It
// is part of records, whose masking of secrets would damage base64, so bytes are in hex.
type Proof struct {
	Claim             Claim  `json:"claim"`
	Nonce             string `json:"nonce"`
	Credential        string `json:"credential"` // the id of the passkey
	ClientData        string `json:"client_data"`
	AuthenticatorData string `json:"authenticator_data"`
	Signature         string `json:"signature"`
}

func newProof(claim Claim, nonce string, parsed *protocol.ParsedCredentialAssertionData) Proof {
	raw := &parsed.Raw.AssertionResponse
	return Proof{
		Claim: claim, Nonce: nonce, Credential: hex.EncodeToString(parsed.RawID), ClientData: hex.EncodeToString(raw.ClientDataJSON),
		AuthenticatorData: hex.EncodeToString(raw.AuthenticatorData), Signature: hex.EncodeToString(raw.Signature),
	}
}

// IsZero reports whether nothing was signed.
func (p *Proof) IsZero() bool { return p.Signature == "" }

// String returns the proof as JSON; "" if nothing was signed.
func (p *Proof) String() string {
	if p.IsZero() {
		return ""
	}
	text, _ := json.Marshal(p) // strings can always be encoded
	return string(text)
}

// Value returns the proof for a record.
func (p *Proof) Value() jsontree.Value {
	v, _ := jsontree.Parse([]byte(p.String())) // it is our own JSON
	return v
}

// ParseProof parses the text of a proof.
func ParseProof(text string) (p Proof, err error) {
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("parse the signature: %w", err)
	}
	return p, nil
}

// Verify returns an error unless the proof is a signature of the public key under a claim, by a
// verified person. It does not check the origin of the page: only the server that took the
// signature knows its own.
func (p *Proof) Verify(publicKey []byte, claim Claim) error {
	if !slices.Equal(p.Claim, claim) {
		return errors.New("the signature is for something else")
	}
	var response protocol.CredentialAssertionResponse
	id, err := hex.DecodeString(p.Credential)
	response.ID, response.RawID, response.Type = base64.RawURLEncoding.EncodeToString(id), id, string(protocol.PublicKeyCredentialType)
	for text, to := range map[string]*protocol.URLEncodedBase64{
		p.ClientData:        &response.AssertionResponse.ClientDataJSON,
		p.AuthenticatorData: &response.AssertionResponse.AuthenticatorData,
		p.Signature:         &response.AssertionResponse.Signature,
	} {
		var more error
		*to, more = hex.DecodeString(text)
		err = errors.Join(err, more)
	}
	if err != nil {
		return fmt.Errorf("decode the signature: %w", err)
	}
	parsed, err := response.Parse()
	if err != nil {
		return fmt.Errorf("parse the signature: %w", detailed(err))
	}
	origin := parsed.Response.CollectedClientData.Origin
	at, err := url.Parse(origin)
	if err != nil {
		return fmt.Errorf("parse the origin: %w", err)
	}
	err = parsed.Verify(base64.RawURLEncoding.EncodeToString(claim.challenge(p.Nonce)), at.Hostname(), "", []string{origin}, nil, nil,
		protocol.TopOriginExplicitVerificationMode, false, true, true, publicKey, protocol.SignaturePolicy{})
	if err != nil {
		return fmt.Errorf("the signature does not verify: %w", detailed(err))
	}
	return nil
}
