package signedurl

// ReadUpload verifies an upload URL.
func ReadUpload(s *Signer, key, rawQuery string) (Upload, Link, error) {
	return s.upload(key, rawQuery)
}
