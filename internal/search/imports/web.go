package imports

// webLanguage finds one of the languages of this file by name.
func webLanguage(name string) (language, bool) {
	switch name {
	default:
		return language{}, false
	}
}
