package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"remit/internal/contract"
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

// webhookFormat resolves the form of the webhook's messages.
func (r *resolver) webhookFormat(s *Settings) error {
	return r.parse("webhook_format", func(text string) error {
		s.WebhookFormat = text
		return contract.OneOf(text, "json", "slack", "ntfy")
	})
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

// schemes lists the settings that name a folder or file for data, with the prefix before a path.
var schemes = []struct{ key, prefix string }{{"data", ""}, {"database", "sqlite://"}, {"books", folderScheme}}

// operatorKeys lists the settings that say whom Remit trusts, where it sends notifications and
// where its keys are. A file that came with a workspace must not set them.
func operatorKeys() []string {
	var keys []string
	for _, s := range settingsTable {
		if s.trust == operatorOnly {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// checkOperatorOnly rejects a configuration file from the workspace that sets what only the
// operator may set, by flag, by variable, or in a file that they name with --config.
func (f *configFile) checkOperatorOnly() error {
	for _, s := range settingsTable {
		value, given := f.settings[s.key]
		if given && (s.trust == operatorOnly || s.key == "identity" && weakens(s.key, value)) {
			return fmt.Errorf("%s: %s cannot be set by a file in the workspace; use --%s or %s, or name this file with --config",
				f.position(s.key), s.key, s.flag(), s.variable())
		}
	}
	return nil
}

// checkWithin rejects a configuration file from the workspace that makes Remit store data outside
// the workspace, also by a link, even if it is trusted: the operator may say so by flag or
// variable.
func (f *configFile) checkWithin(root string) error {
	for _, s := range schemes {
		for _, location := range splitList(f.settings[s.key]) {
			set, path := settingNamed(s.key), strings.TrimPrefix(location, s.prefix)
			if strings.Contains(path, "://") {
				continue // the URL of a server, which a person has trusted
			}
			if !isWithin(root, path) {
				return fmt.Errorf("%s: %s points outside the workspace; set it with --%s or %s instead",
					f.position(s.key), s.key, set.flag(), set.variable())
			}
			if link := firstLink(root, path); link != "" {
				return fmt.Errorf("%s: %s: %s is a link; remove it, or set the path with --%s or %s",
					f.position(s.key), s.key, link, set.flag(), set.variable())
			}
		}
	}
	return nil
}

// firstLink returns the first part of a path beneath root that is a symbolic link, or "".
func firstLink(root, location string) string {
	location = expandPrefix(expandPrefix(location, "ROOT/", ""), "DATA/", ".remit/")
	if rest, err := filepath.Rel(root, location); filepath.IsAbs(location) && err == nil {
		location = rest
	}
	for name := range strings.SplitSeq(filepath.ToSlash(location), "/") {
		root = filepath.Join(root, name)
		if info, err := os.Lstat(root); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return root
		}
	}
	return ""
}

func isWithin(root, location string) bool {
	if location == "" || strings.HasPrefix(location, "DATA/") && filepath.IsLocal(location) {
		return true // not set, or in the data folder, which has its own check
	}
	location = expandPrefix(location, "ROOT/", root+"/")
	if !filepath.IsAbs(location) {
		location = filepath.Join(root, location)
	}
	relative, err := filepath.Rel(root, location)
	return err == nil && filepath.IsLocal(relative)
}
