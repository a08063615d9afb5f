package door

import (
	"net/http"
	"net/url"
	"strings"

	"remit/internal/engine/identity"
)

// longestToken is how many bytes a token may have. Those of issuers that name many
// groups take several thousand.
const longestToken = 8 << 10

// bearer reads the token of a request, as RFC 6750 says that it is sent. Nothing that
// it says of a token repeats any of it.
func bearer(r *http.Request) (string, *refusal) {
	given := r.Header["Authorization"]
	switch {
	case hasQueryToken(r.URL):
		return "", malformed("A token in the address ends up in logs; send it as the header Authorization: Bearer TOKEN, and make a new one")
	case len(given) > 1:
		return "", malformed("The header Authorization was sent %d times; send it once", len(given))
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.Trim(token, " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return "", &refusal{status: http.StatusUnauthorized, why: "This server takes tokens alone; send the header Authorization: Bearer TOKEN"}
	case token == "":
		return "", bad("The header Authorization has no token; send Bearer TOKEN")
	case len(token) > longestToken:
		return "", bad("The token has %d bytes; %d are the most that are looked at", len(token), longestToken)
	case !isToken68(token):
		return "", bad("The token has characters that no token has; perhaps it was copied with quotation marks or a line break")
	}
	return token, nil
}

// isToken68 tells whether the text is written in the characters of tokens.
func isToken68(text string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/"
	body := strings.TrimRight(text, "=")
	return body != "" && strings.Trim(body, characters) == ""
}

// isOurs tells a token of this server from those of others.
func isOurs(token string) bool { return strings.HasPrefix(token, identity.Prefix) }

// hasQueryToken tells whether an address carries a token, however that is spelled.
func hasQueryToken(u *url.URL) bool {
	if u.RawQuery == "" {
		return false
	}
	for pair := range strings.FieldsFuncSeq(u.RawQuery, func(c rune) bool { return c == '&' || c == ';' }) {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil && plain == "access_token" {
			return true
		}
	}
	return false
}
