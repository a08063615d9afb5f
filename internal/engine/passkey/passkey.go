// Package passkey lets people sign what they decide with a passkey (WebAuthn). It knows which
// passkeys are registered for a workspace, what they sign, and whether a signature is valid. It
// does not know what is decided.
package passkey

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// Passkey is a registered credential of a person.
type Passkey struct {
	ID         string // the credential id in hex
	Person     string // the principal whose decisions it signs
	Name       string // chosen by the person
	PublicKey  []byte // COSE
	SignCount  uint32 // of the last signature; 0 if the authenticator does not count
	Synced     bool   // the authenticator may copy it to other devices
	Transports string // how browsers reach the authenticator, separated by commas
	Created    time.Time
	Used       time.Time // zero before the first use
	Seal       string    // proves that it was registered here
}

// keyHash returns what is stored of the public key outside of the database.
func (p *Passkey) keyHash() string {
	sum := sha256.Sum256(p.PublicKey)
	return hex.EncodeToString(sum[:])
}

// seal covers everything but the time of the last use, which is only for people.
func (p *Passkey) seal(key []byte, place string) string {
	return identity.Seal(key, "passkey 1", place, p.ID, p.Person, p.Name, string(p.PublicKey), strconv.FormatUint(uint64(p.SignCount), 10),
		strconv.FormatBool(p.Synced), p.Transports, strconv.FormatInt(p.Created.UnixMicro(), 10))
}

// MaxPasskeys is how many passkeys a workspace may have.
const MaxPasskeys = 100

// Store stores passkeys in a database. What a method has acknowledged survives a crash. Every
// method is safe for concurrent use, also by several processes.
type Store interface {
	// Add stores a passkey. It returns a contract.Conflict error if the id exists already, or if
	// alone is true and any other passkey exists; of several concurrent calls with alone at most
	// one succeeds.
	Add(ctx context.Context, p Passkey, alone bool) error
	// List returns all passkeys, oldest first.
	List(ctx context.Context) ([]Passkey, error)
	// Use stores the counter, the time of use and the seal of a passkey, if its stored counter is
	// still before. Otherwise it returns false.
	Use(ctx context.Context, p Passkey, before uint32) (bool, error)
	// Remove removes the passkey with this id, if there is one.
	Remove(ctx context.Context, id string) error
}

// Ledger says outside of the database which passkeys are registered, so that nothing that happens
// to the database can change that.
type Ledger interface {
	// Load returns the hashes of the public keys by id.
	Load() (map[string]string, error)
	// Change changes what Load returns, unless change returns an error. No two changes run at once.
	Change(change func(registered map[string]string) error) error
	// Place names the place of the ledger, for the message that it cannot be read.
	Place() string
}

// Keys are the passkeys of one workspace.
type Keys struct {
	Store func(context.Context) (Store, error)
	// Ledger is the truth about which passkeys are registered. Nil means that the database is.
	Ledger Ledger
	// Secret returns the key that seals passkeys and nonces; it is stored apart from them.
	Secret func() ([]byte, error)
	// UseOnce uses up a nonce. It returns true only the first time.
	UseOnce func(ctx context.Context, token string, now, expires time.Time) (bool, error)
	Place   string // the workspace, as approvals are bound to it
	// Origin returns the web origin of the pages on which passkeys can be used, such as
	// http://localhost:8722; "" if there is none.
	Origin func() string
	Now    func() time.Time
}

// Required reports whether a passkey is registered, so that approvals must be signed. An error
// means that it is not known, so that nothing can be approved.
func (k *Keys) Required(ctx context.Context) (bool, error) {
	if k == nil {
		return false, nil
	}
	registered, err := k.registered()
	if err != nil || k.Ledger != nil {
		return len(registered) > 0, err
	}
	rows, err := k.rows(ctx)
	return len(rows) > 0, err
}

// registered returns what the ledger says.
func (k *Keys) registered() (map[string]string, error) {
	if k.Ledger == nil {
		return nil, nil
	}
	registered, err := k.Ledger.Load()
	if err != nil {
		return nil, unreadable(k.Ledger, err)
	}
	return registered, nil
}

// unreadable returns the error for a ledger that cannot be read, with the way out.
func unreadable(ledger Ledger, cause error) error {
	return contract.Errorf(contract.Unavailable, "The list of passkeys cannot be read, so nothing can be approved. Restore %s in the "+
		"key folder, or remove it: approvals then need no passkey until one is registered again", ledger.Place()).Because(cause)
}

func (k *Keys) rows(ctx context.Context) ([]Passkey, error) {
	store, err := k.Store(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	rows, err := store.List(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	return rows, nil
}

func unavailable(cause error) error {
	return contract.Errorf(contract.Unavailable, "The passkeys cannot be read right now; try again later").Because(cause)
}

// List returns the passkeys that can sign, oldest first: those that were registered here, that are
// in the ledger, and that nobody has changed since.
func (k *Keys) List(ctx context.Context) ([]Passkey, error) {
	registered, err := k.registered()
	if err != nil || k.Ledger != nil && len(registered) == 0 {
		return nil, err
	}
	return k.usable(ctx, registered)
}

// usable returns the rows of passkeys that can sign.
func (k *Keys) usable(ctx context.Context, registered map[string]string) ([]Passkey, error) {
	rows, err := k.rows(ctx)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	key, err := k.Secret()
	if err != nil {
		return nil, unavailable(err)
	}
	return slices.DeleteFunc(rows, func(p Passkey) bool {
		return k.Ledger != nil && registered[p.ID] != p.keyHash() || p.Seal != p.seal(key, k.Place)
	}), nil
}

// ByID returns the passkey with this id that can sign; false if there is none.
func (k *Keys) ByID(ctx context.Context, id string) (p Passkey, found bool, err error) {
	all, err := k.List(ctx)
	i := slices.IndexFunc(all, func(p Passkey) bool { return p.ID == id })
	if err != nil || i < 0 {
		return Passkey{}, false, err
	}
	return all[i], true, nil
}

// add stores a passkey. alone means that it must be the only one.
func (k *Keys) add(ctx context.Context, p Passkey, alone bool) error {
	store, err := k.Store(ctx)
	if err != nil {
		return unavailable(err)
	}
	if k.Ledger == nil {
		return store.Add(ctx, p, alone)
	}
	return k.change(func(registered map[string]string) error {
		switch {
		case alone && len(registered) > 0:
			return NotAlone()
		case len(registered) >= MaxPasskeys:
			return TooMany()
		}
		registered[p.ID] = p.keyHash()
		return store.Add(ctx, p, false)
	})
}

// change changes the ledger.
func (k *Keys) change(change func(registered map[string]string) error) error {
	var refused error
	err := k.Ledger.Change(func(registered map[string]string) error {
		refused = change(registered)
		return refused
	})
	if refused != nil || err == nil {
		return refused
	}
	return contract.Errorf(contract.Unavailable, "The list of passkeys cannot be written, so nothing was changed; check %s in the key folder",
		k.Ledger.Place()).Because(err)
}

// drop removes a passkey.
func (k *Keys) drop(ctx context.Context, id string) error {
	store, err := k.Store(ctx)
	if err != nil {
		return unavailable(err)
	}
	if k.Ledger != nil {
		err := k.change(func(registered map[string]string) error {
			delete(registered, id)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return store.Remove(ctx, id)
}

// NotAlone returns the error of a Store or Keys for a passkey that nobody has confirmed.
func NotAlone() error {
	return contract.Errorf(contract.Conflict, "A passkey is registered already, so another one must be confirmed with it; load the page again")
}

// TooMany returns the error for one passkey too many.
func TooMany() error {
	return contract.Errorf(contract.Limited, "There are %d passkeys already; remove one first", MaxPasskeys)
}
