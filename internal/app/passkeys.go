package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"remit/internal/engine/passkey"
	"remit/internal/stores/keyfolder"
	"remit/internal/stores/sqlstore"
)

// passkeysFile is the document of the key folder with the passkeys that are registered in a
// workspace.
const passkeysFile = "passkeys.json"

// newPasskeys returns the passkeys of the workspace. A database that replicas share says itself
// which are registered: only its operator can restore an older one.
func (a *App) newPasskeys() *passkey.Keys {
	keys := &passkey.Keys{
		Store:  stored(a.database, func(db *sqlstore.DB) passkey.Store { return db.Passkeys() }),
		Secret: a.database.key, UseOnce: a.database.spend, Place: a.storage.place,
		Origin: func() string { return passkeyOrigin(a.baseURL()) }, Now: time.Now,
	}
	if !a.database.isShared() {
		keys.Ledger = passkeyLedger{a.keys.Workspace(a.storage.place)}
	}
	return keys
}

// passkeyOrigin returns the origin at which browsers offer passkeys for the server at base:
// localhost instead of a loopback address, or a host name with HTTPS. It returns "" if there is
// none.
func passkeyOrigin(base string) string {
	origin := originOf(base)
	u, err := url.Parse(origin)
	if err != nil {
		return ""
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		if !ip.Unmap().IsLoopback() {
			return ""
		}
		return strings.TrimSuffix(u.Scheme+"://localhost:"+u.Port(), ":")
	}
	if host == "localhost" || u.Scheme == "https" && strings.Contains(host, ".") {
		return origin
	}
	return ""
}

// passkeyLedger is the list of registered passkeys in the key folder. It implements passkey.Ledger.
type passkeyLedger struct{ document *keyfolder.Workspace }

// registeredPasskeys is the content of the document: hashes of public keys by credential id.
type registeredPasskeys struct {
	Passkeys map[string]string `json:"passkeys"`
}

// Load implements passkey.Ledger.
func (l passkeyLedger) Load() (map[string]string, error) {
	content, err := l.document.Read(passkeysFile)
	if err != nil || content == nil {
		return nil, err
	}
	var list registeredPasskeys
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("decode %s: %w", passkeysFile, err)
	}
	return list.Passkeys, nil
}

// Change implements passkey.Ledger.
func (l passkeyLedger) Change(change func(registered map[string]string) error) error {
	unlock, err := l.document.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	registered, err := l.Load()
	if err != nil {
		return err
	}
	if registered == nil {
		registered = map[string]string{}
	}
	if err := change(registered); err != nil {
		return err
	}
	content, err := json.Marshal(registeredPasskeys{registered})
	if err != nil {
		return fmt.Errorf("encode %s: %w", passkeysFile, err)
	}
	return l.document.Write(passkeysFile, content)
}

// Place implements passkey.Ledger.
func (l passkeyLedger) Place() string { return l.document.Name(passkeysFile) }

// RecordCheck implements cli.Workspace.
func (a *App) RecordCheck(ctx context.Context) func(record []byte) error {
	return a.recordCheck(ctx).Check
}

// recordCheck returns what checks the signatures in the records that were not dropped.
func (a *App) recordCheck(ctx context.Context) *passkey.RecordCheck {
	all, err := a.passkeys.List(ctx)
	if err != nil {
		a.log.Warn("signatures are verified only with the keys in the records", "error", err)
	}
	check := &passkey.RecordCheck{Registered: map[string][]byte{}}
	for _, p := range all {
		check.Registered[p.ID] = p.PublicKey
	}
	cut, err := a.retained().Cut(ctx)
	if err != nil {
		a.log.Warn("passkeys that dropped records registered are not known", "error", err)
	}
	check.Restore(cut.Passkeys)
	return check
}
