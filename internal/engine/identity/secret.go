package identity

import (
	"crypto/rand"
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// Prefix is what the secret of every token begins with: a bearer that does not is
// none of ours, and scanners find one that leaked.
const Prefix = "remit_"

const (
	randomBytes = 32
	randomChars = 43 // of base64url
	checkChars  = 6  // of the checksum
)

// newSecret makes the secret of a token: Prefix, 32 random bytes and a checksum. Only
// its hash is ever kept.
func newSecret() string {
	body := Prefix + randomText()
	return body + checksum(body)
}

// randomText is 32 random bytes as text.
func randomText() string {
	b := make([]byte, randomBytes)
	_, _ = rand.Read(b) // never fails
	return encoded(b)
}

// checksum tells a token with a typo from one that is unknown. It keeps no secret:
// anybody may compute it.
func checksum(body string) string {
	return encoded(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(body))))
}

// wellFormed tells whether a text can be the secret of a token, before anything is
// looked up.
func wellFormed(text string) bool {
	if !strings.HasPrefix(text, Prefix) || len(text) != len(Prefix)+randomChars+checkChars {
		return false
	}
	body := text[:len(text)-checkChars]
	return same(checksum(body), text[len(body):])
}

// NewID returns ten characters of Crockford's base32: fifty random bits, with no letter
// that a person could misread when typing it from a screen.
func NewID() string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	id := make([]byte, 10)
	_, _ = rand.Read(id) // never fails
	for i, b := range id {
		id[i] = alphabet[b%32]
	}
	return string(id)
}
