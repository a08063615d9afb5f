package audit

import "strings"

// passwordKeys are the names of passwords in connection strings and environment variables, in lower
// case. A longer name may end with one, after a character that is not a letter: DB_PASSWORD.
var passwordKeys = [...]string{
	"password", "passwd", "pwd", "pgpassword", "accountkey", "sharedaccesskey", "sharedaccesssignature",
	"secret_access_key", "secretaccesskey", // AWS
	"api_key", "apikey", "api-key", "access_token", "accesstoken", "client_secret",
}

// findPassword returns the index and size of the first password of a connection string at or after
// from: that of a URL (postgres://user:PASSWORD@host), or a value with the name of a password
// (Server=db;Password=PASSWORD). The size is 0 if there is none.
func findPassword(text string, from int) (at, size int) {
	for i := from; i < len(text); i++ {
		switch text[i] {
		case ':':
			at, size = urlPassword(text, i)
		case '=':
			at, size = namedPassword(text, i)
		default:
			continue
		}
		if size > 0 {
			return at, size
		}
	}
	return len(text), 0
}

// urlPassword returns the password of the URL whose scheme ends with the colon at an index.
func urlPassword(text string, colon int) (at, size int) {
	rest, ok := strings.CutPrefix(text[colon:], "://")
	if !ok {
		return 0, 0
	}
	if end := strings.IndexAny(rest, "/?#\"'<> \t\r\n"); end >= 0 {
		rest = rest[:end]
	}
	user, password, ok := strings.Cut(rest[:max(strings.LastIndexByte(rest, '@'), 0)], ":")
	if !ok {
		return 0, 0
	}
	return colon + len("://") + len(user) + 1, len(password)
}

// namedPassword returns the value after the equals sign at an index, if its name is that of a
// password.
func namedPassword(text string, equals int) (at, size int) {
	if !endsWithPasswordKey(text[:equals]) {
		return 0, 0
	}
	value, quote := text[equals+1:], ""
	if strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'") {
		value, quote = value[1:], value[:1]
	}
	ends := "\"'&;, \t\r\n"
	if quote != "" {
		ends = quote
	}
	if end := strings.IndexAny(value, ends); end >= 0 {
		value = value[:end]
	}
	const least = 3 // shorter ones are patterns and placeholders
	if len(value) < least {
		return 0, 0
	}
	return equals + 1 + len(quote), len(value)
}

func endsWithPasswordKey(text string) bool {
	for _, key := range passwordKeys {
		begins := len(text) - len(key)
		if begins >= 0 && strings.EqualFold(text[begins:], key) && (begins == 0 || !isLetter(text[begins-1])) {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
