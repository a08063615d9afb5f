package passkey

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// Claim is what a passkey signs besides a nonce: a purpose, and what it is about.
type Claim []string

// challenge returns the bytes that a passkey signs.
func (c Claim) challenge(nonce string) []byte {
	return identity.Digest(append(slices.Clone(c), nonce)...)
}

// The purposes of claims.
const (
	ApprovalPurpose = "approval 1"
	rulePurpose     = "rule 1"
	addPurpose      = "passkey add 1"
	removePurpose   = "passkey remove 1"
)

// Approves is the verdict in the claim of an approval.
const Approves = "approve"

// ApprovalClaim is what a passkey signs to approve a request: what the page of the request showed.
func (k *Keys) ApprovalClaim(request, shown string) Claim {
	return Claim{ApprovalPurpose, k.Place, request, shown, Approves}
}

// RuleClaim returns what a passkey signs to make a standing permission from a request. terms is a
// digest of the permission.
func (k *Keys) RuleClaim(request, terms string) Claim {
	return Claim{rulePurpose, k.Place, request, terms}
}

func (k *Keys) addClaim(person string) Claim { return Claim{addPurpose, k.Place, person} }

func (k *Keys) removeClaim(id string) Claim { return Claim{removePurpose, k.Place, id} }

// registerClaim is what the new passkey itself signs.
func (k *Keys) registerClaim(person string) Claim {
	return Claim{"passkey register 1", k.Place, person}
}

// Answer is what a browser sends after a ceremony: JSON of the Web Authentication API.
type Answer struct {
	Nonce       string
	Assertion   string // of a registered passkey
	Attestation string // of a new passkey
}

// Question is what a browser asks its authenticator: for a signature of a registered passkey, for a
// new passkey, or for both, in this order.
type Question struct {
	Nonce  string                                       `json:"nonce"`
	Origin string                                       `json:"origin"`
	Get    *protocol.PublicKeyCredentialRequestOptions  `json:"get,omitempty"`
	Create *protocol.PublicKeyCredentialCreationOptions `json:"create,omitempty"`
}

// AskApproval returns the question for the signature of a person under a claim.
func (k *Keys) AskApproval(ctx context.Context, person string, claim Claim) (Question, error) {
	return k.ask(ctx, person, person, claim)
}

// AskRemoval returns the question for the signature under the removal of a passkey. The person may
// sign it with any passkey.
func (k *Keys) AskRemoval(ctx context.Context, person, id string) (Question, error) {
	return k.ask(ctx, person, "", k.removeClaim(id))
}

func (k *Keys) newQuestion(person string) (Question, error) {
	nonce, err := k.newNonce(person)
	return Question{Nonce: nonce, Origin: k.Origin()}, err
}

// ask returns the question for a signature of a passkey of one person, or of any if whose is "".
func (k *Keys) ask(ctx context.Context, person, whose string, claim Claim) (Question, error) {
	party, err := k.party()
	if err != nil {
		return Question{}, err
	}
	all, err := k.List(ctx)
	if err != nil {
		return Question{}, err
	}
	mine := slices.DeleteFunc(all, func(p Passkey) bool { return whose != "" && p.Person != whose })
	if len(mine) == 0 {
		return Question{}, k.noneError(whose)
	}
	q, err := k.newQuestion(person)
	q.Get = &protocol.PublicKeyCredentialRequestOptions{
		Challenge: claim.challenge(q.Nonce), Timeout: int(nonceValid.Milliseconds()), RelyingPartyID: party.Config.RPID,
		AllowedCredentials: descriptors(mine), UserVerification: protocol.VerificationRequired,
	}
	return q, err
}

// noneError returns the error for a person who cannot sign.
func (k *Keys) noneError(whose string) error {
	if whose != "" {
		return contract.Errorf(contract.Denied, "Approvals need a passkey here, and you have registered none that can be used; "+
			"add one on the page Passkeys")
	}
	why := contract.Errorf(contract.Unavailable, "Passkeys are registered, but the database does not hold them unchanged, so none can be used")
	if k.Ledger != nil {
		why.Message += "; restore the data folder, or remove " + k.Ledger.Place() + " in the key folder and register a passkey again"
	}
	return why
}

// party returns us as a relying party: our one origin, and its host name.
func (k *Keys) party() (*webauthn.WebAuthn, error) {
	origin := k.Origin()
	at, err := url.Parse(origin)
	if err != nil || origin == "" {
		return nil, NoOriginError()
	}
	limit := webauthn.TimeoutConfig{Timeout: nonceValid}
	party, err := webauthn.New(&webauthn.Config{
		RPID: at.Hostname(), RPDisplayName: "Remit", RPOrigins: []string{origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementPreferred, UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{Login: limit, Registration: limit},
		// Some password managers answer more than they were asked. We use none of it.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
	if err != nil {
		return nil, fmt.Errorf("prepare passkeys for %s: %w", origin, err)
	}
	return party, nil
}

// NoOriginError returns the error for a server at an address where browsers offer no passkeys.
func NoOriginError() error {
	return contract.Errorf(contract.Unavailable, "Passkeys work only at http://localhost or at a host name with HTTPS; "+
		"set --public-url to the address of this server")
}

// owner is a person as the library wants them. It implements webauthn.User.
type owner struct {
	place, person string
	key           *Passkey
}

// WebAuthnID implements webauthn.User. Authenticators store it, so it says nothing.
func (o owner) WebAuthnID() []byte { return identity.Digest("passkey person 1", o.place, o.person) }

// WebAuthnName implements webauthn.User.
func (o owner) WebAuthnName() string {
	return strings.TrimPrefix(o.person, identity.Person{}.Principal())
}

// WebAuthnDisplayName implements webauthn.User.
func (o owner) WebAuthnDisplayName() string { return o.WebAuthnName() }

// WebAuthnCredentials implements webauthn.User.
func (o owner) WebAuthnCredentials() []webauthn.Credential {
	if o.key == nil {
		return nil
	}
	id, _ := hex.DecodeString(o.key.ID) // sealed by us
	return []webauthn.Credential{{
		ID: id, PublicKey: o.key.PublicKey, Flags: webauthn.CredentialFlags{BackupEligible: o.key.Synced},
		Authenticator: webauthn.Authenticator{SignCount: o.key.SignCount},
	}}
}

func descriptors(keys []Passkey) []protocol.CredentialDescriptor {
	list := make([]protocol.CredentialDescriptor, len(keys))
	for i, p := range keys {
		id, _ := hex.DecodeString(p.ID) // sealed by us
		list[i] = protocol.CredentialDescriptor{Type: protocol.PublicKeyCredentialType, CredentialID: id}
		for _, way := range strings.FieldsFunc(p.Transports, func(r rune) bool { return r == ',' }) {
			list[i].Transport = append(list[i].Transport, protocol.AuthenticatorTransport(way))
		}
	}
	return list
}

// Sign accepts the signature of a person under a claim, with one of their own passkeys. The nonce
// is used up whatever the result.
func (k *Keys) Sign(ctx context.Context, person string, claim Claim, answer Answer) (Proof, error) {
	return k.sign(ctx, person, person, claim, answer)
}

func (k *Keys) sign(ctx context.Context, person, whose string, claim Claim, answer Answer) (Proof, error) {
	if err := k.useNonce(ctx, person, answer.Nonce); err != nil {
		return Proof{}, err
	}
	return k.assert(ctx, whose, claim, answer)
}

// assert checks the signature of a registered passkey, and stores that it was used.
func (k *Keys) assert(ctx context.Context, whose string, claim Claim, answer Answer) (Proof, error) {
	party, err := k.party()
	if err != nil {
		return Proof{}, err
	}
	if answer.Assertion == "" {
		return Proof{}, contract.Errorf(contract.Denied, "The signature of a registered passkey is missing, so nothing was done").Because(ErrNeeded)
	}
	parsed, err := parseAssertion(answer.Assertion)
	if err != nil {
		return Proof{}, err
	}
	p, found, err := k.ByID(ctx, hex.EncodeToString(parsed.RawID))
	switch {
	case err != nil:
		return Proof{}, err
	case !found || whose != "" && p.Person != whose:
		return Proof{}, contract.Errorf(contract.Denied, "This passkey is not registered here for you, so nothing was done; use another one")
	}
	user := owner{k.Place, p.Person, &p}
	signed, err := party.ValidateLogin(user, webauthn.SessionData{
		Challenge: base64.RawURLEncoding.EncodeToString(claim.challenge(answer.Nonce)), RelyingPartyID: party.Config.RPID,
		UserID: user.WebAuthnID(), UserVerification: protocol.VerificationRequired,
	}, parsed)
	if err != nil {
		return Proof{}, invalidAnswer(err)
	}
	if signed.Authenticator.CloneWarning {
		return Proof{}, contract.Errorf(contract.Denied, "The counter of the passkey %q did not grow, so somebody may have copied it, and nothing was done. "+
			"Remove it and register another one", p.Name)
	}
	if err := k.used(ctx, p, signed.Authenticator.SignCount); err != nil {
		return Proof{}, err
	}
	return newProof(claim, answer.Nonce, parsed), nil
}

// used stores that a passkey was used.
func (k *Keys) used(ctx context.Context, p Passkey, count uint32) error {
	key, err := k.Secret()
	if err != nil {
		return unavailable(err)
	}
	store, err := k.Store(ctx)
	if err != nil {
		return unavailable(err)
	}
	before := p.SignCount
	p.SignCount, p.Used = count, k.Now().UTC().Truncate(time.Microsecond)
	p.Seal = p.seal(key, k.Place)
	stored, err := store.Use(ctx, p, before)
	switch {
	case err != nil:
		return unavailable(err)
	case !stored:
		return contract.Errorf(contract.Conflict, "The passkey %q was used at the same moment, so nothing was done; try again", p.Name)
	}
	return nil
}

// invalidAnswer returns the error for an answer that does not verify. The library's own words go to
// the log.
func invalidAnswer(cause error) error {
	return contract.Errorf(contract.Denied, "The answer of the passkey is not valid for this, so nothing was done; load the page again and retry").
		Because(detailed(cause))
}

// maxAnswer bounds the answer of an authenticator. Certificates of attestations are the largest
// part.
const maxAnswer = 64 << 10

func parseAssertion(text string) (*protocol.ParsedCredentialAssertionData, error) {
	if len(text) > maxAnswer {
		return nil, contract.Errorf(contract.TooLarge, "The answer of the passkey is larger than %d bytes", maxAnswer)
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(text))
	if err != nil {
		return nil, contract.Errorf(contract.Invalid, "The browser did not send an answer of a passkey").Because(detailed(err))
	}
	return parsed, nil
}

// ErrNeeded is wrapped by the error for an approval without a signature.
var ErrNeeded = errors.New("the approval is not signed")

// NeededError returns the error for an approval of a request without a signature. Agents may read
// it, so it names no command that approves.
func NeededError(origin string) error {
	where := "in the console"
	if origin != "" {
		where += " at " + origin
	}
	return contract.Errorf(contract.Denied, "A passkey is registered for this workspace, so approvals must be signed with it: approve %s. "+
		"Denying works everywhere", where).Because(ErrNeeded)
}

// detailed adds the details of an error of the library, which its message lacks.
func detailed(err error) error {
	if e, ok := err.(*protocol.Error); ok { //nolint:errorlint // only the outermost one
		return fmt.Errorf("%s: %s (%s)", e.Type, e.Details, e.DevInfo)
	}
	return err
}
