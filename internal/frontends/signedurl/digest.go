package signedurl

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"

	"remit/internal/contract"
)

// Headers in which a client may announce the SHA-256 of a body: that of RFC 9530, and that of S3.
const (
	contentDigest = "Content-Digest"
	amzChecksum   = "X-Amz-Checksum-Sha256"
)

// digest is the SHA-256 that a client announced for a body. The zero digest accepts any body.
type digest struct {
	header string // that announced it
	hash   string // in lower-case hex
}

// announcedDigest returns the digest that the headers announce. It returns an error if they are
// malformed or contradict each other. It ignores algorithms of Content-Digest other than sha-256,
// as RFC 9530 permits.
func announcedDigest(header http.Header) (announced digest, err error) {
	given := []digest{}
	for _, value := range header.Values(amzChecksum) {
		given = append(given, digest{amzChecksum, value})
	}
	for member := range strings.SplitSeq(strings.Join(header.Values(contentDigest), ","), ",") {
		if name, value, _ := strings.Cut(strings.Trim(member, " \t"), "="); strings.EqualFold(name, "sha-256") {
			value, opened := strings.CutPrefix(value, ":")
			value, closed := strings.CutSuffix(value, ":")
			if !opened || !closed {
				return digest{}, malformed(contentDigest)
			}
			given = append(given, digest{contentDigest, value})
		}
	}
	for _, d := range given {
		sum, err := base64.StdEncoding.Strict().DecodeString(d.hash)
		if err != nil || len(sum) != sha256.Size {
			return digest{}, malformed(d.header)
		}
		d.hash = hex.EncodeToString(sum)
		if announced.hash != "" && announced.hash != d.hash {
			return digest{}, contract.Errorf(contract.Invalid, "The headers announce two different SHA-256; send one of them")
		}
		announced = d
	}
	return announced, nil
}

func malformed(header string) error {
	form := "BASE64"
	if header == contentDigest {
		form = "sha-256=:BASE64:"
	}
	return contract.Errorf(contract.Invalid, "%s is not valid; send it as %s: %s with the 32 bytes of the SHA-256, or leave it out",
		header, header, form)
}

// check returns an error if a body does not have the announced digest.
func (d digest) check(hash string) error {
	if d.hash == "" || d.hash == hash {
		return nil
	}
	return contract.Errorf(contract.Invalid, "The body has the SHA-256 %s, but %s announces %s, so nothing was stored; send the file again",
		hash, d.header, d.hash)
}
