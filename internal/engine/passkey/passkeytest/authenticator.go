package passkeytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"

	"remit/internal/engine/passkey"
)

// Authenticator is a browser with an authenticator that holds one passkey. Its fields change what
// it answers.
type Authenticator struct {
	T          testing.TB
	Key        *ecdsa.PrivateKey
	ID         []byte
	Count      uint32 // of the next signature
	Origin     string
	RPID       string
	Unverified bool // the person was not verified
	Type       string
	handle     []byte
}

// NewAuthenticator returns an authenticator at our own page.
func NewAuthenticator(t testing.TB) *Authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &Authenticator{T: t, Key: key, ID: make([]byte, 16), Origin: Origin, RPID: "localhost"}
	_, _ = rand.Read(a.ID) // never fails
	return a
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// clientData returns what the browser adds to a challenge.
func (a *Authenticator) clientData(kind string, challenge []byte) []byte {
	if a.Type != "" {
		kind = a.Type
	}
	return a.json(map[string]any{"type": kind, "challenge": encoded(challenge), "origin": a.Origin, "crossOrigin": false})
}

func (a *Authenticator) json(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		a.T.Fatal(err)
	}
	return text
}

// data returns the authenticator data, with more behind the counter.
func (a *Authenticator) data(flags byte, more []byte) []byte {
	party := sha256.Sum256([]byte(a.RPID))
	if flags |= 0x01; !a.Unverified {
		flags |= 0x04
	}
	b := append(party[:], flags)
	return append(binary.BigEndian.AppendUint32(b, a.Count), more...)
}

// Create answers the question for a new passkey.
func (a *Authenticator) Create(q passkey.Question) string {
	a.T.Helper()
	point, err := a.Key.PublicKey.Bytes()
	if err != nil {
		a.T.Fatal(err)
	}
	public, err := webauthncbor.Marshal(&webauthncose.EC2PublicKeyData{
		PublicKeyData: webauthncose.PublicKeyData{KeyType: int64(webauthncose.EllipticKey), Algorithm: int64(webauthncose.AlgES256)},
		Curve:         int64(webauthncose.P256), XCoord: point[1:33], YCoord: point[33:],
	})
	if err != nil {
		a.T.Fatal(err)
	}
	// It is text if the question has been JSON.
	if a.handle, err = base64.RawURLEncoding.DecodeString(fmt.Sprint(q.Create.User.ID)); err != nil {
		a.T.Fatal(err)
	}
	// The id of the model, which says nothing, comes first.
	attested := binary.BigEndian.AppendUint16(make([]byte, 16), uint16(len(a.ID)))
	attested = append(append(attested, a.ID...), public...)
	object, err := webauthncbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": a.data(0x40, attested)})
	if err != nil {
		a.T.Fatal(err)
	}
	return a.answer(map[string]any{
		"clientDataJSON": encoded(a.clientData("webauthn.create", q.Create.Challenge)), "attestationObject": encoded(object),
		"transports": []string{"internal", "unknown"},
	})
}

// Get answers the question for a signature.
func (a *Authenticator) Get(q passkey.Question) string {
	a.T.Helper()
	client, data := a.clientData("webauthn.get", q.Get.Challenge), a.data(0, nil)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte(nil), data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.Key, digest[:])
	if err != nil {
		a.T.Fatal(err)
	}
	return a.answer(map[string]any{
		"clientDataJSON": encoded(client), "authenticatorData": encoded(data), "signature": encoded(signature), "userHandle": encoded(a.handle),
	})
}

func (a *Authenticator) answer(response map[string]any) string {
	return string(a.json(map[string]any{"id": encoded(a.ID), "rawId": encoded(a.ID), "type": "public-key", "response": response}))
}
