package identity

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"remit/internal/contract"
)

// longestName is how many characters a name may have.
const longestName = 64

// CheckName refuses a name of a token or a person that others could misread: it
// stands in records, and people decide by it. The error is a contract.Invalid.
func CheckName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case n == 0:
		return contract.Errorf(contract.Invalid, "A name is needed: 1 to %d characters that can be seen", longestName)
	case n > longestName:
		return contract.Errorf(contract.Invalid, "The name has %d characters; it may have %d", n, longestName)
	}
	return checkShown("name", name)
}

// longestUser is how many bytes the id of a user may have.
const longestUser = 255

// checkUser refuses an id of a user that no tool would take.
func checkUser(user string) error {
	if len(user) > longestUser {
		return contract.Errorf(contract.Invalid, "The user has %d bytes; it may have %d", len(user), longestUser)
	}
	return checkShown("user", user)
}

// checkShown refuses a text with characters that do not show themselves, such as
// control characters and marks that turn the direction of writing.
func checkShown(what, text string) error {
	if strings.TrimSpace(text) != text {
		return contract.Errorf(contract.Invalid, "The %s %q begins or ends with a space", what, text)
	}
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); !unicode.IsPrint(r) || r == utf8.RuneError && size == 1 {
			return contract.Errorf(contract.Invalid, "The %s %q has a character that cannot be seen, at byte %d", what, text, i)
		}
	}
	return nil
}
