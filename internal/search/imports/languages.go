package imports

// A language knows how files of one language import others.
type language struct {
	// extract reads the imports of a file, in order. An error is a *SyntaxError.
	extract func(content []byte) ([]spec, error)
	// resolve gives the files that the specs of one file mean. from is that file's path. What is not in the workspace
	// gives nothing.
	resolve func(files Files, from string, specs []spec) []string
}

// languageNamed finds a language by the name that package source gives it.
func languageNamed(name string) (language, bool) {
	switch name {
	case "go":
		return language{extractGo, resolveGo}, true
	case "python":
		return language{extractPython, resolvePython}, true
	case "rust":
		return language{extractRust, resolveRust}, true
	case "c":
		return language{extractC, resolveC}, true
	case "cpp":
		return language{extractCPP, resolveC}, true
	case "csharp":
		return language{extractCSharp, resolveCSharp}, true
	case "java":
		return language{extractJava, resolveJVM}, true
	case "kotlin":
		return language{extractKotlin, resolveJVM}, true
	case "scala":
		return language{extractScala, resolveJVM}, true
	case "php":
		return language{extractPHP, resolvePHP}, true
	case "ruby":
		return language{extractRuby, resolveRuby}, true
	case "markdown":
		return language{extractMarkdown, resolveMarkdown}, true
	}
	extract, ok := webExtractor(name)
	return language{extract, resolveWeb}, ok
}

// webExtractor finds what reads the imports of a language of the web.
func webExtractor(name string) (extract func(content []byte) ([]spec, error), ok bool) {
	switch name {
	case "typescript", "javascript":
		return extractJS, true
	case "vue", "svelte":
		return extractComponent, true
	case "astro":
		return extractAstro, true
	case "html":
		return extractHTML, true
	case "css", "scss", "less":
		return extractCSS, true
	}
	return nil, false
}
