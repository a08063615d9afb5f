package signedurl

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// Signer makes and verifies signed URLs. A URL contains everything that it permits, who got it, and
// its expiry; nothing is stored.
type Signer struct {
	Secret    func() ([]byte, error) // called whenever a URL is made or verified
	LibraryID string                 // identifies workspace and library; a URL is valid there only
	Now       func() time.Time
}

// Link is what a signed URL says about itself.
type Link struct {
	By         string // the principal who got it
	Credential string // what they authenticated with: an identity.Credential
	Expires    time.Time

	// The signer sets these.
	ID     string // unique, for records and to use it once
	Issued time.Time
}

// Upload is the one upload that a URL permits.
type Upload struct {
	Key  string
	Size int64
	By   string // the principal who got the URL
	Seen string // the state of the asset that a person approved to replace; "" if nobody was asked
}

// Upload returns the path and query of a URL that accepts one upload.
func (s *Signer) Upload(u Upload, l Link) (string, error) {
	params := map[string]string{"size": strconv.FormatInt(u.Size, 10)}
	if u.Seen != "" {
		params["seen"] = u.Seen
	}
	return s.signURL(uploadPrefix, u.Key, params, l)
}

// Archive returns the path and query of a URL of a book's zip. The date in its name is for people.
func (s *Signer) Archive(bookID string, l Link) (string, error) {
	return s.signURL(archivePrefix, bookID+s.Now().UTC().Format(archiveSuffix), nil, l)
}

// archiveSuffix is the time layout of the end of an archive's name.
const archiveSuffix = "-2006-01-02.zip"

// signURL returns a signed path and query.
func (s *Signer) signURL(prefix, name string, params map[string]string, l Link) (string, error) {
	query := url.Values{
		"id": {rand.Text()}, "by": {l.By}, "for": {l.Credential},
		"issued": {strconv.FormatInt(s.Now().UnixMicro(), 10)}, "expires": {strconv.FormatInt(l.Expires.Unix(), 10)},
	}
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
	linkAltered = "This link was altered, cut off, or made for another workspace or library; ask the tool for a new one"
	linkExpired = "This link has expired; ask the tool for a new one"
	linkUsed    = "This link was used already, and works only once; check with get_asset what is stored, " +
		"or ask upload_asset for a new link"
)

func invalidLink(message string) error {
	return &contract.Error{Kind: contract.Denied, Code: linkError, Message: message}
}

// check returns the parameters of a URL. It returns an error if the signature is wrong or the URL
// has expired; in the second case it also returns the link. The name is compared as it was sent;
// the parameters may come in any order.
func (s *Signer) check(prefix, name, rawQuery string) (Link, url.Values, error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil || slices.ContainsFunc(slices.Collect(maps.Values(query)), func(given []string) bool { return len(given) != 1 }) {
		return Link{}, nil, invalidLink(linkAltered)
	}
	given := query.Get("signature")
	query.Del("signature")
	want, err := s.sign(prefix, name, query)
	if err != nil {
		return Link{}, nil, err
	}
	if !hmac.Equal([]byte(given), []byte(want)) {
		return Link{}, nil, invalidLink(linkAltered)
	}
	issued, err := strconv.ParseInt(query.Get("issued"), 10, 64)
	if err != nil {
		return Link{}, nil, fmt.Errorf("parse a signed link: %w", err)
	}
	expires, err := strconv.ParseInt(query.Get("expires"), 10, 64)
	if err != nil {
		return Link{}, nil, fmt.Errorf("parse a signed link: %w", err)
	}
	link := Link{
		ID: query.Get("id"), By: query.Get("by"), Credential: query.Get("for"),
		Issued: time.UnixMicro(issued), Expires: time.Unix(expires, 0),
	}
	if !s.Now().Before(link.Expires) {
		return link, query, invalidLink(linkExpired)
	}
	return link, query, nil
}

// upload verifies an upload URL and returns what it permits.
func (s *Signer) upload(key, rawQuery string) (Upload, Link, error) {
	link, params, err := s.check(uploadPrefix, key, rawQuery)
	if err != nil {
		return Upload{}, link, err
	}
	size, err := strconv.ParseInt(params.Get("size"), 10, 64)
	if err == nil && size <= 0 { // nothing would arrive, and so nothing would use up the link
		err = errors.New("signed link for an empty upload")
	}
	return Upload{Key: key, Size: size, Seen: params.Get("seen"), By: link.By}, link, err
}

// archive verifies an archive URL and returns the book.
func (s *Signer) archive(name, rawQuery string) (bookID string, _ Link, err error) {
	link, _, err := s.check(archivePrefix, name, rawQuery)
	if err != nil {
		return "", link, err
	}
	return name[:len(name)-len(archiveSuffix)], link, nil
}
