package console

import (
	"fmt"
	"html/template"
	"path"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/frontends/console/highlight"
	"remit/internal/frontends/console/markdown"
	"remit/internal/toolsets/codebase"
	"remit/internal/visible"
)

// filePage is the data of the page of a project file.
type filePage struct {
	codebase.File
	Modified time.Time
	Parts    int  // number of pages that it takes as Markdown
	Markdown bool // the file is Markdown
	Source   bool // show the source, not formatted Markdown
	HTML     template.HTML
	Code     []sourceLine
	Toggle   string // the URL of the other view
	Pager    pager
}

// sourceLine is a line of a file with its number.
type sourceLine struct {
	Number int
	Href   string
	HTML   template.HTML
	Hit    bool // the URL names this line
}

// linesPerPage is the number of lines on one page of a file.
const linesPerPage = 1000

func (v *visit) showFile() error {
	if missing := v.missingTool("files", "context", "read_file"); missing != nil {
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
	return v.page("file", "search", visible.Line(path.Base(name)), page)
}

func isMarkdown(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".md" || ext == ".markdown"
}

func (v *visit) readFile(page *filePage, args arguments) (string, error) {
	args["path"] = page.Path
	answer, _, err := read[codebase.ReadOut](v, "read_file", args)
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
	parts := splitParts(body)
	page.Parts = len(parts)
	parts, page.Pager = pageOf(v, parts, 1)
	page.HTML = markdown.Render([]byte(parts[0]), markdown.Options{
		Shift: 1, Highlight: highlight.Code,
		Link: func(dest string) (string, bool) {
			file, fragment, ok := resolveLink(page.Path, dest)
			return sourceHref(file, 0) + fragment, ok
		},
	})
	page.Toggle, err = query(v.r.URL, "view", "source", "line", "", "page", "")
	return err
}

// readSource reads the page of a file that contains a line.
func (v *visit) readSource(page *filePage, line int) error {
	from := (max(line, 1)-1)/linesPerPage*linesPerPage + 1
	text, err := v.readFile(page, arguments{"offset": from, "limit": linesPerPage})
	if err != nil {
		return err
	}
	lang := page.Language
	if !highlight.Supports(lang) {
		lang = languageOf(page.Path)
	}
	html := strings.TrimSuffix(string(highlight.Code(lang, shortLines(text))), "\n")
	if text != "" {
		for i, one := range strings.Split(html, "\n") {
			// The highlighter closes its spans at the end of each line, so each line is valid HTML.
			page.Code = append(page.Code, sourceLine{
				Number: from + i, Href: lineQuery(from + i), HTML: template.HTML(one), Hit: from+i == line, //nolint:gosec // see above
			})
		}
	}
	if page.Markdown {
		page.Toggle, _ = query(v.r.URL, "view", "read", "line", "")
	}
	if from > 1 {
		page.Pager.Prev, _ = query(v.r.URL, "line", from-linesPerPage, "view", "source")
	}
	if last := from + linesPerPage - 1; last < page.Lines || page.Partial {
		page.Pager.Next, _ = query(v.r.URL, "line", last+1, "view", "source")
	}
	if page.Lines > linesPerPage {
		page.Pager.Note = fmt.Sprintf("lines %d to %d of %d", from, from+len(page.Code)-1, page.Lines)
		if page.Partial {
			page.Pager.Note += " or more"
		}
	}
	return nil
}

// lineQuery returns the query and fragment of a URL that selects a line of a file.
func lineQuery(line int) string { return fmt.Sprintf("?line=%d#L%d", line, line) }

// languageOf guesses the language of a file from its name, for the highlighter.
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
