package signedurl

// ReadUpload reads the link of an upload.
func ReadUpload(s *Signer, key, rawQuery string) (size int64, by string, err error) {
	return s.upload(key, rawQuery)
}
