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

// Signer makes links that nobody else can make, and knows them again. What a link is
// good for, and until when, is all in it; nothing is kept.
type Signer struct {
	Secret func() ([]byte, error) // called when a link is made or followed
	Place  string                 // which library: a link is for one alone
	Now    func() time.Time
}

// Upload is the link that takes an upload of just this size, without the base.
func (s *Signer) Upload(key string, size int64, by string, expires time.Time) (string, error) {
	return s.link(uploads, key, map[string]string{"size": strconv.FormatInt(size, 10), "by": by}, expires)
}

// Archive is the link to the zip of a book, without the base. The day in its name is
// for people.
func (s *Signer) Archive(bookID string, expires time.Time) (string, error) {
	return s.link(archives, bookID+s.Now().UTC().Format(archiveEnd), nil, expires)
}

// archiveEnd is what comes after the book in the name of an archive.
const archiveEnd = "-2006-01-02.zip"

// link signs what it says, by the place that serves it.
func (s *Signer) link(place, name string, says map[string]string, expires time.Time) (string, error) {
	query := url.Values{"expires": {strconv.FormatInt(expires.Unix(), 10)}}
	for key, value := range says {
		query.Set(key, value)
	}
	signature, err := s.sign(place, name, query)
	if err != nil {
		return "", err
	}
	query.Set("signature", signature)
	return place + name + "?" + query.Encode(), nil
}

// sign gives the signature of a link: of its place, its name and all its parameters.
func (s *Signer) sign(place, name string, query url.Values) (string, error) {
	secret, err := s.Secret()
	if err != nil {
		return "", contract.Errorf(contract.Unavailable, "Links cannot be made or followed right now; try again").Because(err)
	}
	key := hmac.New(sha256.New, secret) // the secret seals other things too, and they must not be taken for links
	key.Write([]byte("remit links\x00" + s.Place))
	return identity.Seal(key.Sum(nil), place, name, query.Encode()), nil
}

// Why a link leads nowhere. Whoever altered the day of its end learns only that it was
// altered.
const (
	alteredLink = "This link was altered, cut off, or made for another library; ask the tool for a new one"
	expiredLink = "This link has expired; ask the tool for a new one"
)

func badLink(why string) error {
	return &contract.Error{Kind: contract.Denied, Code: linkError, Message: why}
}

// check reads the parameters of a link, and refuses one that was not made here or is
// over. The name is as it was sent; the parameters may come in any order.
func (s *Signer) check(place, name, rawQuery string) (url.Values, error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil || slices.ContainsFunc(slices.Collect(maps.Values(query)), func(given []string) bool { return len(given) != 1 }) {
		return nil, badLink(alteredLink)
	}
	given := query.Get("signature")
	query.Del("signature")
	want, err := s.sign(place, name, query)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal([]byte(given), []byte(want)) {
		return nil, badLink(alteredLink)
	}
	ends, err := strconv.ParseInt(query.Get("expires"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the end of a link that was signed: %w", err)
	}
	if s.Now().Unix() >= ends {
		return nil, badLink(expiredLink)
	}
	return query, nil
}

// upload reads the link of an upload.
func (s *Signer) upload(key, rawQuery string) (size int64, by string, err error) {
	says, err := s.check(uploads, key, rawQuery)
	if err != nil {
		return 0, "", err
	}
	size, err = strconv.ParseInt(says.Get("size"), 10, 64)
	return size, says.Get("by"), err
}

// archive reads the link of an archive.
func (s *Signer) archive(name, rawQuery string) (bookID string, err error) {
	if _, err := s.check(archives, name, rawQuery); err != nil {
		return "", err
	}
	return name[:len(name)-len(archiveEnd)], nil
}
