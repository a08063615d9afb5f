package imports

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/net/html"
)

// A webTag is an opening tag of a page, with the raw text up to its closing tag if that is not
// markup.
type webTag struct {
	name       string
	start      int
	attributes map[string]string // those that may matter, by name
	body, end  int
}

// webTags calls each with the tags of a page in order.
func webTags(src []byte, each func(webTag)) {
	z := html.NewTokenizer(bytes.NewReader(src))
	for at, kind := 0, z.Next(); kind != html.ErrorToken; {
		tag := webTag{start: at}
		at += len(z.Raw())
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			kind = z.Next()
			continue
		}
		tag.read(z)
		tag.body, tag.end = at, at
		if kind == html.SelfClosingTagToken || tag.name != "script" && tag.name != "style" {
			z.NextIsNotRawText()
			kind = z.Next()
		} else if kind = z.Next(); kind == html.TextToken {
			at += len(z.Raw())
			tag.end, kind = at, z.Next()
		}
		each(tag)
	}
}

// read reads the name of the current tag, and those of its attributes that may matter.
func (t *webTag) read(z *html.Tokenizer) {
	name, more := z.TagName()
	t.name, t.attributes = string(name), map[string]string{}
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "src", "href", "type":
			t.attributes[string(key)] = string(value)
		}
	}
}

// A webPage collects the imports of the parts of a page.
type webPage struct {
	src   []byte
	specs []spec
	lines webLines
}

func newWebPage(content []byte) *webPage {
	return &webPage{src: content, lines: webLines{src: content}}
}

// part adds the imports of an embedded part in another language, with line numbers of the page.
func (p *webPage) part(start, end int, extract func([]byte) ([]spec, error)) error {
	before := p.lines.of(start) - 1
	specs, err := extract(p.src[start:end])
	for _, s := range specs {
		s.line += before
		p.specs = append(p.specs, s)
	}
	if fault, ok := errors.AsType[*SyntaxError](err); ok {
		return &SyntaxError{Line: fault.Line + before, Reason: fault.Reason}
	}
	return err
}

// address adds what an attribute of a tag names.
func (p *webPage) address(tag webTag, attribute string) {
	if text := strings.TrimSpace(tag.attributes[attribute]); text != "" {
		p.specs = append(p.specs, spec{text, p.lines.of(tag.start), htmlLink})
	}
}

// extractHTML reads a page: scripts, links, and the imports of embedded scripts and styles. Only a
// malformed import is an error, since browsers display any page.
func extractHTML(content []byte) ([]spec, error) {
	p := newWebPage(content)
	var failed error
	part := func(tag webTag, extract func([]byte) ([]spec, error)) {
		err := p.part(tag.body, tag.end, extract)
		if fault, ok := errors.AsType[*SyntaxError](err); ok && failed == nil && strings.HasPrefix(fault.Reason, malformed) {
			failed = err
		}
	}
	webTags(content, func(tag webTag) {
		switch tag.name {
		case "link":
			p.address(tag, "href")
		case "script":
			p.address(tag, "src")
			if webScript(tag) {
				part(tag, extractJS)
			}
		case "style":
			part(tag, extractCSS)
		}
	})
	return p.specs, failed
}

// webScript reports whether a script is JavaScript.
func webScript(tag webTag) bool {
	kind := strings.ToLower(tag.attributes["type"])
	return kind == "" || kind == "module" || strings.Contains(kind, "javascript") || strings.Contains(kind, "ts")
}

// extractComponent reads the scripts and styles of a Vue or Svelte component.
func extractComponent(content []byte) ([]spec, error) {
	return newWebPage(content).component(0)
}

// component reads the scripts and styles after a position.
func (p *webPage) component(from int) ([]spec, error) {
	var first error
	webTags(p.src[from:], func(tag webTag) {
		extract := extractJS
		switch {
		case tag.name == "style":
			extract = extractCSS
		case tag.name == "template":
			extract = nil
		case tag.name != "script" || !webScript(tag):
			return
		}
		tag.start += from
		p.address(tag, "src")
		if extract == nil {
			return
		}
		if err := p.part(from+tag.body, from+tag.end, extract); err != nil && first == nil {
			first = err
		}
	})
	if first != nil {
		return nil, first
	}
	return p.specs, nil
}

// extractAstro reads the script at the top of an Astro component, between lines of dashes, and
// those within it.
func extractAstro(content []byte) ([]spec, error) {
	p := newWebPage(content)
	top := len(content) - len(bytes.TrimLeft(content, " \t\r\n\ufeff"))
	start, end, after := frontMatter(content[top:])
	if after == 0 {
		return p.component(0)
	}
	if err := p.part(top+start, top+end, extractJS); err != nil {
		return nil, err
	}
	return p.component(top + after)
}

// frontMatter finds the text between lines of three dashes at the beginning of a page: it is
// content[start:end], and the page continues at after. Without such lines all three are 0.
func frontMatter(content []byte) (start, end, after int) {
	for line := range bytes.Lines(content) {
		mark := string(bytes.TrimRight(bytes.TrimPrefix(line, []byte("\ufeff")), " \t\r\n"))
		switch {
		case start == 0 && mark != "---":
			return 0, 0, 0
		case start == 0:
			start, end = len(line), len(line)
		case mark == "---" || mark == "...":
			return start, end, end + len(line)
		default:
			end += len(line)
		}
	}
	return 0, 0, 0
}

// The kinds of imports in JavaScript, TypeScript, CSS and HTML. The zero kind means an import or
// export statement, or import().
const (
	jsTypeOnly  kind = iota + 1 // import type, export type, declare module
	jsRequire                   // require(), require.resolve(), import x = require()
	jsURL                       // new URL("x", import.meta.url): always a path
	jsReference                 // /// <reference path="x" />: always a path
	cssImport                   // @import, @use, @forward, composes
	cssURL                      // url(x): always a path
	htmlLink                    // src and href: always a path, / being the root of the site
)

// resolveWeb finds the files to which the specs of one file refer.
func resolveWeb(files Files, from string, specs []spec) []string {
	return resolveEach(specs, newNodeResolver(files, from).resolve)
}

// webLines converts ascending positions into line numbers.
type webLines struct {
	src   []byte
	place int
	lines int // number of lines that end before place
}

// of returns the line of a position, counting from 1.
func (l *webLines) of(place int) int {
	if place > l.place {
		l.lines += bytes.Count(l.src[l.place:place], []byte("\n"))
		l.place = place
	}
	return l.lines + 1
}
