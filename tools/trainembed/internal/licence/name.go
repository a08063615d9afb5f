// Package licence reads what packages say about their licences and decides which of their files may
// be used for training: those under a permissive licence, which requires no more than attribution.
//
// A file with an unknown licence is not used. That loses little data and avoids any risk.
package licence

import "strings"

// Verdict says whether a licence allows training.
type Verdict int

// The verdicts. An unknown licence is treated as restricted.
const (
	Unknown Verdict = iota
	Restricted
	Permissive
)

// ofName returns the verdict on a licence by its short name, as SPDX or Debian write it: MIT,
// Expat, GPL-2+. It tests restricted names first.
func ofName(name string) Verdict {
	name = strings.ToLower(strings.Trim(name, " \t()\"'"))
	switch {
	case restrictedName(name):
		return Restricted
	case permissiveName(name):
		return Permissive
	}
	return Unknown
}

func restrictedName(name string) bool {
	for _, part := range []string{
		"gpl", "gfdl", "gnu-free", "fdl-", "mpl-", "mozilla", "epl-", "eclipse", "cddl", "cpl-", "cecill", "eupl", "osl-", "sspl",
		"busl", "bsl-1.1", "elastic", "commons-clause", "polyform", "unlicensed", "see license", "proprietary",
		"-sa-", "-nc-", "-nd-", "sharealike", "noncommercial", "non-commercial", "nonfree", "noderiv", "ofl-", "lppl", "latex-project",
		"qpl", "rpl-", "fsl-", "same as upstream",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.HasSuffix(name, "-sa") || strings.HasSuffix(name, "-nc") || strings.HasSuffix(name, "-nd") || name == "mpl" || name == "epl"
}

func permissiveName(name string) bool {
	switch name {
	case "expat", "x11", "isc", "zlib", "zlib/libpng", "libpng", "curl", "ntp", "w3c", "unlicense", "0bsd", "wtfpl",
		"pd", "ncsa", "hpnd", "upl-1.0", "postgresql", "freebsd", "go", "unicode", "beerware", "boost", "cc-by-3.0", "cc-by-4.0",
		"cc-by-3.0-us", "biopython", "matplotlib", "simplified bsd", "bzip", "fsfullr", "fsful", "spencer", "zope-2.1", "zpl-2.1", "pddl-1.0":
		return true
	}
	for _, start := range []string{
		"mit", "bsd", "apache", "asl-2", "bsl-1.0", "psf", "python", "public-domain", "public domain", "publicdomain", "cc0", "artistic",
		"perl-artistic", "blueoak", "wordnet", "isc-", "expat-", "oldap", "unicode-", "openssl", "ssleay", "zlib-", "unlicense",
	} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// OfExpression returns the verdict on an expression of short names: "MIT OR GPL-3.0-or-later"
// leaves a choice and is permissive, "Expat and GPL-2+" is not. As in debian/copyright, "and" binds
// tighter than "or", and a comma binds less than both. judge returns the verdict on a name; nil
// means ofName.
func OfExpression(expression string, judge func(name string) Verdict) Verdict {
	if judge == nil {
		judge = ofName
	}
	p := expressionParser{words: expressionWords(expression), judge: judge}
	verdict := p.list()
	if len(p.words) > 0 {
		return Unknown
	}
	return verdict
}

// expressionWords splits an expression into operators, brackets, commas and names. A name may have
// several words ("GPL-2+ with Libtool exception"): everything between two operators.
func expressionWords(expression string) []string {
	for _, mark := range []string{"(", ")", ",", "|"} {
		expression = strings.ReplaceAll(expression, mark, " "+mark+" ")
	}
	var words []string
	inName := false
	for _, word := range strings.Fields(expression) {
		lower := strings.ToLower(word)
		switch lower {
		case "or", "and", "(", ")", ",", "and/or", "|":
			if lower == "and/or" || lower == "|" {
				lower = "or"
			}
			words, inName = append(words, lower), false
		default:
			if inName {
				words[len(words)-1] += " " + word
			} else {
				words = append(words, word)
			}
			inName = true
		}
	}
	return words
}

type expressionParser struct {
	words []string
	judge func(name string) Verdict
	depth int
}

func (p *expressionParser) take(word string) bool {
	if len(p.words) == 0 || p.words[0] != word {
		return false
	}
	p.words = p.words[1:]
	return true
}

// list parses parts between commas: "A or B, and C".
func (p *expressionParser) list() Verdict {
	verdict := p.choice()
	for p.take(",") {
		if p.take("or") {
			verdict = max(verdict, p.choice())
			continue
		}
		p.take("and")
		verdict = both(verdict, p.choice())
	}
	return verdict
}

func (p *expressionParser) choice() Verdict {
	verdict := p.sum()
	for p.take("or") {
		verdict = max(verdict, p.sum())
	}
	return verdict
}

func (p *expressionParser) sum() Verdict {
	verdict := p.name()
	for p.take("and") {
		verdict = both(verdict, p.name())
	}
	return verdict
}

func (p *expressionParser) name() Verdict {
	if p.take("(") {
		if p.depth++; p.depth > 50 {
			p.words = nil
			return Unknown
		}
		verdict := p.list()
		p.take(")")
		p.depth--
		return verdict
	}
	if len(p.words) == 0 || p.words[0] == ")" || p.words[0] == "," || p.words[0] == "or" || p.words[0] == "and" {
		return Unknown
	}
	name := p.words[0]
	p.words = p.words[1:]
	return p.judge(name)
}

// both returns the verdict on a work under two licences at once: restricted if one of them is.
func both(a, b Verdict) Verdict {
	if a == Restricted || b == Restricted {
		return Restricted
	}
	return min(a, b)
}
