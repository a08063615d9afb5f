package identity

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
)

// Prefix is the beginning of the secret of every token. It tells our tokens from other bearer
// tokens, and lets scanners find leaked ones. PersonPrefix is that of the tokens of people.
const (
	Prefix       = "remit_"
	PersonPrefix = Prefix + "p_"
)

const (
	randomBytes = 32
	randomChars = 43 // of base64url
	checkChars  = 6  // of the checksum
)

// newSecret returns the secret of a new token: a prefix, 32 random bytes and a checksum. Only its
// hash is stored.
func newSecret(prefix string) string {
	body := prefix + randomText()
	return body + checksum(body)
}

// randomText returns 32 random bytes as text.
func randomText() string {
	b := make([]byte, randomBytes)
	_, _ = rand.Read(b) // never fails
	return encoded(b)
}

// checksum distinguishes a token with a typo from an unknown one. It is not secret: anybody can
// compute it.
func checksum(body string) string {
	return encoded(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(body))))
}

// wellFormed reports whether a text can be the secret of a token, without a lookup.
func wellFormed(text string) bool {
	const rest = randomChars + checkChars
	ofAgent := strings.HasPrefix(text, Prefix) && len(text) == len(Prefix)+rest
	if ofPerson := strings.HasPrefix(text, PersonPrefix) && len(text) == len(PersonPrefix)+rest; !ofAgent && !ofPerson {
		return false
	}
	body := text[:len(text)-checkChars]
	return equal(checksum(body), text[len(body):])
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

// keyOf derives a separate key for each purpose and workspace, so that nothing sealed for one is
// valid for another.
func keyOf(secret func() ([]byte, error), purpose, workspace string, anchor Anchor) ([]byte, error) {
	key, err := secret()
	if err != nil {
		return nil, unreachable(err)
	}
	place := workspace
	if anchor != nil {
		if place, err = anchor.Place(); err != nil {
			return nil, unreachable(err)
		}
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("remit " + purpose + " 1\x00" + place))
	return mac.Sum(nil), nil
}

// open opens a store, and derives the key for its content.
func open[S any](
	ctx context.Context, opens func(context.Context) (S, error), secret func() ([]byte, error), purpose, workspace string, anchor Anchor,
) (store S, key []byte, err error) {
	if key, err = keyOf(secret, purpose, workspace, anchor); err != nil {
		return store, nil, err
	}
	if store, err = opens(ctx); err != nil {
		return store, nil, unreachable(err)
	}
	return store, key, nil
}

// Seal returns a MAC of the parts, which proves that somebody with the key combined them.
func Seal(key []byte, parts ...string) string { return hex.EncodeToString(macOf(key, parts...)) }

// macOf returns the MAC of the parts. The length prefix keeps "ab"+"c" and "a"+"bc" apart.
func macOf(key []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return mac.Sum(nil)
}

// truncated returns a time with the precision of stores, a microsecond.
func truncated(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// instant returns a time in the form of a seal, in microseconds; "" for the zero time.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMicro(), 10)
}

// equal compares secrets in constant time.
func equal(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// encoded returns bytes as text that needs no escaping in a header, a cookie or a URL.
func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
