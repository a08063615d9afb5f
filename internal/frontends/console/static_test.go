package console

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shared returns the stylesheets whose classes all pages may use, and give further rules.
func shared() []string { return []string{"console.css", "contents.css", "diff.css"} }

// TestStylesheetsAreApart checks that no rule of one page applies to another page by accident. All
// pages load all stylesheets, so a class that a page styles wherever it occurs is of that page
// alone.
func TestStylesheetsAreApart(t *testing.T) {
	everywhere := map[string]string{} // a class that a rule begins with
	used := map[string][]string{}     // the stylesheets with rules for it
	for name := range assets() {
		if !strings.HasSuffix(name, ".css") || strings.Contains(name, "/") || slices.Contains(shared(), name) {
			continue
		}
		content, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, selector := range selectors(string(content)) {
			if first := regexp.MustCompile(`^\.([\w-]+)(?:[ :>+~]|$)`).FindStringSubmatch(selector); first != nil {
				everywhere[first[1]] = name
			}
			for _, class := range regexp.MustCompile(`(?:^|[ (>+~])\.([\w-]+)`).FindAllStringSubmatch(selector, -1) {
				if !slices.Contains(used[class[1]], name) {
					used[class[1]] = append(used[class[1]], name)
				}
			}
		}
	}
	for class, name := range everywhere {
		for _, other := range used[class] {
			if other != name {
				t.Errorf("%s and %s have rules for .%s: rename one, or move the rules of both pages to console.css", name, other, class)
			}
		}
	}
}

// selectors returns the selectors of a stylesheet.
func selectors(content string) []string {
	content = regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(content, "")
	var found []string
	for _, rule := range regexp.MustCompile(`([^{}]+)\{`).FindAllStringSubmatch(content, -1) {
		list, depth := strings.TrimSpace(rule[1]), 0
		if strings.HasPrefix(list, "@") {
			continue
		}
		for _, selector := range strings.FieldsFunc(list, func(r rune) bool {
			switch r {
			case '(':
				depth++
			case ')':
				depth--
			}
			return r == ',' && depth == 0
		}) {
			found = append(found, strings.TrimSpace(selector))
		}
	}
	return found
}
