package books

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"remit/internal/search/markdown"
)

// bookFile is the file with the metadata of a book.
const bookFile = "book.yaml"

// checkText checks one text on its own.
func (v *inspection) checkText(at string, d *markdown.Document) {
	fields, ok := v.checkFrontMatter(at, d, 0)
	if !strings.HasPrefix(at, "lessons/") {
		return
	}
	if strings.TrimSpace(d.Text[d.Front.Length:]) == "" {
		v.add(isWarning, at, 0, "empty-lesson", "it has no text")
		return
	}
	title, _ := fields["title"].(string)
	if ok && strings.TrimSpace(title) == "" && (fields != nil || len(d.Headings) == 0) {
		message := "it has no title in its front matter"
		if fields == nil {
			message += ", and no heading"
		}
		v.add(isWarning, at, 1, "no-title", message)
	}
}

// checkFrontMatter checks front matter. before is the number of lines that were prepended to the
// file's text. It returns false if the front matter cannot be parsed.
func (v *inspection) checkFrontMatter(at string, d *markdown.Document, before int) (map[string]any, bool) {
	fields, err := d.Front.Fields()
	if err == nil {
		return fields, true
	}
	line := 1
	if wrong, ok := errors.AsType[*markdown.FrontError](err); ok {
		line = max(wrong.Line-before, 1)
	}
	v.add(isError, at, line, "bad-front-matter", err.Error())
	return nil, false
}

// checkLinks checks every link that stays within the book.
func (v *inspection) checkLinks(at string, d *markdown.Document) {
	for _, l := range d.Links {
		written := d.Destination(l)
		t, local := markdown.ParseTarget(written)
		if !local {
			v.useURL(written)
			continue
		}
		line := d.Line(l.Start)
		if t.Path == "" {
			if written == "" {
				v.add(isWarning, at, line, "empty-link", "a link has no target")
			} else {
				v.checkAnchor(isError, at, line, at, t.Fragment)
			}
			continue
		}
		to, ok := v.find(at, t.Path)
		if !ok {
			v.addBroken(at, line, written, t.Path, l.Image)
			continue
		}
		v.used[to] = true
		level := isError
		if path.Ext(t.Path) == ".html" {
			level = isWarning // the program that makes the page also makes its anchors
		}
		v.checkAnchor(level, at, line, to, t.Fragment)
	}
}

// useURL records an asset that a text refers to by its web address.
func (v *inspection) useURL(address string) {
	if _, asset, ok := strings.Cut(address, v.location.key("")); ok {
		asset, _, _ = strings.Cut(asset, "?")
		v.used[asset] = true
	}
}

// find returns the file or folder that a link leads to. Many authors omit the .md extension in
// links, or name the HTML page that a program makes of a lesson.
func (v *inspection) find(at, link string) (to string, ok bool) {
	to = markdown.Resolve(at, link)
	for _, file := range append([]string{to, to + ".md", to + ".mdx"}, markdown.PageSources(to)...) {
		if v.there[file] {
			return file, true
		}
	}
	return to, false
}

// checkAnchor checks that the heading exists to which a link leads.
func (v *inspection) checkAnchor(level, at string, line int, to, name string) {
	if d := v.texts[to]; d != nil && !d.HasAnchor(name) {
		where := to
		if at == to {
			where = "this file"
		}
		v.add(level, at, line, "broken-anchor", fmt.Sprintf("#%s: there is no such heading in %s", name, where))
	}
}

// addBroken reports a broken link and suggests a target.
func (v *inspection) addBroken(at string, line int, written, link string, image bool) {
	to := markdown.Resolve(at, link)
	rule, what := "broken-link", "no such file: "+to
	if image || strings.HasPrefix(to, "assets/") {
		rule, what = "missing-asset", "no such asset: "+to
	}
	level := isError
	switch {
	case to == ".." || strings.HasPrefix(to, "../"):
		what = "it points outside the book"
	case strings.HasPrefix(link, "/"):
		level = isWarning // the server that publishes the book may have it
		what += "; a link that begins with / is relative to the root of the book"
	}
	if near := v.sameName(path.Base(to)); near != "" {
		what += "; did you mean " + markdown.Relative(at, near) + "?"
	}
	v.add(level, at, line, rule, written+": "+what)
}

// sameName returns the only file of the book with this name, ignoring folder and case, or "".
func (v *inspection) sameName(name string) string {
	if v.named == nil {
		v.named = map[string][]string{}
		for _, file := range v.files {
			base := strings.ToLower(path.Base(file))
			v.named[base] = append(v.named[base], file)
		}
	}
	for _, ending := range []string{"", ".md"} {
		if found := v.named[strings.ToLower(name)+ending]; len(found) == 1 {
			return found[0]
		}
	}
	return ""
}

// checkSummaries compares the chapters that contain lessons with those that have a summary.
func (v *inspection) checkSummaries() {
	chapters := map[string]string{} // chapter to one of its lessons
	for _, file := range v.files {
		if lesson, ok := strings.CutPrefix(file, "lessons/"); ok && strings.HasSuffix(file, ".md") {
			for part := range strings.SplitSeq(path.Dir(lesson), "/") {
				if isChapter(part) && chapters[part] == "" {
					chapters[part] = file
				}
			}
		}
	}
	for _, chapter := range slices.Sorted(maps.Keys(chapters)) {
		if summary := summaryPath(chapter); !v.there[summary] {
			v.add(isWarning, summary, 0, "missing-summary", chapter+" has lessons and no summary")
		}
	}
	for _, file := range v.files {
		if chapter := path.Base(path.Dir(file)); file == summaryPath(chapter) && chapters[chapter] == "" {
			v.add(isWarning, file, 0, "orphan-summary", "no lesson is in a folder named "+chapter)
		}
	}
}

// isChapter reports whether a name has the form chapter-07.
func isChapter(name string) bool {
	digits, ok := strings.CutPrefix(name, "chapter-")
	return ok && len(digits) == 2 && strings.Trim(digits, "0123456789") == ""
}

// checkAssets finds assets that no text refers to.
func (v *inspection) checkAssets() {
	for _, file := range v.files {
		if strings.HasPrefix(file, "assets/") && !v.used[file] {
			v.add(isWarning, file, 0, "orphan-asset", "no text of the book refers to it")
		}
	}
}
