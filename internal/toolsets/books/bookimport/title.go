package bookimport

import (
	"archive/zip"
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"remit/internal/search/markdown"
)

// Comment returns the comment of an archive of a book, which states the title of the book.
func Comment(title string) string {
	if title == "" {
		return ""
	}
	text, _ := json.Marshal(comment{commentFormat, title}) // two texts
	return string(text)
}

// comment is the comment of an archive of a book.
type comment struct {
	Format string `json:"format"`
	Title  string `json:"title"`
}

// commentFormat tells our comments from those of other programs.
const commentFormat = "remit-book"

// archiveTitle returns the title in the comment of an archive, or "".
func archiveTitle(from fs.FS) string {
	var c comment
	archive, ok := from.(*zip.Reader)
	if !ok || json.Unmarshal([]byte(archive.Comment), &c) != nil || c.Format != commentFormat {
		return ""
	}
	return c.Title
}

// title returns the title of the book in the folder, or "" if no file states one: the title in
// book.yaml, in the front matter of the README, in the configuration of mdBook, MkDocs or Quarto,
// or the first heading of the README.
func (p *Plan) title() string {
	readmes := []string{"readme.md", "index.md", "lessons/readme.md", "lessons/index.md"}
	for _, source := range []struct {
		files []string
		read  func(d *markdown.Document) string
	}{
		{[]string{"book.yaml"}, fieldOf("title")},
		{readmes, fieldOf("title")},
		{[]string{"book.toml"}, fieldOf("book.title")},
		{[]string{"mkdocs.yml", "mkdocs.yaml"}, fieldOf("site_name")},
		{[]string{"_quarto.yml", "_quarto.yaml"}, fieldOf("book.title", "website.title", "project.title", "title")},
		{readmes, firstHeading},
	} {
		for _, name := range source.files {
			if d := p.document(name); d != nil {
				if title := source.read(d); title != "" {
					return title
				}
			}
		}
	}
	return ""
}

// document parses a file of the folder. The fields of a YAML or TOML file become front matter. The
// name is in lower case; the case of the file's name does not matter. document returns nil if the
// file cannot be read.
func (p *Plan) document(name string) *markdown.Document {
	source := ""
	for other := range p.places {
		if strings.EqualFold(other, name) && other > source {
			source = other
		}
	}
	if source == "" {
		return nil
	}
	data, err := p.read(source, MaxMarkdown)
	if err != nil || !utf8.Valid(data) {
		return nil
	}
	text := string(data)
	switch path.Ext(name) {
	case ".yaml", ".yml":
		text = "---\n\n" + strings.TrimPrefix(text, "---") + "\n---\n"
	case ".toml":
		text = "+++\n\n" + text + "\n+++\n"
	}
	return markdown.Parse(text)
}

// fieldOf returns a function that returns the first of some fields of the front matter that is a
// text. A dot separates the keys of nested maps.
func fieldOf(fields ...string) func(d *markdown.Document) string {
	return func(d *markdown.Document) string {
		all, err := d.Front.Fields()
		if err != nil {
			return ""
		}
		for _, field := range fields {
			keys := strings.Split(field, ".")
			within := all
			for _, key := range keys[:len(keys)-1] {
				within, _ = within[key].(map[string]any) // nil if it is none
			}
			if text, ok := within[keys[len(keys)-1]].(string); ok && strings.TrimSpace(text) != "" {
				return strings.TrimSpace(text)
			}
		}
		return ""
	}
}

func firstHeading(d *markdown.Document) string {
	if len(d.Headings) == 0 {
		return ""
	}
	return d.Headings[0].Text
}
