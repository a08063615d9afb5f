package signedurl

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// Signer makes and verifies signed URLs. A URL contains everything that it permits and its expiry;
// nothing is stored.
type Signer struct {
	Secret    func() ([]byte, error) // called whenever a URL is made or verified
	LibraryID string                 // identifies the library; a URL is valid for one library only
	Now       func() time.Time
}

// Upload returns the path and query of a URL that accepts one upload of exactly this size.
func (s *Signer) Upload(key string, size int64, by string, expires time.Time) (string, error) {
	return s.signURL(uploadPrefix, key, map[string]string{"size": strconv.FormatInt(size, 10), "by": by}, expires)
}

// Archive returns the path and query of a URL of a book's zip. The date in its name is for people.
func (s *Signer) Archive(bookID string, expires time.Time) (string, error) {
	return s.signURL(archivePrefix, bookID+s.Now().UTC().Format(archiveSuffix), nil, expires)
}

// archiveSuffix is the time layout of the end of an archive's name.
const archiveSuffix = "-2006-01-02.zip"

// signURL returns a signed path and query.
func (s *Signer) signURL(prefix, name string, params map[string]string, expires time.Time) (string, error) {
	query := url.Values{"expires": {strconv.FormatInt(expires.Unix(), 10)}}
	for key, value := range params {
		query.Set(key, value)
	}
	signature, err := s.sign(prefix, name, query)
	if err != nil {
		return "", err
	}
	query.Set("signature", signature)
	return prefix + name + "?" + query.Encode(), nil
}

// sign returns the signature of a path prefix, a name and all parameters.
func (s *Signer) sign(prefix, name string, query url.Values) (string, error) {
	secret, err := s.Secret()
	if err != nil {
		return "", contract.Errorf(contract.Unavailable, "Signed links cannot be used right now; try again").Because(err)
	}
	// The secret also signs other things, which must not be valid as URLs.
	key := hmac.New(sha256.New, secret)
	key.Write([]byte("remit links\x00" + s.LibraryID))
	return identity.Seal(key.Sum(nil), prefix, name, query.Encode()), nil
}

// Error messages for URLs that are not valid. A client that altered the expiry learns only that the
// URL was altered.
const (
	linkAltered = "This link was altered, cut off, or made for another library; ask the tool for a new one"
	linkExpired = "This link has expired; ask the tool for a new one"
)

func invalidLink(message string) error {
	return &contract.Error{Kind: contract.Denied, Code: linkError, Message: message}
}

// check returns the parameters of a URL. It returns an error if the signature is wrong or the URL
// has expired. The name is compared as it was sent; the parameters may come in any order.
func (s *Signer) check(prefix, name, rawQuery string) (url.Values, error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil || slices.ContainsFunc(slices.Collect(maps.Values(query)), func(given []string) bool { return len(given) != 1 }) {
		return nil, invalidLink(linkAltered)
	}
	given := query.Get("signature")
	query.Del("signature")
	want, err := s.sign(prefix, name, query)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal([]byte(given), []byte(want)) {
		return nil, invalidLink(linkAltered)
	}
	expires, err := strconv.ParseInt(query.Get("expires"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("parse expiry of a signed link: %w", err)
	}
	if s.Now().Unix() >= expires {
		return nil, invalidLink(linkExpired)
	}
	return query, nil
}

// upload verifies an upload URL and returns its parameters.
func (s *Signer) upload(key, rawQuery string) (size int64, by string, err error) {
	params, err := s.check(uploadPrefix, key, rawQuery)
	if err != nil {
		return 0, "", err
	}
	size, err = strconv.ParseInt(params.Get("size"), 10, 64)
	return size, params.Get("by"), err
}

// archive verifies an archive URL and returns the book.
func (s *Signer) archive(name, rawQuery string) (bookID string, err error) {
	if _, err := s.check(archivePrefix, name, rawQuery); err != nil {
		return "", err
	}
	return name[:len(name)-len(archiveSuffix)], nil
}
