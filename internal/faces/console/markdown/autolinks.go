package markdown

import (
	"strings"
)

// bareLink reads an address that stands in the text as it is.
func (p *inline) bareLink() bool {
	if !p.atWordStart(p.at) {
		return false
	}
	rest := p.source[p.at:]
	begin := ""
	for _, known := range []string{"http://", "https://", "www."} {
		if strings.HasPrefix(rest, known) {
			begin = known
		}
	}
	end := scanDomain(rest, len(begin))
	if begin == "" || end < 0 {
		return false
	}
	if begin != "www." {
		end = scanPort(rest, end)
	}
	if end < len(rest) && strings.IndexByte("/#?", rest[end]) >= 0 {
		for end < len(rest) && (isAlnum(rest[end]) || strings.IndexByte("-@:%_+.~#$!?&/=();,'\">^{}[]`", rest[end]) >= 0) {
			end++
		}
	}
	end = trimLink(rest[:end])
	dest := rest[:end]
	if begin == "www." {
		dest = "http://" + dest
	}
	return p.emit(end, token{kind: autolink, text: rest[:end], dest: dest})
}

// atWordStart tells whether a bare link may begin at a place.
func (p *inline) atWordStart(at int) bool {
	return at == 0 || strings.IndexByte(" \t\n*_~(", p.source[at-1]) >= 0
}

// scanDomain reads a domain from a place on, up to the last dot with small letters
// after it, and those. It is -1 if there is none.
func scanDomain(text string, at int) int {
	const longest = 256
	end, last := at, -1
	for ; end < len(text) && end-at <= longest && (isAlnum(text[end]) || strings.IndexByte("-@:%._+~#=", text[end]) >= 0); end++ {
		if text[end] == '.' && end > at && end+1 < len(text) && text[end+1] >= 'a' && text[end+1] <= 'z' {
			last = end
		}
	}
	if last < 0 {
		return -1
	}
	for last++; last < len(text) && text[last] >= 'a' && text[last] <= 'z'; {
		last++
	}
	return last
}

func scanPort(text string, at int) int {
	end := at + 1
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	if at >= len(text) || text[at] != ':' || end == at+1 {
		return at
	}
	return end
}

// trimLink leaves the marks that end a sentence out of a link.
func trimLink(link string) int {
	opening, closing := strings.Count(link, "("), strings.Count(link, ")")
	end := len(link)
	for end > 1 {
		switch link[end-1] {
		case '?', '!', '.', ',', ':', '*', '_', '~':
			end--
		case ')':
			if closing <= opening {
				return end
			}
			closing--
			end--
		case ';':
			name := end - 2
			for name > 0 && isAlnum(link[name]) {
				name--
			}
			if name == end-2 || link[name] != '&' {
				return end
			}
			end = name
		default:
			return end
		}
	}
	return end
}

// longestName is how long the part of a mail address before the @ may be.
const longestName = 64

// bareMail makes a link of the mail address around an @.
func (p *inline) bareMail() bool {
	start := p.at
	for start > p.from && p.at-start <= longestName && (isAlnum(p.source[start-1]) || strings.IndexByte(".!#$%&'*+/=?^_`{|}~-", p.source[start-1]) >= 0) {
		start--
	}
	if start == p.at || !p.atWordStart(start) || isPunct(p.source[start]) {
		return false
	}
	end := p.at + 1
	for end < len(p.source) && end-p.at <= 255 && (isAlnum(p.source[end]) || strings.IndexByte(".-", p.source[end]) >= 0) {
		end++
	}
	if end < len(p.source) && p.source[end] == '_' {
		return false
	}
	domain := strings.TrimRight(p.source[p.at+1:end], ".")
	if domain == "" || strings.IndexByte(domain, '.') < 0 || strings.HasSuffix(domain, "-") || !isAlnum(domain[0]) {
		return false
	}
	address := p.source[start : p.at+1+len(domain)]
	p.at = start
	return p.emit(len(address), token{kind: autolink, text: address, dest: "mailto:" + address})
}

// angle reads what begins with <: an address in angle brackets, a comment, a tag. Of
// tags few have a meaning, but none has one of Markdown within it.
func (p *inline) angle() bool {
	rest := p.source[p.at:]
	if end := scanAngle(rest); end > 0 {
		inside := rest[1 : end-1]
		if isScheme(inside) {
			return p.emit(end, token{kind: autolink, text: inside, dest: inside})
		}
		if isMail(inside) {
			return p.emit(end, token{kind: autolink, text: inside, dest: "mailto:" + inside})
		}
	}
	if strings.HasPrefix(rest, "<!--") {
		return p.comment(rest)
	}
	el, length, ok := scanTag(rest)
	switch {
	case !ok:
		return false
	case el.role == shown:
		return p.emit(length, token{kind: text, text: rest[:length]})
	}
	return p.emit(length, token{kind: tag, text: rest[:length], dest: el.name, opens: el.attributes, end: el.role})
}

// scanAngle finds the end of what is between angle brackets without white space; 0 if
// there is none.
func scanAngle(rest string) int {
	for i := 1; i < len(rest) && i <= longestPart; i++ {
		switch c := rest[i]; {
		case c == '>':
			return i + 1
		case c <= ' ' || c == '<' || c == 0x7f:
			return 0
		}
	}
	return 0
}

// isScheme tells whether an address begins with a scheme of 2 to 32 characters.
func isScheme(address string) bool {
	at := strings.IndexByte(address, ':')
	if at < 2 || at > 32 || !isAlnum(address[0]) || address[0] <= '9' {
		return false
	}
	for _, c := range []byte(address[:at]) {
		if !isAlnum(c) && c != '+' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

func isMail(address string) bool {
	name, domain, ok := strings.Cut(address, "@")
	if !ok || name == "" || domain == "" {
		return false
	}
	for _, c := range []byte(name) {
		if !isAlnum(c) && strings.IndexByte(".!#$%&'*+/=?^_`{|}~-", c) < 0 {
			return false
		}
	}
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "-") != label {
			return false
		}
		for _, c := range []byte(label) {
			if !isAlnum(c) && c != '-' {
				return false
			}
		}
	}
	return true
}

// comment drops a comment.
func (p *inline) comment(rest string) bool {
	if p.noComment {
		return false
	}
	end := strings.Index(rest[4:], "-->")
	switch {
	case strings.HasPrefix(rest, "<!-->"):
		return p.emit(5, token{kind: literal})
	case strings.HasPrefix(rest, "<!--->"):
		return p.emit(6, token{kind: literal})
	case end < 0:
		p.noComment = true
		return false
	}
	return p.emit(4+end+3, token{kind: literal})
}
