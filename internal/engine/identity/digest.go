package identity

import (
	"crypto/sha256"
	"strconv"
)

// Digest returns the SHA-256 of the parts. The length prefix keeps "ab"+"c" and "a"+"bc" apart.
func Digest(parts ...string) []byte {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return h.Sum(nil)
}
