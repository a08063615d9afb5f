package httpserver

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Certificate is a TLS certificate that is reloaded when its files change, so that a renewal needs
// no restart.
type Certificate struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	stamp   string    // identifies the version of the files that were read
	checked time.Time // when the files were last checked
}

// checkInterval is the minimum time between two checks of the files.
const checkInterval = 10 * time.Second

// LoadCertificate reads a certificate and its key from two PEM files.
func LoadCertificate(cert, key string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, log: log}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("read the certificate in --tls-cert and --tls-key: %w", err)
	}
	return c, nil
}

func (c *Certificate) read() error {
	stamp := c.fileStamp()
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	c.current, c.stamp, c.checked = &pair, stamp, time.Now()
	return nil
}

// fileStamp returns a text that changes whenever one of the files does.
func (c *Certificate) fileStamp() string {
	var all string
	for _, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			all += fmt.Sprint(info.Size(), info.ModTime().UnixNano(), ";")
		}
	}
	return all
}

// get returns the certificate for a new connection. If the changed files cannot be read, it returns
// the last certificate, because a renewal may be incomplete.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) > checkInterval {
		c.checked = time.Now()
		if c.fileStamp() != c.stamp {
			if err := c.read(); err != nil {
				c.log.Warn("cannot read the renewed certificate; the old one stays in use", "error", err)
			}
		}
	}
	return c.current, nil
}
