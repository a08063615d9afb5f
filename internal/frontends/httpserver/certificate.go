package httpserver

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Certificate shows who the server is. Its files are read again when they change, so
// that a renewal needs no restart.
type Certificate struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	stamp   string    // of the files that it was read from
	looked  time.Time // when they were last looked at
}

// lookEvery is how often the files are looked at, at most.
const lookEvery = 10 * time.Second

// LoadCertificate reads a certificate and its key, both PEM.
func LoadCertificate(cert, key string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, log: log}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("read the certificate of --tls-cert and --tls-key: %w", err)
	}
	return c, nil
}

func (c *Certificate) read() error {
	stamp := c.stampNow()
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	c.current, c.stamp, c.looked = &pair, stamp, time.Now()
	return nil
}

// stampNow differs whenever one of the files does.
func (c *Certificate) stampNow() string {
	var all string
	for _, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			all += fmt.Sprint(info.Size(), info.ModTime().UnixNano(), ";")
		}
	}
	return all
}

// get gives the certificate for a new connection. One that cannot be read leaves the
// last in place: half of a renewal is no reason to stop.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) > lookEvery {
		c.looked = time.Now()
		if c.stampNow() != c.stamp {
			if err := c.read(); err != nil {
				c.log.Warn("the certificate has changed, but cannot be read; the last one stays", "error", err)
			}
		}
	}
	return c.current, nil
}
