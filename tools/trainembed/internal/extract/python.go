package extract

import "strings"

// pythonPairs pairs the docstrings of a Python file with the functions and classes that they
// describe.
func pythonPairs(_, text string) []Pair {
	lines := pythonLines(text)
	var found []Pair
	if len(lines) > 0 {
		if doc, ok := docstring(lines[0].text); ok {
			found = append(found, docLeads(doc)...)
		}
	}
	for i, line := range lines {
		name := pythonName(line.text)
		if name == "" || i+1 >= len(lines) || lines[i+1].indent <= line.indent {
			continue
		}
		doc, ok := docstring(lines[i+1].text)
		if !ok {
			continue
		}
		pair, ok := codePair("py", withoutName(dedent(doc), name), pythonBody(lines, i))
		if !ok {
			continue
		}
		found = append(found, pair)
		found = append(found, docLeads(dedent(doc))...)
	}
	return found
}

// pythonName returns the name of the function or class that a logical line defines, or "".
func pythonName(line string) string {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(line, "async "), "def ")
	if !ok {
		rest, ok = strings.CutPrefix(line, "class ")
	}
	if !ok {
		return ""
	}
	rest = strings.TrimLeft(rest, " ")
	end := 0
	for end < len(rest) && isName(rest[end]) {
		end++
	}
	return rest[:end]
}

// pythonBody returns the definition on a logical line with its body, without the docstring.
func pythonBody(lines []pythonLine, at int) string {
	var out strings.Builder
	out.WriteString(lines[at].text)
	for _, line := range lines[at+2:] {
		if line.indent <= lines[at].indent || out.Len() > 2*maxB {
			break
		}
		if _, isDoc := docstring(line.text); isDoc {
			continue
		}
		out.WriteByte('\n')
		out.WriteString(line.text)
	}
	return out.String()
}

// docstring returns the text of a logical line that is only one string.
func docstring(line string) (string, bool) {
	open := strings.IndexAny(line, `"'`)
	if open < 0 || open > 2 || strings.Trim(strings.ToLower(line[:open]), "rub") != "" {
		return "", false
	}
	line = strings.TrimSpace(line[open:])
	for _, quote := range []string{`"""`, `'''`, `"`, `'`} {
		if !strings.HasPrefix(line, quote) {
			continue
		}
		inner := line[len(quote):]
		end := strings.Index(inner, quote)
		if end < 0 || len(quote) == 1 && end == 0 {
			return "", false
		}
		return inner[:end], strings.TrimSpace(inner[end+len(quote):]) == ""
	}
	return "", false
}

// dedent removes the common indentation of all lines after the first.
func dedent(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "        "), "\n")
	least := -1
	for _, line := range lines[1:] {
		bare := strings.TrimLeft(line, " ")
		if indent := len(line) - len(bare); bare != "" && (least < 0 || indent < least) {
			least = indent
		}
	}
	for i, line := range lines {
		if i > 0 && least > 0 && len(line) >= least {
			lines[i] = line[least:]
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
