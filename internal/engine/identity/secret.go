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

// keyOf derives a key of its own for each purpose and place: the secret seals other
// things too, and none of them must be taken for another.
func keyOf(secret func() ([]byte, error), purpose, place string) ([]byte, error) {
	key, err := secret()
	if err != nil {
		return nil, unreachable(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("remit " + purpose + " 1\x00" + place))
	return mac.Sum(nil), nil
}

// open opens a store, and derives the key for what is kept there.
func open[S any](
	ctx context.Context, opens func(context.Context) (S, error), secret func() ([]byte, error), purpose, place string,
) (store S, key []byte, err error) {
	if key, err = keyOf(secret, purpose, place); err != nil {
		return store, nil, err
	}
	if store, err = opens(ctx); err != nil {
		return store, nil, unreachable(err)
	}
	return store, key, nil
}

// Seal is what proves that parts were put together by somebody with the key.
func Seal(key []byte, parts ...string) string { return hex.EncodeToString(macOf(key, parts...)) }

// macOf binds parts together. The length in front keeps "ab"+"c" and "a"+"bc" apart.
func macOf(key []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return mac.Sum(nil)
}

// asKept is a time as stores give it back: to a microsecond.
func asKept(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// instant is a time as it goes into a seal: to a microsecond as well. The zero time is
// nothing.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMicro(), 10)
}

// same compares what nobody may guess piece by piece.
func same(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// encoded is how random bytes are written: nothing in it needs escaping in a header,
// a cookie or an address.
func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
