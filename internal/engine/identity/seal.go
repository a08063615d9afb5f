package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"
)

// keyFor derives a key of its own for each purpose and place: the secret seals other
// things too, and none of them must be taken for another.
func keyFor(secret []byte, purpose, place string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("remit " + purpose + " 1\x00" + place))
	return mac.Sum(nil)
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
