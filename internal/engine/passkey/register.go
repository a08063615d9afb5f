package passkey

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
)

// AskRegistration returns the question for a new passkey of a person, and for the signature of a
// registered one if there is any.
func (k *Keys) AskRegistration(ctx context.Context, person string) (q Question, err error) {
	required, err := k.Required(ctx)
	if err != nil {
		return q, err
	}
	if required {
		q, err = k.ask(ctx, person, "", k.addClaim(person))
	} else {
		q, err = k.newQuestion(person)
	}
	if err != nil {
		return q, err
	}
	party, err := k.party()
	if err != nil {
		return q, err
	}
	all, err := k.List(ctx)
	if err != nil {
		return q, err
	}
	creation, _, err := party.BeginRegistration(owner{k.Place, person, nil}, func(o *protocol.PublicKeyCredentialCreationOptions) error {
		o.Challenge, o.CredentialExcludeList = k.registerClaim(person).challenge(q.Nonce), descriptors(all)
		return nil
	})
	if err != nil {
		return q, fmt.Errorf("prepare the registration of a passkey: %w", err)
	}
	q.Create = &creation.Response
	return q, nil
}

// Register stores a new passkey of a person. The first of a workspace is accepted as it is; any
// other needs the signature of a registered one, whose proof it returns.
func (k *Keys) Register(ctx context.Context, person, name string, answer Answer) (p Passkey, proof Proof, err error) {
	if err := identity.CheckName(name); err != nil {
		return p, proof, err
	}
	required, err := k.Required(ctx)
	if err != nil {
		return p, proof, err
	}
	if err := k.useNonce(ctx, person, answer.Nonce); err != nil {
		return p, proof, err
	}
	if required {
		if proof, err = k.assert(ctx, "", k.addClaim(person), answer); err != nil {
			return p, proof, err
		}
	}
	made, err := k.create(person, answer)
	if err != nil {
		return p, proof, err
	}
	key, err := k.Secret()
	if err != nil {
		return p, proof, unavailable(err)
	}
	p = Passkey{
		ID: hex.EncodeToString(made.ID), Person: person, Name: name, PublicKey: made.PublicKey, SignCount: made.Authenticator.SignCount,
		Synced: made.Flags.BackupEligible, Transports: transports(made), Created: k.Now().UTC().Truncate(time.Microsecond),
	}
	p.Seal = p.seal(key, k.Place)
	audit.EffectFrom(ctx).Describe(RecordOf(&p, proof)...)
	return p, proof, k.add(ctx, p, !required)
}

// create checks the answer of an authenticator that made a passkey.
func (k *Keys) create(person string, answer Answer) (*webauthn.Credential, error) {
	party, err := k.party()
	if err != nil {
		return nil, err
	}
	if len(answer.Attestation) > maxAnswer {
		return nil, contract.Errorf(contract.TooLarge, "The answer of the passkey is larger than %d bytes", maxAnswer)
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(answer.Attestation))
	if err != nil {
		return nil, contract.Errorf(contract.Invalid, "The browser did not send a new passkey").Because(detailed(err))
	}
	user := owner{k.Place, person, nil}
	made, err := party.CreateCredential(user, webauthn.SessionData{
		Challenge:      base64.RawURLEncoding.EncodeToString(k.registerClaim(person).challenge(answer.Nonce)),
		RelyingPartyID: party.Config.RPID, UserID: user.WebAuthnID(), UserVerification: protocol.VerificationRequired,
		CredParams: webauthn.CredentialParametersDefault(),
	}, parsed)
	if err != nil {
		return nil, invalidAnswer(err)
	}
	return made, nil
}

// transports returns the known ways to reach the authenticator of a new passkey. Browsers may send
// others later; those are left out.
func transports(made *webauthn.Credential) string {
	var known []string
	for _, way := range []protocol.AuthenticatorTransport{
		protocol.USB, protocol.NFC, protocol.BLE, protocol.SmartCard, protocol.Hybrid, protocol.Internal,
	} {
		if slices.Contains(made.Transport, way) {
			known = append(known, string(way))
		}
	}
	return strings.Join(known, ",")
}

// Remove removes a passkey with the signature of any registered one.
func (k *Keys) Remove(ctx context.Context, person, id string, answer Answer) (Passkey, Proof, error) {
	p, found, err := k.ByID(ctx, id)
	if err == nil && !found {
		err = contract.Errorf(contract.NotFound, "There is no such passkey")
	}
	if err != nil {
		return p, Proof{}, err
	}
	proof, err := k.sign(ctx, person, "", k.removeClaim(id), answer)
	if err != nil {
		return p, proof, err
	}
	audit.EffectFrom(ctx).Describe(RecordOf(&p, proof)...)
	return p, proof, k.drop(ctx, id)
}
