package backup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// KeySet holds the keys of a workspace, by name.
type KeySet map[string][]byte

// workFactor makes guessing a passphrase slow: about a second for each guess.
const workFactor = 18

// Encrypt encrypts the keys with a passphrase.
func (k KeySet) Encrypt(passphrase string) ([]byte, error) {
	to, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, fmt.Errorf("encrypt the keys: %w", err)
	}
	to.SetWorkFactor(workFactor)
	text, err := json.Marshal(k)
	if err != nil {
		return nil, fmt.Errorf("encrypt the keys: %w", err)
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encrypt the keys: %w", err)
	}
	return out.Bytes(), nil
}

// ErrPassphrase means that a passphrase is not the one that the keys were encrypted with.
var ErrPassphrase = errors.New("the passphrase is wrong")

// maxKeys bounds the size of the encrypted keys.
const maxKeys = 1 << 20

// DecryptKeys returns the keys that were encrypted with a passphrase.
func DecryptKeys(r io.Reader, passphrase string) (KeySet, error) {
	with, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, fmt.Errorf("decrypt the keys: %w", err)
	}
	with.SetMaxWorkFactor(workFactor + 2)
	plain, err := age.Decrypt(io.LimitReader(r, maxKeys), with)
	if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		return nil, ErrPassphrase
	}
	if err != nil {
		return nil, fmt.Errorf("decrypt the keys: %w", err)
	}
	var keys KeySet
	if err := json.NewDecoder(plain).Decode(&keys); err != nil {
		return nil, fmt.Errorf("decrypt the keys: %w", err)
	}
	return keys, nil
}
