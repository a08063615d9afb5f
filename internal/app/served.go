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

// servedFile returns the file that holds the URL at which this workspace is served, for the
// commands that send people there. It is stored next to the user's key: a file inside a cloned
// workspace could send people, and their sign-in, to another server.
func (a *App) servedFile() string {
	if a.keys.Path() == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(a.storage.place))
	return filepath.Join(a.keys.Path(), "served", hex.EncodeToString(sum[:8]))
}

// noteServed records the URL until forget is called. If two servers serve a workspace, the later
// one is recorded.
func (a *App) noteServed(address string) (forget func()) {
	file := a.servedFile()
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(address), 0o600)
	}
	if err != nil {
		// Links then need --addr.
		a.log.Debug("cannot record the address of the server", "error", err)
	}
	return func() {
		if noted, err := os.ReadFile(file); err == nil && string(noted) == address {
			_ = os.Remove(file) // if it stays, the next reader finds that nothing listens there
		}
	}
}

// served returns the URL at which another process serves the workspace now, or "" if that is
// unknown or the settings name an address.
func (a *App) served() string {
	noted, err := os.ReadFile(a.servedFile())
	if err != nil || a.settings.Origin("addr") != cli.FromDefault {
		return ""
	}
	u, err := url.Parse(string(noted))
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return "" // it ended without removing the file
	}
	_ = c.Close() // nothing was sent
	return string(noted)
}
