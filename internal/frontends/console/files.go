package console

import (
	"fmt"
	"html/template"
	"path"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/frontends/console/highlight"
	"remit/internal/frontends/console/markdown"
	"remit/internal/toolsets/codebase"
)

// filePage is what the page of a file of the project shows.
type filePage struct {
	codebase.File
	Modified time.Time
	Parts    int  // so many pages show it as Markdown
	Markdown bool // it can be read as Markdown
	Source   bool // its lines are shown, not what they mean
	HTML     template.HTML
	Code     []sourceLine
	Toggle   string // the address of the other way to show it
	Pager    pager
}

// sourceLine is a line of a file with its number.
type sourceLine struct {
	Number int
	Href   string
	HTML   template.HTML
	Hit    bool // it is the one that was asked for
}

// linesInPage is how many lines of a file a page shows.
const linesInPage = 1000

func (v *visit) showFile() error {
	if missing := v.lacks("files", "context", "read_file"); missing != nil {
		return contract.Errorf(contract.NotFound, "%s. %s %s", missing.Title, missing.Text, missing.Command)
	}
	name := v.r.PathValue("path")
	q := v.r.URL.Query()
	line, err := strconv.Atoi(q.Get("line"))
	if err != nil || line < 1 {
		line = 0
	}
	page := &filePage{File: codebase.File{Path: name}, Markdown: isMarkdown(name)}
	page.Source = !page.Markdown || q.Get("view") == "source" || line > 0 && q.Get("view") != "read"
	if page.Source {
		err = v.readSource(page, line)
	} else {
		err = v.readMarkdown(page)
	}
	if err != nil {
		return err
	}
	return v.page("file", "search", approval.Plain(path.Base(name)), page)
}

func isMarkdown(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".md" || ext == ".markdown"
}

func (v *visit) readFile(page *filePage, args arguments) (string, error) {
	args["path"] = page.Path
	answer, _, err := ask[codebase.ReadOut](v, "read_file", args)
	answer.File.Path = page.Path
	page.File, page.Modified = answer.File, answer.Metadata.LastModified
	return page.Content, err
}

func (v *visit) readMarkdown(page *filePage) error {
	text, err := v.readFile(page, arguments{})
	if err != nil {
		return err
	}
	_, body := markdown.Split(text)
	parts := partsOf(body)
	page.Parts = len(parts)
	parts, page.Pager = pageOf(v, parts, 1)
	page.HTML = markdown.Render([]byte(parts[0]), markdown.Options{
		Shift: 1, Highlight: highlight.Code,
		Link: func(dest string) (string, bool) {
			file, fragment, ok := beside(page.Path, dest)
			return sourceHref(file, 0) + fragment, ok
		},
	})
	page.Toggle, err = query(v.r.URL, "view", "source", "line", "", "page", "")
	return err
}

// readSource reads the part of a file that a line is in.
func (v *visit) readSource(page *filePage, line int) error {
	from := (max(line, 1)-1)/linesInPage*linesInPage + 1
	text, err := v.readFile(page, arguments{"offset": from, "limit": linesInPage})
	if err != nil {
		return err
	}
	lang := page.Language
	if !highlight.Knows(lang) {
		lang = languageOf(page.Path)
	}
	html := strings.TrimSuffix(string(highlight.Code(lang, shortLines(text))), "\n")
	if text != "" {
		for i, one := range strings.Split(html, "\n") {
			// The highlighter ends its spans with their lines, so that a line stands for itself.
			page.Code = append(page.Code, sourceLine{
				Number: from + i, Href: lineQuery(from + i), HTML: template.HTML(one), Hit: from+i == line, //nolint:gosec // see above
			})
		}
	}
	if page.Markdown {
		page.Toggle, _ = query(v.r.URL, "view", "read", "line", "")
	}
	if from > 1 {
		page.Pager.Prev, _ = query(v.r.URL, "line", from-linesInPage, "view", "source")
	}
	if last := from + linesInPage - 1; last < page.Lines {
		page.Pager.Next, _ = query(v.r.URL, "line", last+1, "view", "source")
	}
	if page.Lines > linesInPage {
		page.Pager.Note = fmt.Sprintf("lines %d to %d of %d", from, from+len(page.Code)-1, page.Lines)
	}
	return nil
}

// lineQuery leads to a line of a file.
func lineQuery(line int) string { return fmt.Sprintf("?line=%d#L%d", line, line) }

// languageOf guesses the language of a file by its name, for the highlighter.
func languageOf(name string) string {
	switch base := strings.ToLower(path.Base(name)); {
	case strings.HasPrefix(base, "dockerfile"):
		return "dockerfile"
	case base == "makefile":
		return "make"
	case base == "go.mod":
		return "go"
	default:
		return strings.TrimPrefix(path.Ext(base), ".")
	}
}
