package source

import "strings"

// pastDirective gives the end of a line of the preprocessor that begins at a place. Of several branches the first counts, or
// the second after #if 0, so that braces stay in balance: those that do not count are passed as well.
func pastDirective(src string, at int) int {
	end := directiveEnd(src, at)
	word, rest := firstWord([]byte(src[at+1 : rawLineEnd(src, at)]))
	switch word {
	case "else", "elif", "elifdef", "elifndef":
		return pastBranch(src, end, false)
	case "if":
		if condition := strings.TrimSpace(string(rest)); condition == "0" || condition == "false" {
			return pastBranch(src, end, true)
		}
	}
	return end
}

func rawLineEnd(src string, from int) int {
	if i := strings.IndexByte(src[from:], '\n'); i >= 0 {
		return from + i
	}
	return len(src)
}

// directiveEnd gives the end of a directive, which goes on after a backslash at the end of a line.
func directiveEnd(src string, at int) int {
	for {
		end := rawLineEnd(src, at)
		line := strings.TrimRight(src[at:end], "\r")
		if end == len(src) || !strings.HasSuffix(line, `\`) {
			return end
		}
		at = end + 1
	}
}

// pastBranch passes the lines of a branch that does not count: up to the #endif that ends it, or, if another branch may
// count, to the end of the line that begins that one.
func pastBranch(src string, at int, orElse bool) int {
	for depth := 0; at < len(src); {
		end := rawLineEnd(src, at+1)
		line, isDirective := strings.CutPrefix(strings.TrimLeft(src[at+1:end], " \t"), "#")
		at = end
		if !isDirective {
			continue
		}
		switch word, _ := firstWord([]byte(line)); word {
		case "if", "ifdef", "ifndef":
			depth++
		case "endif":
			if depth == 0 {
				return end
			}
			depth--
		case "else", "elif":
			if depth == 0 && orElse {
				return end
			}
		}
	}
	return len(src)
}
