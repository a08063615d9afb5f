package cli

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// The URL schemes for the storage of books.
const (
	folderScheme = "file://"
	bucketScheme = "s3://"
)

// books resolves where books are stored.
func (r *resolver) books(s *Settings) error {
	text, origin := r.lookup("books")
	var shown []string
	for _, location := range splitList(text) {
		if folder, ok := strings.CutPrefix(location, folderScheme); ok && folder != "" {
			location = folderScheme + s.folder(folder, origin)
		}
		s.Books, shown = append(s.Books, location), append(shown, withoutPassword(location))
	}
	r.record("books", strings.Join(shown, ","), origin)
	if err := checkLocations(s.Books); err != nil {
		return r.file.wrongValue("books", origin, err)
	}
	return nil
}

// folder returns the absolute path of the folder in a file URL.
func (s *Settings) folder(name string, origin Origin) string {
	name = expandPrefix(name, "DATA/", s.Data+"/")
	if cut, ok := strings.CutPrefix(name, "/"); ok && filepath.VolumeName(cut) != "" {
		name = cut // file:///C:/x is how a URL names C:\x
	}
	return s.absolute(filepath.FromSlash(name), origin)
}

// checkLocations rejects invalid locations, and two of the same kind: the registry stores only the
// kind of a book's location.
func checkLocations(locations []string) error {
	kinds := map[string]bool{}
	for _, location := range locations {
		kind := folderScheme
		if strings.HasPrefix(location, bucketScheme) {
			kind = bucketScheme
		}
		if !strings.HasPrefix(location, kind) || location == kind {
			return fmt.Errorf("%q must be file://FOLDER or s3://BUCKET/PREFIX", withoutPassword(location))
		}
		kinds[kind] = true
	}
	if len(locations) == 0 || len(locations) != len(kinds) {
		return errors.New("give a folder or a bucket, or one of each; the registry cannot distinguish two of the same kind")
	}
	return nil
}

// webAddress returns a parser that sets target to a base URL. An empty text leaves target
// unchanged.
func webAddress(target *string) func(string) error {
	return func(text string) error {
		u, err := url.Parse(text)
		switch {
		case text == "":
			return nil
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil,
			strings.ContainsAny(text, "?#"):
			return errors.New("must be a URL such as https://books.example.com, with no user, query or fragment")
		}
		*target = strings.TrimRight(text, "/")
		return nil
	}
}

// issuerAddress returns a parser for the URL of an issuer. It keeps the exact spelling, which must
// match that in tokens.
func issuerAddress(target *string) func(string) error {
	return func(text string) error {
		*target = text
		return webAddress(new(string))(text)
	}
}

// webhook resolves the webhook URL. Its path may be a secret, so config print does not show it.
func (r *resolver) webhook(s *Settings) error {
	text, origin := r.lookup("webhook")
	if text == "" {
		r.record("webhook", "", origin)
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return r.file.wrongValue("webhook", origin, errors.New("must be a URL such as https://hooks.example.com/remit"))
	}
	r.record("webhook", u.Scheme+"://"+u.Host+"/***", origin)
	s.Webhook = text
	return nil
}

// withoutPassword masks the password in an address. The password may come before the last @,
// escaped or not, or be among the parameters.
func withoutPassword(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	if !found && strings.ContainsAny(address, "@=") {
		return "***" // not a valid address, but it may contain a password
	}
	if !found || scheme == "sqlite" || scheme == "file" {
		return address
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if user, _, hidden := strings.Cut(rest[:at], ":"); hidden {
			rest = user + ":***" + rest[at:]
		}
	}
	location, parameters, _ := strings.Cut(rest, "?")
	isSecret := func(word string) bool { return strings.Contains(strings.ToLower(parameters), word) }
	if slices.ContainsFunc([]string{"pass", "secret", "token", "access_key"}, isSecret) {
		rest = location + "?***"
	}
	return scheme + "://" + rest
}

// schemes lists the settings that say where data is stored or sent, with the prefix before a path.
var schemes = []struct{ key, prefix string }{
	{"data", ""}, {"database", "sqlite://"}, {"books", folderScheme}, {"public_url", ""}, {"embeddings", ""},
}

// operatorOnly lists the settings that say whom Remit trusts and where it sends notifications. A
// file that came with a workspace must not set them, whatever the value.
func operatorOnly() []string {
	return []string{"identity", "oidc_issuer", "oidc_audience", "oidc_user", "webhook", "tls_cert", "tls_key", "behind_proxy"}
}

// checkWithin rejects a configuration file from the workspace that makes Remit write or send data
// outside the workspace, or trust somebody else. The operator may set that with a flag or variable,
// or name the file with --config.
func (f *configFile) checkWithin(root string) error {
	for _, key := range operatorOnly() {
		if _, given := f.settings[key]; given {
			set := setting{key: key}
			return fmt.Errorf("%s: %s cannot be set by a file in the workspace; use --%s or %s, or name this file with --config",
				f.position(key), key, set.flag(), set.variable())
		}
	}
	for _, s := range schemes {
		locations := []string{f.settings[s.key]}
		if s.key == "books" {
			locations = splitList(f.settings[s.key])
		}
		for _, location := range locations {
			if !isWithin(root, strings.TrimPrefix(location, s.prefix)) {
				set := setting{key: s.key}
				return fmt.Errorf("%s: %s points outside the workspace; set it with --%s or %s instead",
					f.position(s.key), s.key, set.flag(), set.variable())
			}
		}
	}
	return nil
}

func isWithin(root, location string) bool {
	if location == "" || strings.HasPrefix(location, "DATA/") && filepath.IsLocal(location) {
		return true // not set, or in the data folder, which has its own check
	}
	if strings.Contains(location, "://") { // the URL of a server
		return false
	}
	location = expandPrefix(location, "ROOT/", root+"/")
	if !filepath.IsAbs(location) {
		location = filepath.Join(root, location)
	}
	relative, err := filepath.Rel(root, location)
	return err == nil && filepath.IsLocal(relative)
}
