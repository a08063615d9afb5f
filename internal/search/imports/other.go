package imports

// otherLanguage finds one of the languages of this file by name.
func otherLanguage(name string) (language, bool) {
	switch name {
	default:
		return language{}, false
	}
}
