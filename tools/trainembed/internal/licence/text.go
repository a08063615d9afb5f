package licence

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ofText returns the names of the licences in a text, by their characteristic sentences, restricted
// ones first and each once. A text without a licence returns none.
func ofText(text string) []string {
	plain := asides().ReplaceAllString(flatten(text), "")
	var found []string
	for _, sign := range signs() {
		if !sign.covered(found) && sign.in(plain) {
			found = append(found, sign.name)
		}
	}
	return found
}

// asides are sentences in permissive packages that are about other works: the history of Python,
// the library its readline module is linked to, files that a Debian package leaves out.
var asides = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`material that was previously distributed under the gnu general public license` +
		`|the gnu readline library is free software;.*?common-licenses/gpl-2` +
		`|\(source package only\).*?common-licenses/gpl`)
})

// textVerdict returns the verdict on a text: all licences in it must be permissive.
func textVerdict(text string) Verdict {
	names := ofText(text)
	if len(names) == 0 {
		return Unknown
	}
	verdict := Permissive
	for _, name := range names {
		verdict = both(verdict, ofName(name))
	}
	return verdict
}

// flatten lowers a text and joins its words with single spaces. It removes the marks of comments,
// quotes, lists and headings between the words of a sentence.
func flatten(text string) string {
	text = strings.Map(func(r rune) rune {
		switch r {
		case '*', '#', '"', '\'', '`', '“', '”', '‘', '’', '|', '>', '<', '_':
			return ' '
		}
		return r
	}, strings.ToLower(text))
	words := strings.Fields(text)
	words = slices.DeleteFunc(words, func(word string) bool { return word == "//" || word == "." || word == "/" || word == ";;" })
	return strings.Join(words, " ")
}

// A sign identifies a licence if all of its parts occur.
type sign struct {
	name  string
	parts []string
	rx    *regexp.Regexp // an alternative to parts, for sentences with many wordings
}

func (s sign) in(plain string) bool {
	for _, part := range s.parts {
		if !strings.Contains(plain, part) {
			return false
		}
	}
	return s.rx == nil || s.rx.MatchString(plain)
}

// covered reports whether the licences found so far make the sign redundant: a licence with three
// clauses contains the sentences of the one with two, and many texts mention the public domain.
func (s sign) covered(found []string) bool {
	switch s.name {
	case "BSD-2-Clause":
		return slices.Contains(found, "BSD-3-Clause")
	case "public-domain":
		return len(found) > 0
	}
	return slices.Contains(found, s.name)
}

// signs lists restricted licences first: a text that names the GPL beside the Apache licence must
// not count as Apache.
var signs = sync.OnceValue(func() []sign {
	says := func(name string, parts ...string) sign { return sign{name: name, parts: parts} }
	matches := func(name, rx string) sign { return sign{name: name, rx: regexp.MustCompile(rx)} }
	return slices.Concat(restrictedSigns(says, matches), permissiveSigns(says, matches))
})

func restrictedSigns(says func(string, ...string) sign, matches func(string, string) sign) []sign {
	return []sign{
		matches("AGPL", `affero general public licen[cs]e`),
		matches("LGPL", `(lesser|library) (gnu )?(general )?public licen[cs]e|common-licenses/lgpl|(licensed under|terms of) (the )?(gnu )?lgpl`),
		matches("GPL", `gnu (general )?public licen[cs]e|common-licenses/gpl|(licensed under|terms of) (the )?(gnu )?gpl|gnu gpl|\bgplv?[23]\+? licen[cs]e`),
		matches("GFDL", `gnu free documentation licen[cs]e|common-licenses/gfdl`),
		matches("MPL-2.0", `mozilla public licen[cs]e`),
		matches("EPL-2.0", `eclipse public licen[cs]e`),
		says("CDDL-1.0", "common development and distribution license"),
		says("SSPL-1.0", "server side public license"),
		says("BUSL-1.1", "business source license"),
		matches("Elastic-2.0", `elastic licen[cs]e`),
		says("Commons-Clause", "commons clause"),
		says("PolyForm", "polyform"),
		says("FSL-1.1", "functional source license"),
		matches("CC-BY-SA-4.0", `attribution[- ]share ?alike|creativecommons.org/licenses/by-sa|\bcc[- ]by[- ]sa\b`),
		matches("CC-BY-NC-4.0", `attribution[- ]non-?commercial|creativecommons.org/licenses/by-n[cd]|\bcc[- ]by[- ]n[cd]\b|non-?commercial (use|purposes) only`),
		matches("proprietary", `all rights reserved\. (proprietary|confidential)|proprietary and confidential|enterprise licen[cs]e|commercial licen[cs]e agreement`),
	}
}

func permissiveSigns(says func(string, ...string) sign, matches func(string, string) sign) []sign {
	const bsd = `redistribution and use (of this software )?(in|of) source and binary forms|redistributions? (and use )?in source and binary forms`
	return []sign{
		matches("Apache-2.0", `apache licen[cs]e,? (, )?\(?v(ersion)? ?2|apache software licen[cs]e|licensed under the apache license|apache 2(\.0)? licen[cs]e|common-licenses/apache-2`),
		matches("BSD-3-Clause", `(`+bsd+`).*(neither the (name|names) |names? of .{0,200}(may not|must not|shall not|cannot) be used to)`),
		matches("BSD-2-Clause", bsd),
		matches("MIT", `permission is hereby granted, ?(free of charge,|without written agreement)? ?to (any person|use)|\bmit licen[cs]e|(is|under|terms of) (the )?\(?mit\)?( |\.|$)`),
		matches("ISC", `permission to use, ?copy, ?modify,? ?(and|and/or|or) ?(/or )?distribute this software for any purpose|\bisc licen[cs]e`),
		matches("HPND", `permission to use, ?copy, ?modify,? ?(and )?(distribute|sell)(, and sell|, and distribute)? this software and its (accompanying |associated )?documentation`),
		says("Unlicense", "free and unencumbered software released into the public domain"),
		matches("CC0-1.0", `cc0 1\.0 universal|creativecommons.org/publicdomain/zero|public domain dedication`),
		says("BSL-1.0", "boost software license"),
		says("Zlib", "as-is", "altered source versions must be plainly marked"),
		matches("PSF-2.0", `python software foundation licen[cs]e|psf licen[cs]e|licen[cs]e to reproduce, analyze, test, perform`),
		says("PostgreSQL", "without a written agreement is hereby granted"),
		matches("BlueOak-1.0.0", `blue oak model licen[cs]e`),
		says("WTFPL", "do what the fuck you want to public license"),
		matches("Artistic-2.0", `the artistic licen[cs]e|perl artistic licen[cs]e|common-licenses/artistic`),
		says("NCSA", "university of illinois/ncsa"),
		says("WordNet-3.0", "wordnet", "permission to use, copy, modify and distribute this software and database"),
		matches("PDDL-1.0", `public domain dedication and licen[cs]e|pddl`),
		matches("CC-BY-4.0", `creative commons attribution 4\.0|creativecommons.org/licenses/by/`),
		matches("public-domain", `(is|are|placed|put|released|dedicated|it) (hereby )?(in|into|to) the public domain`),
		says("W3C", "w3c software"),
		says("Unicode-3.0", "unicode data files", "permission is hereby granted"),
	}
}
