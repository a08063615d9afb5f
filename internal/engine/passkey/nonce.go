package passkey

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// nonceValid is how long a person may take from the click to the signature.
const nonceValid = 2 * time.Minute

const (
	nonceBody = 8 + 16         // the expiry and random bytes
	nonceSize = nonceBody + 32 // with the seal, in hex
)

// newNonce returns a nonce for one signature of a person. It needs no storage: it says when it
// expires, and carries a seal.
func (k *Keys) newNonce(person string) (string, error) {
	nonce := binary.BigEndian.AppendUint64(make([]byte, 0, nonceSize), uint64(k.Now().Add(nonceValid).UnixMicro()))
	nonce = append(nonce, make([]byte, 16)...)
	_, _ = rand.Read(nonce[8:]) // never fails
	seal, err := k.nonceSeal(person, nonce)
	return hex.EncodeToString(append(nonce, seal...)), err
}

func (k *Keys) nonceSeal(person string, body []byte) ([]byte, error) {
	key, err := k.Secret()
	if err != nil {
		return nil, unavailable(err)
	}
	return []byte(identity.Seal(key, "passkey nonce 1", k.Place, person, string(body)))[:nonceSize-nonceBody], nil
}

// useNonce uses up a nonce of a person.
func (k *Keys) useNonce(ctx context.Context, person, nonce string) error {
	over := contract.Errorf(contract.Denied, "The question to your passkey is older than %d minutes or was answered already, so nothing was done; "+
		"try again", int(nonceValid.Minutes()))
	raw, err := hex.DecodeString(nonce)
	if err != nil || len(raw) != nonceSize {
		return over
	}
	seal, err := k.nonceSeal(person, raw[:nonceBody])
	if err != nil {
		return err
	}
	now, expires := k.Now(), time.UnixMicro(int64(binary.BigEndian.Uint64(raw)))
	if !hmac.Equal(seal, raw[nonceBody:]) || !now.Before(expires) || expires.Sub(now) > nonceValid {
		return over
	}
	// The text of a nonce has two spellings, its bytes have one.
	fresh, err := k.UseOnce(ctx, hex.EncodeToString(identity.Digest("passkey nonce 1", string(raw))), now, expires)
	switch {
	case err != nil:
		return unavailable(err)
	case !fresh:
		return over
	}
	return nil
}
