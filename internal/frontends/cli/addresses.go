package cli

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// What the address of a place for books begins with.
const (
	folderScheme = "file://"
	bucketScheme = "s3://"
)

// places finds where books are kept.
func (r *resolver) places(s *Settings) error {
	text, origin := r.lookup("books")
	var shown []string
	for _, place := range splitList(text) {
		if folder, ok := strings.CutPrefix(place, folderScheme); ok && folder != "" {
			place = folderScheme + s.folder(folder, origin)
		}
		s.Books, shown = append(s.Books, place), append(shown, withoutPassword(place))
	}
	r.note("books", strings.Join(shown, ","), origin)
	if err := checkPlaces(s.Books); err != nil {
		return r.file.wrongValue("books", origin, err)
	}
	return nil
}

// folder is the whole path of a folder in an address.
func (s *Settings) folder(name string, origin Origin) string {
	name = within(name, "DATA/", s.Data+"/")
	if cut, ok := strings.CutPrefix(name, "/"); ok && filepath.VolumeName(cut) != "" {
		name = cut // file:///C:/x is how a URL names C:\x
	}
	return s.absolute(filepath.FromSlash(name), origin)
}

// checkPlaces refuses what is no place, and two between which a registry cannot tell.
func checkPlaces(places []string) error {
	kinds := map[string]bool{}
	for _, place := range places {
		kind := folderScheme
		if strings.HasPrefix(place, bucketScheme) {
			kind = bucketScheme
		}
		if !strings.HasPrefix(place, kind) || place == kind {
			return fmt.Errorf("%q must be file://FOLDER or s3://BUCKET/PREFIX", withoutPassword(place))
		}
		kinds[kind] = true
	}
	if len(places) == 0 || len(places) != len(kinds) {
		return errors.New("name a folder or a bucket, or one of each: that is how the registry tells where a book is")
	}
	return nil
}

// webAddress takes an address over that paths can be put behind, if there is one.
func webAddress(target *string) func(string) error {
	return func(text string) error {
		u, err := url.Parse(text)
		switch {
		case text == "":
			return nil
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsAny(text, "?#"):
			return errors.New("must be an address such as https://books.example.com, with nothing but a path behind it")
		}
		*target = strings.TrimRight(text, "/")
		return nil
	}
}

// issuerAddress takes the name of an issuer as it is: tokens spell it just so.
func issuerAddress(target *string) func(string) error {
	return func(text string) error {
		*target = text
		return webAddress(new(string))(text)
	}
}

// webhook finds the address that is told of requests. What is behind its host may be a
// secret, so it is not shown.
func (r *resolver) webhook(s *Settings) error {
	text, origin := r.lookup("webhook")
	if text == "" {
		r.note("webhook", "", origin)
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return r.file.wrongValue("webhook", origin, errors.New("must be an address such as https://hooks.example.com/remit"))
	}
	r.note("webhook", u.Scheme+"://"+u.Host+"/***", origin)
	s.Webhook = text
	return nil
}

// withoutPassword makes an address fit to be shown: a password may stand before the
// last @, escaped or not, or among the parameters.
func withoutPassword(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	if !found && strings.ContainsAny(address, "@=") {
		return "***" // nothing that is taken, but who knows what they meant to say
	}
	if !found || scheme == "sqlite" || scheme == "file" {
		return address
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if user, _, hidden := strings.Cut(rest[:at], ":"); hidden {
			rest = user + ":***" + rest[at:]
		}
	}
	place, parameters, _ := strings.Cut(rest, "?")
	isSecret := func(word string) bool { return strings.Contains(strings.ToLower(parameters), word) }
	if slices.ContainsFunc([]string{"pass", "secret", "token", "access_key"}, isSecret) {
		rest = place + "?***"
	}
	return scheme + "://" + rest
}

// schemes are what the settings begin with that say where something is kept, or sent.
var schemes = []struct{ key, beneath string }{
	{"data", ""}, {"database", "sqlite://"}, {"books", folderScheme}, {"public_url", ""}, {"embeddings", ""},
}

// operatorOnly are settings that say whom Remit trusts and whom it tells of requests.
// No value of them is harmless in a file that came with a workspace.
func operatorOnly() []string {
	return []string{"identity", "oidc_issuer", "oidc_audience", "oidc_user", "webhook", "tls_cert", "tls_key", "behind_proxy"}
}

// staysBeneath refuses a file that came with the workspace and would have Remit
// write elsewhere, send callers with their uploads there, or trust others: whoever owns
// the machine says so with a flag, or names the file.
func (f *configFile) staysBeneath(root string) error {
	for _, key := range operatorOnly() {
		if _, given := f.settings[key]; given {
			set := setting{key: key}
			return fmt.Errorf("%s: %s is for whoever starts Remit to set; use --%s or %s, or name this file with --config", f.place(key), key, set.flag(), set.variable())
		}
	}
	for _, s := range schemes {
		places := []string{f.settings[s.key]}
		if s.key == "books" {
			places = splitList(f.settings[s.key])
		}
		for _, place := range places {
			if !isBeneath(root, strings.TrimPrefix(place, s.beneath)) {
				set := setting{key: s.key}
				return fmt.Errorf("%s: %s leads out of the workspace; set it with --%s or %s instead", f.place(s.key), s.key, set.flag(), set.variable())
			}
		}
	}
	return nil
}

func isBeneath(root, place string) bool {
	if place == "" || strings.HasPrefix(place, "DATA/") && filepath.IsLocal(place) {
		return true // not set, or in the data folder, which is judged itself
	}
	if strings.Contains(place, "://") { // a server
		return false
	}
	place = within(place, "ROOT/", root+"/")
	if !filepath.IsAbs(place) {
		place = filepath.Join(root, place)
	}
	beneath, err := filepath.Rel(root, place)
	return err == nil && filepath.IsLocal(beneath)
}
