package extract

import (
	"strings"
	"unicode/utf8"
)

// tidy replaces every run of white space with one space.
func tidy(text string) string { return strings.Join(strings.Fields(text), " ") }

// clip cuts a text to a maximum number of bytes, at the end of a word if possible and never within
// a character.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	text = text[:limit]
	if space := strings.LastIndexAny(text, " \t\n"); space > limit/2 {
		text = text[:space]
	}
	return text
}

// wordCount counts the words of a text: runs of ASCII letters or of other characters above ASCII,
// split where a capital follows a small letter.
func wordCount(text string) int {
	count := 0
	var last byte
	for i := range len(text) {
		c := text[i]
		if isLetter(c) && (!isLetter(last) || isUpper(c) && !isUpper(last)) {
			count++
		}
		last = c
	}
	return count
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }
func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isName(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' || c == '$' }

// sentenceEnd returns the end of the first sentence of a tidy text. A full stop ends a sentence if
// a space and a capital follow, and it does not belong to an abbreviation.
func sentenceEnd(text string) int {
	for i := 0; i+2 < len(text); i++ {
		if c := text[i]; c != '.' && c != '!' && c != '?' {
			continue
		}
		if text[i+1] != ' ' || !startsSentence(text[i+2]) || abbreviated(text[:i]) {
			continue
		}
		return i + 1
	}
	return len(text)
}

func startsSentence(c byte) bool {
	return isUpper(c) || c == '`' || c == '"' || c == '<' || c == '\'' || c >= 0x80
}

// abbreviated reports whether the text before a full stop ends with an abbreviation or an initial.
func abbreviated(before string) bool {
	word := strings.ToLower(before[strings.LastIndexAny(before, " (")+1:])
	switch word {
	case "e.g", "i.e", "etc", "vs", "cf", "eg", "ie", "fig", "dr", "mr", "ms", "st", "no", "al", "resp", "approx",
		"incl":
		return true
	}
	return len(word) == 1 && isLetter(word[0])
}

// firstParagraph returns a text up to its first blank line.
func firstParagraph(text string) string {
	text = strings.TrimLeft(text, " \t\n")
	for i := 0; i < len(text); i++ {
		if text[i] != '\n' {
			continue
		}
		rest := text[i+1:]
		if blank := strings.TrimLeft(rest, " \t\r"); blank == "" || blank[0] == '\n' {
			return text[:i]
		}
	}
	return text
}

// lead pairs the first sentence of a paragraph with what follows it. Both have the same subject in
// different words.
func lead(paragraph string) (Pair, bool) {
	paragraph = tidy(paragraph)
	end := sentenceEnd(paragraph)
	first, rest := paragraph[:end], strings.TrimSpace(paragraph[end:])
	if words := wordCount(first); words < 5 || words > 60 || wordCount(rest) < 8 {
		return Pair{}, false
	}
	return Pair{"lead", clip(first, maxA), clip(rest, maxProse)}, true
}

// proseLeads pairs the first sentence of a paragraph with the rest of it, and in a long paragraph
// also the third with all others, because a question may be about something in the middle.
func proseLeads(paragraph string) []Pair {
	paragraph = tidy(paragraph)
	pair, ok := lead(paragraph)
	if !ok {
		return nil
	}
	found := []Pair{pair}
	start := sentenceEnd(paragraph)
	start += sentenceEnd(paragraph[start:])
	size := sentenceEnd(paragraph[start:])
	if len(paragraph)-start-size < 80 {
		return found
	}
	middle, others := strings.TrimSpace(paragraph[start:start+size]), paragraph[:start]+paragraph[start+size:]
	if words := wordCount(middle); words < 8 || words > 60 {
		return found
	}
	return append(found, Pair{"lead", clip(middle, maxA), clip(others, maxProse)})
}
