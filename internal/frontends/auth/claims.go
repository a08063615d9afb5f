package auth

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"

	"remit/internal/engine/identity"
)

// verified is what a token of the issuer says.
type verified struct {
	who       *identity.Identity
	audience  []string
	expires   time.Time
	notBefore time.Time // the later of when it was issued and when it begins
}

// isValid refuses a token before and after its time.
func (v *verified) isValid(now time.Time) error {
	switch {
	case v.expires.IsZero():
		return denied("The token never expires; one with the claim exp is needed")
	case !now.Before(v.expires.Add(leeway)):
		return denied("The token expired at %s", v.expires.UTC().Format(time.RFC3339))
	case now.Add(leeway).Before(v.notBefore):
		return denied("The token is not valid before %s", v.notBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// isFor refuses a token that was made for another server: whoever runs that could use
// it here.
func (o *OIDC) isFor(audience []string, base string) error {
	wanted := cmp.Or(o.Audience, base+"/mcp")
	for _, is := range audience {
		if is == wanted || o.Audience == "" && (is == base || is == base+"/" || strings.HasPrefix(is, base+"/mcp/")) {
			return nil
		}
	}
	return denied("The token is for another audience; this server takes those for %s", wanted)
}

// read makes an identity of a token whose signature is good.
func (o *OIDC) read(token *oidc.IDToken) (*verified, error) {
	var claims map[string]json.RawMessage
	if err := token.Claims(&claims); err != nil {
		return nil, denied("The claims of the token cannot be read").Because(err)
	}
	for name := range claims {
		// Decoders of JSON differ in whether Sub is sub; who may choose some claims
		// must not choose that one.
		if plain := strings.ToLower(name); plain != name && slices.Contains([]string{"iss", "sub", "aud", "exp", "nbf", "iat"}, plain) {
			return nil, denied("The token has a claim that is almost %s", plain)
		}
	}
	v := &verified{audience: token.Audience, expires: token.Expiry, notBefore: token.IssuedAt}
	begins, err := instant(claims["nbf"])
	if err != nil {
		return nil, denied("The claim nbf of the token cannot be read").Because(err)
	}
	if begins.After(v.notBefore) {
		v.notBefore = begins
	}
	if !isName(token.Subject) {
		return nil, denied("The token needs a claim sub of 1 to %d characters that can be seen", longestName)
	}
	user, err := o.user(claims)
	if err != nil {
		return nil, err
	}
	v.who = &identity.Identity{
		Principal: "oidc:" + token.Subject,
		Grant:     &identity.Grant{User: user, Scopes: scopesOf(claims)},
	}
	return v, nil
}

// longestName is how many bytes the name of a caller or a user may have.
const longestName = 255

// isName tells whether a text can stand in records and before people who decide by it.
func isName(text string) bool {
	return text != "" && len(text) <= longestName && strings.TrimSpace(text) == text &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}

// user is the one whose data the bearer may name: "" if the token names none.
func (o *OIDC) user(claims map[string]json.RawMessage) (string, error) {
	claim := cmp.Or(o.UserClaim, "sub")
	raw, given := claims[claim]
	if !given {
		return "", nil
	}
	user := ""
	if err := json.Unmarshal(raw, &user); err != nil || !isName(user) {
		return "", denied("The claim %s of the token names no user", claim).Because(err)
	}
	if user == identity.AnyUser { // it would be everybody
		return "", denied("The claim %s of the token is %q, which is no user", claim, user)
	}
	// People can give themselves any address that nobody verifies.
	if claim == "email" && !isTrue(claims["email_verified"]) {
		return "", denied("The claim email of the token was not verified by its issuer: email_verified must be true")
	}
	return user, nil
}

// isTrue reads a truth that some issuers write as text.
func isTrue(raw json.RawMessage) bool {
	return string(raw) == "true" || string(raw) == `"true"`
}

// scopesOf reads the scopes that are ours, from scope or scp: one text, or a list.
// Others are for other servers.
func scopesOf(claims map[string]json.RawMessage) identity.Scopes {
	scopes := identity.Scopes{}
	for _, name := range []string{"scope", "scp"} {
		var text string
		var list []string
		if json.Unmarshal(claims[name], &text) == nil {
			list = strings.Fields(text)
		} else if json.Unmarshal(claims[name], &list) != nil {
			continue
		}
		for _, word := range list {
			if set, right, ok := strings.Cut(word, ":"); ok && set != "" && (right == "read" || right == "write") {
				scopes[identity.Scope{Set: set, Write: right == "write"}] = true
			}
		}
	}
	return scopes
}

// instant reads a claim that is a time: seconds since 1970, perhaps with a fraction.
func instant(raw json.RawMessage) (time.Time, error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return time.Time{}, nil
	}
	var seconds float64
	if err := json.Unmarshal(raw, &seconds); err != nil {
		return time.Time{}, err
	}
	const most = 1 << 53 // of what a float64 tells apart
	if seconds < -most || seconds > most {
		return time.Time{}, fmt.Errorf("%g seconds are no time", seconds)
	}
	return time.Unix(int64(seconds), 0), nil
}
