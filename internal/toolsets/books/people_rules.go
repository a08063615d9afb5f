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

// bookFile says what a book is.
const bookFile = "book.yaml"

// judgeText looks at a text for itself.
func (v *inspection) judgeText(at string, d *markdown.Document) {
	fields, ok := v.judgeFront(at, d, 0)
	if !strings.HasPrefix(at, "lessons/") {
		return
	}
	if strings.TrimSpace(d.Text[d.Front.Length:]) == "" {
		v.add(isWarning, at, 0, "empty-lesson", "there is no text in it")
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

// judgeFront looks at front matter; before is how many lines are in front of it that
// the file does not have. It is false if the front matter cannot be read.
func (v *inspection) judgeFront(at string, d *markdown.Document, before int) (map[string]any, bool) {
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

// judgeLinks follows every link that stays in the book.
func (v *inspection) judgeLinks(at string, d *markdown.Document) {
	for _, l := range d.Links {
		written := d.Destination(l)
		t, local := markdown.Local(written)
		if !local {
			v.useAddress(written)
			continue
		}
		line := d.Line(l.Start)
		if t.Path == "" {
			if written == "" {
				v.add(isWarning, at, line, "empty-link", "a link leads nowhere")
			} else {
				v.judgeAnchor(at, line, at, t.Fragment)
			}
			continue
		}
		to, ok := v.find(at, t.Path)
		if !ok {
			v.addBroken(at, line, written, t.Path, l.Image)
			continue
		}
		v.used[to] = true
		v.judgeAnchor(at, line, to, t.Fragment)
	}
}

// useAddress notes an asset that a text shows by its address on the web.
func (v *inspection) useAddress(address string) {
	if _, asset, ok := strings.Cut(address, v.home.key("")); ok {
		asset, _, _ = strings.Cut(asset, "?")
		v.used[asset] = true
	}
}

// find gives the file or folder that a link leads to. Many write their links without
// the ending of Markdown.
func (v *inspection) find(at, link string) (to string, ok bool) {
	to = markdown.Resolve(at, link)
	for _, ending := range []string{"", ".md", ".mdx"} {
		if v.there[to+ending] {
			return to + ending, true
		}
	}
	return to, false
}

// judgeAnchor looks for the place in a text that a link leads to.
func (v *inspection) judgeAnchor(at string, line int, to, name string) {
	if d := v.texts[to]; d != nil && !d.HasAnchor(name) {
		where := to
		if at == to {
			where = "this file"
		}
		v.add(isError, at, line, "broken-anchor", fmt.Sprintf("#%s: there is no such heading in %s", name, where))
	}
}

// addBroken says what a link that leads nowhere should perhaps be.
func (v *inspection) addBroken(at string, line int, written, link string, image bool) {
	to := markdown.Resolve(at, link)
	rule, what := "broken-link", "there is no file "+to
	if image || strings.HasPrefix(to, "assets/") {
		rule, what = "missing-asset", "there is no asset "+to
	}
	level := isError
	switch {
	case to == ".." || strings.HasPrefix(to, "../"):
		what = "it leads out of the book"
	case strings.HasPrefix(link, "/"):
		level = isWarning // whatever serves the book may have it
		what += "; a link that begins with / starts at the top of the book here"
	}
	if near := v.sameName(path.Base(to)); near != "" {
		what += "; did you mean " + markdown.Relative(at, near) + "?"
	}
	v.add(level, at, line, rule, written+": "+what)
}

// sameName gives the one file of the book that has a name, whatever its folder and case.
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

// judgeSummaries compares the chapters that lessons are in with those that have a
// summary.
func (v *inspection) judgeSummaries() {
	chapters := map[string]string{} // with a lesson of each
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
			v.add(isWarning, file, 0, "orphan-summary", "no lesson is in a folder "+chapter)
		}
	}
}

// isChapter tells names such as chapter-07.
func isChapter(name string) bool {
	digits, ok := strings.CutPrefix(name, "chapter-")
	return ok && len(digits) == 2 && strings.Trim(digits, "0123456789") == ""
}

// judgeAssets finds assets that nothing shows.
func (v *inspection) judgeAssets() {
	for _, file := range v.files {
		if strings.HasPrefix(file, "assets/") && !v.used[file] {
			v.add(isWarning, file, 0, "orphan-asset", "no text of the book leads to it")
		}
	}
}
