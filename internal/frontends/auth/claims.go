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
	"remit/internal/visible"
)

// verified holds the claims of a verified token.
type verified struct {
	who       *identity.Identity
	audience  []string
	expires   time.Time
	notBefore time.Time // the later of the claims iat and nbf
}

// checkTime returns an error if the token has expired or is not valid yet.
func (v *verified) checkTime(now time.Time) error {
	switch {
	case v.expires.IsZero():
		return deniedf("The token never expires; it must have the claim exp")
	case !now.Before(v.expires.Add(leeway)):
		return deniedf("The token expired at %s", v.expires.UTC().Format(time.RFC3339))
	case now.Add(leeway).Before(v.notBefore):
		return deniedf("The token is not valid before %s", v.notBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// checkAudience returns an error if the token was made for another server. Otherwise the operator
// of that server could use it here.
func (o *OIDC) checkAudience(audience []string, base string) error {
	wanted := cmp.Or(o.Audience, base+"/mcp")
	for _, is := range audience {
		if is == wanted || o.Audience == "" && (is == base || is == base+"/" || strings.HasPrefix(is, base+"/mcp/")) {
			return nil
		}
	}
	return deniedf("The token is for another audience; this server accepts tokens for %s", wanted)
}

// read extracts the identity and the validity period from a token whose signature is valid.
func (o *OIDC) read(token *oidc.IDToken) (*verified, error) {
	var claims map[string]json.RawMessage
	if err := token.Claims(&claims); err != nil {
		return nil, deniedf("The claims of the token cannot be read").Because(err)
	}
	for name := range claims {
		// JSON decoders differ in whether they treat Sub as sub. A user who may choose some claims
		// must not be able to set that one.
		if plain := strings.ToLower(name); plain != name && slices.Contains([]string{"iss", "sub", "aud", "exp", "nbf", "iat"}, plain) {
			return nil, deniedf("The token has a claim whose name differs from %s only in case", plain)
		}
	}
	v := &verified{audience: token.Audience, expires: token.Expiry, notBefore: token.IssuedAt}
	begins, err := parseTime(claims["nbf"])
	if err != nil {
		return nil, deniedf("The claim nbf of the token cannot be read").Because(err)
	}
	if begins.After(v.notBefore) {
		v.notBefore = begins
	}
	if !isName(token.Subject) {
		return nil, deniedf("The token needs a claim sub of 1 to %d printable characters", maxNameBytes)
	}
	user, err := o.user(claims)
	if err != nil {
		return nil, err
	}
	v.who = &identity.Identity{
		Principal: "oidc:" + token.Subject,
		Grant: &identity.Grant{User: user, Scopes: scopesOf(claims), Credential: identity.Credential{
			Kind: identity.IssuerCredential, ID: o.URL, Expires: v.expires.Add(leeway),
		}},
	}
	return v, nil
}

// maxNameBytes is the maximum size in bytes of a caller's or user's name.
const maxNameBytes = 255

// isName reports whether a text is safe to show in audit records and approval requests.
func isName(text string) bool {
	return text != "" && len(text) <= maxNameBytes && strings.TrimSpace(text) == text && visible.Index(text) < 0 &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}

// user returns the user whose data the caller may access, or "" if the token names none.
func (o *OIDC) user(claims map[string]json.RawMessage) (string, error) {
	claim := cmp.Or(o.UserClaim, "sub")
	raw, given := claims[claim]
	if !given {
		return "", nil
	}
	user := ""
	if err := json.Unmarshal(raw, &user); err != nil || !isName(user) {
		return "", deniedf("The claim %s of the token does not name a user", claim).Because(err)
	}
	if user == identity.AnyUser { // this would grant access to all users
		return "", deniedf("The claim %s of the token is %q, which is not a user", claim, user)
	}
	// Users can enter any address that the issuer does not verify.
	if claim == "email" && !isTrue(claims["email_verified"]) {
		return "", deniedf("The claim email of the token was not verified by its issuer: email_verified must be true")
	}
	return user, nil
}

// isTrue reports whether a claim is true. Some issuers write it as a string.
func isTrue(raw json.RawMessage) bool {
	return string(raw) == "true" || string(raw) == `"true"`
}

// scopesOf returns the scopes in the claims scope and scp, each a string or a list. It ignores
// scopes in any other format: they are for other servers.
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

// parseTime parses a time claim: seconds since 1970, with or without a fraction.
func parseTime(raw json.RawMessage) (time.Time, error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return time.Time{}, nil
	}
	var seconds float64
	if err := json.Unmarshal(raw, &seconds); err != nil {
		return time.Time{}, err
	}
	const maxSeconds = 1 << 53 // float64 represents integers exactly up to here
	if seconds < -maxSeconds || seconds > maxSeconds {
		return time.Time{}, fmt.Errorf("%g seconds is out of range", seconds)
	}
	return time.Unix(int64(seconds), 0), nil
}
