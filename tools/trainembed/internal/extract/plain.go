package extract

import (
	"html"
	"strings"
)

// plain removes the markup of Markdown, RST and JSDoc and keeps the words. Roles and links are
// replaced by their text.
func plain(text string) string {
	if strings.ContainsRune(text, '`') {
		text = withoutRoles(text)
	}
	if strings.Contains(text, "](") || strings.Contains(text, "{@") {
		text = withoutLinks(text)
	}
	if strings.Contains(text, "**") {
		text = strings.ReplaceAll(text, "**", "")
	}
	if strings.ContainsRune(text, '<') {
		text = withoutMarkup(text)
	}
	return strings.ReplaceAll(text, "`", "")
}

// maxQuoted is the maximum length of a quotation, in bytes.
const maxQuoted = 300

// withoutRoles replaces :role:`text <target>` and `text <target>`_ by text.
func withoutRoles(text string) string {
	var out strings.Builder
	for {
		open := strings.IndexByte(text, '`')
		if open < 0 {
			break
		}
		size := 1
		for open+size < len(text) && text[open+size] == '`' {
			size++
		}
		end := strings.Index(text[open+size:min(len(text), open+size+maxQuoted)], text[open:open+size])
		if size > 2 || end < 0 {
			out.WriteString(text[:open])
			text = text[open+size:]
			continue
		}
		out.WriteString(withoutRole(text[:open]))
		out.WriteString(quoted(text[open+size : open+size+end]))
		text = strings.TrimLeft(text[open+2*size+end:], "_")
	}
	out.WriteString(text)
	return out.String()
}

// withoutRole removes a role such as :class: from the end of the text before a quotation.
func withoutRole(before string) string {
	if !strings.HasSuffix(before, ":") {
		return before
	}
	start := len(before) - 1
	for start > 0 && len(before)-start < 40 {
		if c := before[start-1]; !isName(c) && c != '-' && c != ':' {
			break
		}
		start--
	}
	if start < len(before)-2 && before[start] == ':' {
		return before[:start]
	}
	return before
}

// quoted returns the visible text of a quotation: the text before a target in angle brackets, or
// the last name after a tilde.
func quoted(text string) string {
	if show, _, ok := strings.Cut(text, " <"); ok {
		return show
	}
	if name, ok := strings.CutPrefix(text, "~"); ok {
		return name[strings.LastIndexByte(name, '.')+1:]
	}
	return text
}

// withoutLinks replaces [text](target) by text and {@link target} by target, and removes images.
func withoutLinks(text string) string {
	var out strings.Builder
	for text != "" {
		next := strings.IndexAny(text, "[{!")
		if next < 0 {
			break
		}
		out.WriteString(text[:next])
		show, rest, ok := link(text[next:])
		if !ok {
			show, rest = text[next:next+1], text[next+1:]
		}
		out.WriteString(show)
		text = rest
	}
	out.WriteString(text)
	return out.String()
}

// link parses one link or image at the start of a text and returns its visible text and the rest.
func link(text string) (show, rest string, ok bool) {
	if strings.HasPrefix(text, "{@") {
		return inlineTag(text)
	}
	image := strings.HasPrefix(text, "!")
	if image && !strings.HasPrefix(text, "![") {
		return "", "", false
	}
	open := strings.IndexByte(text, '[')
	middle := strings.Index(text[:min(len(text), 1000)], "](")
	if middle < 0 || strings.IndexByte(text[open+1:middle], '[') >= 0 {
		return "", "", false
	}
	end := strings.IndexByte(text[middle:min(len(text), middle+1000)], ')')
	if end < 0 {
		return "", "", false
	}
	if image {
		return "", text[middle+end+1:], true
	}
	return text[open+1 : middle], text[middle+end+1:], true
}

// inlineTag parses {@link target}, {@link target text} or {@link target|text} at the start of a
// text.
func inlineTag(text string) (show, rest string, ok bool) {
	inner, _, ok := strings.Cut(text[:min(len(text), 300)], "}")
	if !ok {
		return "", "", false
	}
	rest = text[len(inner)+1:]
	_, target, _ := strings.Cut(inner, " ")
	for _, mark := range []string{"|", " "} {
		if _, named, ok := strings.Cut(target, mark); ok {
			return strings.TrimSpace(named), rest, true
		}
	}
	return target, rest, true
}

// withoutMarkup removes HTML tags from a text and resolves its entities.
func withoutMarkup(text string) string {
	var out strings.Builder
	for {
		open := strings.IndexByte(text, '<')
		if open < 0 || open+1 >= len(text) {
			break
		}
		end := strings.IndexByte(text[open:min(len(text), open+400)], '>')
		next := text[open+1]
		if end < 0 || next != '/' && next != '!' && (next >= 0x80 || !isLetter(next)) {
			out.WriteString(text[:open+1])
			text = text[open+1:]
			continue
		}
		out.WriteString(text[:open] + " ")
		text = text[open+end+1:]
	}
	out.WriteString(text)
	return html.UnescapeString(out.String())
}

// withoutTags cuts a comment before its first list of parameters, in any of the usual forms.
func withoutTags(comment string) string {
	lines := strings.Split(comment, "\n")
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		if startsTags(trimmed) {
			return strings.Join(lines[:i], "\n")
		}
	}
	return comment
}

func startsTags(line string) bool {
	for _, start := range []string{
		":param", ":return", ":rtype", ":type", ":raise", "@param", "@return", "@rtype", "@type", "Args:",
		"Arguments:", "Parameters", "Returns:",
		"Raises:", "Yields:", ">>>", "Example:", "Examples:", ".. ", "-----", "```", "Usage:", "INPUT:", "OUTPUT:",
		"@see", "@example", "@since", "+optional", "+kubebuilder",
	} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}
