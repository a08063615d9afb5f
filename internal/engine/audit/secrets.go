package audit

import (
	"slices"
	"strings"

	"remit/internal/contract/jsontree"
)

// mark describes how a kind of credential begins.
type mark struct {
	text  string
	least int    // characters that follow, at least
	whole bool   // it must begin a word, because the same letters occur within words
	also  string // characters of the credential besides letters, digits, - and _
}

// tokenMarks are the characters of bearer tokens besides letters, digits, - and _.
const tokenMarks = ".~+/="

// marks lists credentials that people paste where they do not belong. A text that only looks like
// one is lost from the record, which does no other harm.
var marks = [...]mark{
	{text: "remit_", least: 20},
	{text: "earer ", least: 8, also: tokenMarks}, // Bearer and bearer
	{text: "BEARER ", least: 8, also: tokenMarks},
	{text: "asic ", least: 16, also: tokenMarks},     // Basic and basic: a name and a password
	{text: "eyJ", least: 16, whole: true, also: "."}, // a JWT
	{text: "ghp_", least: 20},
	{text: "gho_", least: 20},
	{text: "ghs_", least: 20},
	{text: "ghu_", least: 20},
	{text: "ghr_", least: 20},
	{text: "github_pat_", least: 20},
	{text: "sk-", least: 20, whole: true},
	{text: "AKIA", least: 16, whole: true},
	{text: "ASIA", least: 16, whole: true},
	{text: "xoxb-", least: 10}, // Slack
	{text: "xoxp-", least: 10},
	{text: "xoxa-", least: 10},
	{text: "xoxr-", least: 10},
	{text: "xoxs-", least: 10},
	{text: "xoxe", least: 10, also: "."},
	{text: "xapp-", least: 10},
	{text: "hooks.slack.com/services/", least: 20, also: "/"},
	{text: "glpat-", least: 16, also: "."}, // GitLab
	{text: "AIza", least: 30, whole: true}, // Google
	{text: "ya29.", least: 20},
	{text: "sk_live_", least: 16}, // Stripe
	{text: "sk_test_", least: 16},
	{text: "rk_live_", least: 16},
	{text: "whsec_", least: 16},
	{text: "npm_", least: 30, whole: true},
	{text: "pypi-", least: 40},
	{text: "hf_", least: 30, whole: true},            // Hugging Face
	{text: "dckr_pat_", least: 20},                   // Docker
	{text: "AGE-SECRET-KEY-1", least: 20},            // age
	{text: "dop_v1_", least: 20},                     // DigitalOcean
	{text: "SG.", least: 40, whole: true, also: "."}, // SendGrid
}

// privateKey is in the first line of every kind of private key.
const privateKey = "PRIVATE KEY-----"

// holdsSecret reports whether a text contains something that looks like a credential.
func holdsSecret(text string) bool {
	if _, size := findPassword(text, 0); size > 0 {
		return true
	}
	return mayHold(text) && (slices.ContainsFunc(marks[:], func(m mark) bool { return m.in(text) }) || strings.Contains(text, privateKey))
}

// Mask replaces the credentials in a text, but keeps the beginning that identifies each.
func Mask(text, with string) string {
	text = masked(text, with, findPassword)
	if !mayHold(text) {
		return text
	}
	for i := range marks {
		text = masked(text, with, marks[i].find)
	}
	if before, _, found := strings.Cut(text, privateKey); found {
		return before + privateKey + with // up to the end of the text, wherever the key ends
	}
	return text
}

// masked replaces whatever find finds.
func masked(text, with string, find func(text string, from int) (at, size int)) string {
	at, size := find(text, 0)
	if size == 0 {
		return text
	}
	var out strings.Builder
	done := 0
	for ; size > 0; at, size = find(text, done) {
		out.WriteString(text[done:at])
		out.WriteString(with)
		done = at + size
	}
	out.WriteString(text[done:])
	return out.String()
}

// mayHold returns false if a text contains no credential for certain. It is faster than a search
// for each mark, and enough for most texts: every credential has a run of at least eight token
// characters with a digit or a capital letter.
func mayHold(text string) bool {
	for i := range len(text) {
		if isRandom(text[i]) && isStretch(text, i) {
			return true
		}
	}
	return false
}

// isStretch reports whether the character at this index is part of a run of eight token characters.
func isStretch(text string, at int) bool {
	const least = 8
	from, to := at, at+1
	for from > 0 && at-from < least && isToken(text[from-1]) {
		from--
	}
	for to < len(text) && to-from < least && isToken(text[to]) {
		to++
	}
	return to-from >= least
}

// in reports whether a text contains such a credential.
func (m *mark) in(text string) bool {
	_, size := m.find(text, 0)
	return size > 0
}

// find returns the index of the first such credential at or after from, without its beginning, and
// its size; the size is 0 if there is none.
func (m *mark) find(text string, from int) (at, size int) {
	for {
		at := strings.Index(text[from:], m.text)
		if at < 0 {
			return len(text), 0
		}
		begins := from + at
		from = begins + len(m.text)
		if m.whole && begins > 0 && isWord(text[begins-1]) {
			continue
		}
		if size := m.follows(text[from:]); size > 0 {
			return from, size
		}
	}
}

// maxWords limits the search for the first random character, so that a text of nothing but
// beginnings takes linear time.
const maxWords = 512

// follows returns the size of the rest of a credential at the start of a text; 0 if there is none.
// Joined words look like a credential, but rarely have digits or capital letters.
func (m *mark) follows(text string) int {
	size, random := 0, false
	for ; size < len(text) && (random || size < maxWords); size++ {
		c := text[size]
		if !isWord(c) && strings.IndexByte(m.also, c) < 0 {
			break
		}
		random = random || isRandom(c)
	}
	if !random || size < m.least {
		return 0
	}
	return size
}

func isToken(c byte) bool { return isWord(c) || strings.IndexByte(tokenMarks, c) >= 0 }

func isWord(c byte) bool { return 'a' <= c && c <= 'z' || isRandom(c) || c == '-' || c == '_' }

// isRandom reports whether words rarely contain this character.
func isRandom(c byte) bool { return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' }

// redacted replaces texts that hold credentials by their size. A hash would not do, because it
// could be compared with others. It does not change v itself.
func redacted(v *jsontree.Value) jsontree.Value {
	switch {
	case v.Kind == jsontree.String && holdsSecret(v.Text):
		return jsontree.Obj(jsontree.M("bytes", jsontree.Int(int64(len(v.Text)))))
	case len(v.Members) == 0:
		return *v
	}
	out := jsontree.Value{Kind: v.Kind, Members: make([]jsontree.Member, len(v.Members))}
	for i := range v.Members {
		out.Members[i] = jsontree.Member{Key: withoutSecret(v.Members[i].Key), Value: redacted(&v.Members[i].Value)}
	}
	return out
}

// holds reports whether a value contains a credential anywhere. Most do not, and are written
// unchanged.
func holds(v *jsontree.Value) bool {
	if v.Kind == jsontree.String {
		return holdsSecret(v.Text)
	}
	for i := range v.Members {
		if holdsSecret(v.Members[i].Key) || holds(&v.Members[i].Value) {
			return true
		}
	}
	return false
}

// withoutSecret returns a text for a field that can only hold text, with a credential replaced.
func withoutSecret(text string) string {
	if holdsSecret(text) {
		return "(redacted)"
	}
	return text
}
