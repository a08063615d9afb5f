package imports

// systemLanguage finds one of the languages of this file by name.
func systemLanguage(name string) (language, bool) {
	switch name {
	default:
		return language{}, false
	}
}
