package books

import (
	"context"
	"path"
	"strconv"
	"strings"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/search/markdown"
	"remit/internal/toolsets/books/bookimport"
)

// EditContentIn is the input of edit_content: a text to replace, or a heading with its section.
type EditContentIn struct {
	BookID   string  `json:"book_id"`
	Path     string  `json:"path"`
	FileHash string  `json:"file_hash"`
	OldText  *string `json:"old_text"`
	Heading  *string `json:"heading"`
	NewText  string  `json:"new_text"`
}

// EditContentOut is the output of edit_content.
type EditContentOut struct {
	Status   string `json:"status"`
	Path     string `json:"path"`
	FileSize int64  `json:"file_size"`
	FileHash string `json:"file_hash"`
	Diff     string `json:"diff"`
}

// Check refuses a path that leads out of the book, and neither or both of old_text and heading.
func (in EditContentIn) Check() error {
	if (in.OldText == nil) == (in.Heading == nil) {
		return contract.Errorf(contract.Invalid, "Send exactly one of old_text (the text to replace) "+
			"and heading (the heading of the section to replace)").
			With("field", "old_text").With("path", in.Path)
	}
	return checkPath(in.Path)
}

// EditContent replaces a part of a text that has the hash that the caller passed.
func (t *Tools) EditContent(ctx context.Context, in EditContentIn) (EditContentOut, error) {
	before, after, err := t.Library.edited(ctx, &in)
	if err != nil {
		return EditContentOut{}, err
	}
	e := edit{by: by(ctx), op: opWrite, expected: before.Hash, seen: engine.Seen(ctx)}
	done, err := t.Library.store(ctx, in.BookID, in.Path, after, e)
	diff := engine.Shown{Before: before.text, After: after}
	return EditContentOut{
		Status: success, Path: before.Key, FileSize: done.Size, FileHash: done.Hash, Diff: diff.Unified(before.Key),
	}, err
}

// ShowEditContent shows the text before and after the edit.
func (t *Tools) ShowEditContent(ctx context.Context, in EditContentIn) (engine.Shown, error) {
	_, after, err := t.Library.edited(ctx, &in)
	if err != nil {
		return engine.Shown{}, err
	}
	return t.Library.shown(ctx, "Edit", in.BookID, in.Path, after)
}

// edited returns a text as it is and as it would be after an edit.
func (l *Library) edited(ctx context.Context, in *EditContentIn) (before document, after string, err error) {
	if before, err = l.read(ctx, in.BookID, in.Path); err != nil {
		return before, "", err
	}
	key := Key(in.BookID, in.Path)
	if expected := strings.ToLower(in.FileHash); expected != before.Hash {
		return before, "", conflictAt(key, expected, before.Hash)
	}
	newline := func(text string) string { return text }
	if lines := strings.Count(before.text, "\n"); lines > 0 && strings.Count(before.text, "\r\n") == lines {
		newline = func(text string) string {
			return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
		}
	}
	if in.OldText != nil {
		after, err = replaceText(key, before.text, newline(*in.OldText), newline(in.NewText))
	} else {
		after, err = replaceSection(key, before.text, *in.Heading, in.NewText, newline)
	}
	if err != nil {
		return before, "", err
	}
	limit := bookimport.MaxMarkdown
	if path.Base(in.Path) == summaryFile {
		limit = maxSummaryBytes
	}
	if len(after) > limit {
		return before, "", contract.Errorf(contract.TooLarge, "The file would have %d bytes; at most %d are allowed", len(after), limit).
			With("field", "new_text").With("path", key).With("size", len(after)).With("max", limit)
	}
	return before, after, nil
}

// replaceText replaces a text that occurs exactly once.
func replaceText(key, text, old, replacement string) (string, error) {
	wrong := func(format string, args ...any) error {
		return contract.Errorf(contract.Invalid, format, args...).With("field", "old_text").With("path", key)
	}
	at := strings.Index(text, old)
	if at < 0 {
		return "", wrong("old_text does not occur in %s; copy it from the answer of read_content, with its white space", key)
	}
	if again := strings.Index(text[at+1:], old); again >= 0 {
		line := func(at int) int { return 1 + strings.Count(text[:at], "\n") }
		return "", wrong("old_text occurs more than once in %s, in lines %d and %d at least; include more of the text around it",
			key, line(at), line(at+1+again))
	}
	return text[:at] + replacement + text[at+len(old):], nil
}

// replaceSection replaces what is below a heading, up to the next heading of the same or a higher
// level. The heading stays.
func replaceSection(key, text, heading, replacement string, newline func(string) string) (string, error) {
	start, end, err := section(key, text, heading)
	if err != nil {
		return "", err
	}
	body := "\n"
	if replacement = strings.Trim(replacement, "\r\n"); replacement != "" {
		body = "\n\n" + replacement + "\n"
	}
	if end < len(text) {
		body += "\n"
	}
	return text[:start] + newline(body) + text[end:], nil
}

// section returns where the section below a heading begins, at the end of the heading's line, and
// where it ends. The heading is named by its text, alone or with the # signs of its level.
func section(key, text, heading string) (start, end int, err error) {
	wrong := func(format string, args ...any) error {
		return contract.Errorf(contract.Invalid, format, args...).With("field", "heading").With("path", key)
	}
	name := strings.TrimLeft(heading, "#")
	level := len(heading) - len(name)
	name = strings.TrimSpace(name)
	d := markdown.Parse(text)
	var known, lines []string
	within := 0 // the level of the section that has no end yet
	for _, b := range d.Blocks {
		h := b.Heading
		if h == nil {
			continue
		}
		if within >= h.Level {
			end, within = b.Start, 0
		}
		known = append(known, h.Text)
		if (h.Text == name || strings.TrimSpace(text[h.Start:h.End]) == name) && (level == 0 || level == h.Level) {
			lines = append(lines, strconv.Itoa(d.Line(b.Start)))
			start, end, within = b.End, len(text), h.Level
		}
	}
	switch len(lines) {
	case 1:
		return start, end, nil
	case 0:
		return 0, 0, wrong("%s has no heading %q%s", key, heading, contract.Suggestion(name, known))
	default:
		return 0, 0, wrong("%s has several headings %q, in lines %s; use old_text, or put the # signs of its level in front",
			key, heading, strings.Join(lines, ", "))
	}
}
