package extract

import "strings"

// podPairs pairs the headings of Perl's documentation with their sections, and its items with their
// explanations.
func podPairs(name, text string) []Pair {
	page := page{title: strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], ".pod")}
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r", ""), "\n\n") {
		part = strings.TrimLeft(part, "\n")
		command, rest, _ := strings.Cut(part, " ")
		switch {
		case strings.HasPrefix(command, "=head") && len(command) == 6:
			page.add(heading, int(command[5]-'0'), podText(rest))
		case command == "=item":
			page.add(term, 0, podText(strings.Trim(rest, "*\n ")))
		case strings.HasPrefix(part, "="):
		case strings.HasPrefix(part, " "), strings.HasPrefix(part, "\t"):
			page.add(sample, 0, part)
		default:
			page.add(paragraph, 0, podText(part))
		}
	}
	return page.pairs()
}

// podText removes formatting such as C<code> and L<text|target>, and index entries such as X<word>.
func podText(text string) string {
	var out strings.Builder
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case (c == 'X' || c == 'Z') && strings.HasPrefix(text[i+1:], "<") && strings.Contains(text[i:], ">"):
			i += strings.IndexByte(text[i:], '>')
		case isUpper(c) && i+1 < len(text) && text[i+1] == '<' && (i == 0 || !isLetter(text[i-1])):
			for depth, i = depth+1, i+1; i+1 < len(text) && text[i+1] == '<'; {
				i++
			}
		case c == '>' && depth > 0:
			for depth--; i+1 < len(text) && text[i+1] == '>' && depth == 0; {
				i++
			}
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
