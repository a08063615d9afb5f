package signedurl

// ReadUpload verifies an upload URL.
func ReadUpload(s *Signer, key, rawQuery string) (size int64, by string, err error) {
	return s.upload(key, rawQuery)
}
