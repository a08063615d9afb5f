package words

import (
	"unicode"
	"unicode/utf8"
)

// kinds has the kind of each byte.
const kinds = "" +
	"................................................0000000000......" +
	".AAAAAAAAAAAAAAAAAAAAAAAAAA......aaaaaaaaaaaaaaaaaaaaaaaaaa....." +
	"****************************************************************" +
	"****************************************************************"

// plain has the letter beneath the accent for U+00C0 to U+017F, a dot where there is
// none or more than one.
const plain = "" +
	"aaaaaa.ceeeeiiiidnooooo.ouuuuy.saaaaaa.ceeeeiiiidnooooo.ouuuuy.y" +
	"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkkklllllll" +
	"lllnnnnnnnnnoooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"

// appendFolded appends a letter in lower case and without its accent.
func appendFolded(word []byte, r rune) []byte {
	if i := int(r) - 0xC0; i >= 0 && i < len(plain) && plain[i] != '.' {
		word = append(word, plain[i])
		if r == 'ß' {
			word = append(word, 's')
		}
		return word
	}
	return utf8.AppendRune(word, unicode.ToLower(r))
}
