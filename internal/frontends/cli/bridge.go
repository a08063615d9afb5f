package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// settingsOfServer only matter to the process that serves, so that a process that uses a server may
// have others. The server knows the folders by their files, and chooses toolsets for each process.
var settingsOfServer = []string{
	"root", "data", "keys", "config", "bridge", "toolsets", "read_only", "watch", "code_memory", "log_level", "log_format", "log_file",
	"audit_keep", "addr", "tls_cert", "tls_key", "behind_proxy", "identity", "oidc_issuer", "oidc_audience", "oidc_user",
}

// Comparable returns what must be equal in two processes, so that one can act for the other:
// digests of settings and of variables, by name.
func (s *Settings) Comparable() map[string]string {
	all := map[string]string{
		"tools":          fmt.Sprintf("%+v", s.Tools),
		"embeddings URL": s.Embeddings, // with its password
		"time zone":      time.Now().Format("-0700"),
	}
	for _, name := range []string{"REMIT_EMBEDDINGS_KEY", "REMIT_DEADLINE_FACTOR"} {
		if s.Env != nil {
			all[name], _ = s.Env(name)
		}
	}
	for _, v := range s.values {
		if !slices.Contains(settingsOfServer, v.Key) {
			all[v.Key] = strings.ReplaceAll(strings.ReplaceAll(v.Value, s.Data, "DATA"), s.Root, "ROOT")
		}
	}
	for name, value := range all {
		sum := sha256.Sum256([]byte(value))
		all[name] = hex.EncodeToString(sum[:])
	}
	return all
}
