package signedurl

import "net/http"

// AnnouncedDigest returns the SHA-256 that headers announce, in hex.
func AnnouncedDigest(header http.Header) (string, error) {
	d, err := announcedDigest(header)
	return d.hash, err
}

// ReadUpload verifies an upload URL.
func ReadUpload(s *Signer, key, rawQuery string) (Upload, Link, error) {
	return s.upload(key, rawQuery)
}
