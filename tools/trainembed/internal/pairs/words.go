package pairs

// words returns the hashes of the words of a text, in order: runs of letters and digits, ignoring
// case. Two texts with the same hashes have the same words.
func words(text string, into []uint64) []uint64 {
	into = into[:0]
	hash := uint64(offset)
	inWord := false
	for i := range len(text) {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 0x80 {
			hash = (hash ^ uint64(c)) * prime
			inWord = true
			continue
		}
		if inWord {
			into = append(into, hash)
		}
		hash, inWord = offset, false
	}
	if inWord {
		into = append(into, hash)
	}
	return into
}

const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

// join returns one hash of several, which depends on their order.
func join(hashes []uint64) uint64 {
	sum := uint64(offset)
	for _, h := range hashes {
		sum = (sum ^ h) * prime
		sum ^= sum >> 29
	}
	return sum
}
