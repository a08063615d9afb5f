package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"remit/internal/frontends/cli"
)

// servedFile is where the address is noted at which this workspace is served, for the
// commands that lead people there. It lies with the user's key: one that a workspace
// brings along could lead them, and their sign-in, elsewhere.
func (a *App) servedFile() string {
	sum := sha256.Sum256([]byte(a.kept.place))
	return filepath.Join(secretFolders()[0], "served", hex.EncodeToString(sum[:8]))
}

// noteServed notes the address until forget is called. Of two servers of a workspace the
// later one is known.
func (a *App) noteServed(address string) (forget func()) {
	file := a.servedFile()
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(address), 0o600)
	}
	if err != nil {
		a.log.Debug("where the workspace is served cannot be noted", "error", err) // links then need --addr
	}
	return func() {
		if noted, err := os.ReadFile(file); err == nil && string(noted) == address {
			_ = os.Remove(file) // else the next look finds that nobody listens there
		}
	}
}

// served is where the workspace is served right now by another process, as far as that
// is known; "" if the settings name an address themselves.
func (a *App) served() string {
	noted, err := os.ReadFile(a.servedFile())
	if err != nil || a.settings.Origin("addr") != cli.FromDefault {
		return ""
	}
	u, err := url.Parse(string(noted))
	if err != nil {
		return ""
	}
	moment, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	c, err := new(net.Dialer).DialContext(moment, "tcp", u.Host)
	if err != nil {
		return "" // it ended without a word
	}
	_ = c.Close() // nothing was sent
	return string(noted)
}
