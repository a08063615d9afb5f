package tokenize

// Stem returns the part of a word that it shares with its other forms: plurals, -ing, -ed, -ly,
// -ion. It is always a prefix, so nothing is copied, and need not be a word itself: query and
// queries both give quer.
func Stem[T string | []byte](word T) T {
	n := len(word)
	if n < 4 || word[n-1] < 'a' || word[n-1] > 'z' {
		return word
	}
	n = singular(word, n)
	n = simple(word, n)
	switch {
	case n < 4:
	case word[n-1] == 'e', word[n-1] == 'y' && !vowel(word[n-2]):
		n--
	}
	return word[:n]
}

// singular returns the length of a word without a plural s.
func singular[T string | []byte](word T, n int) int {
	if word[n-1] != 's' {
		return n
	}
	switch word[n-2] {
	case 's', 'u', 'i':
		return n
	case 'e':
		if n > 5 && word[n-3] == 'i' {
			return n - 3
		}
	}
	return n - 1
}

// simple returns the length of the first n bytes of a word without -ing, -ed, -ly or -ion.
func simple[T string | []byte](word T, n int) int {
	switch {
	case ends(word, n, "ing") && n >= 6 && voiced(word, n-3):
		return undoubled(word, n-3)
	case ends(word, n, "ied") && n >= 6:
		return n - 3
	case ends(word, n, "ed") && n >= 5 && word[n-3] != 'e' && voiced(word, n-2) && string(word[:n]) != "embed":
		return undoubled(word, n-2)
	case ends(word, n, "used"):
		return n - 1
	case ends(word, n, "ly") && n >= 6 && !joins(word[n-3]):
		return n - 2
	case ends(word, n, "ion") && n >= 7 && (word[n-4] == 't' || word[n-4] == 's'):
		return n - 3
	}
	return n
}

// joins reports whether -ly after a letter is part of the word rather than a suffix, as in family,
// possibly, apply and anomaly.
func joins(c byte) bool { return c == 'i' || c == 'b' || c == 'p' || c == 'a' }

// undoubled returns the length without the second of two equal consonants, as in running.
func undoubled[T string | []byte](word T, n int) int {
	c := word[n-1]
	if n > 3 && c == word[n-2] && !vowel(c) && c != 'l' && c != 's' && c != 'z' {
		return n - 1
	}
	return n
}

func ends[T string | []byte](word T, n int, suffix string) bool {
	return n >= len(suffix) && string(word[n-len(suffix):n]) == suffix
}

// voiced reports whether there is a vowel among the first n letters.
func voiced[T string | []byte](word T, n int) bool {
	for i := range n {
		if vowel(word[i]) || word[i] == 'y' {
			return true
		}
	}
	return false
}

func vowel(c byte) bool {
	return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u'
}
