package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path/filepath"
	"sync"

	"remit/internal/engine/identity"
)

//go:embed templates
var templateFiles embed.FS

// template parses templates/NAME.html together with what all pages share, when it is first used: most runs never show one.
func (c *Console) template(name string) (*template.Template, error) {
	parse, _ := c.pages.LoadOrStore(name, sync.OnceValues(func() (*template.Template, error) {
		return template.New(name).Funcs(c.functions()).ParseFS(templateFiles,
			"templates/layout.html", "templates/parts.html", "templates/callrows.html", "templates/"+name+".html")
	}))
	t, err := parse.(func() (*template.Template, error))()
	if err != nil {
		return nil, fmt.Errorf("parse the page %s: %w", name, err)
	}
	return t, nil
}

// view is what the layout shows around a page.
type view struct {
	Title     string // of the page
	Nav       string // the entry of the navigation that is current: "tasks"
	Data      any    // what the template's "main" shows
	Person    string // "" if nobody is signed in
	Role      string
	Admin     bool
	Workspace string // what is served, in a word
	Version   string
	Now       state // what the page was made from, so that it knows later whether something changed
}

// Heading is the title of the document: what waits is told there too, because it is
// all that a tab shows.
func (v view) Heading() string {
	heading := v.Title + " · Remit"
	if v.Now.Waiting > 0 {
		heading = fmt.Sprintf("(%s) %s", v.Now.Count(), heading)
	}
	return heading
}

// page answers with a whole page: the block "main" of templates/NAME.html within the
// layout.
func (v *visit) page(name, nav, title string, data any) error {
	return v.pageWith(http.StatusOK, name, nav, title, data)
}

// pageWith is page with another status.
func (v *visit) pageWith(status int, name, nav, title string, data any) error {
	around := view{
		Title: title, Nav: nav, Data: data, Person: v.person.Name, Role: v.person.Role.String(),
		Admin: v.person.Role >= identity.Admin, Workspace: filepath.Base(v.Root), Version: v.Version,
	}
	if v.person.Role > identity.Nobody {
		around.Now = v.lookNow(v.r.Context())
	}
	return v.execute(status, name, "layout", around)
}

// part answers with one block of templates/NAME.html, for what replaces a part of a
// page.
func (v *visit) part(name, block string, data any) error {
	return v.execute(http.StatusOK, name, block, data)
}

func (v *visit) execute(status int, name, block string, data any) error {
	t, err := v.template(name)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, block, data); err != nil {
		return fmt.Errorf("make the page %s: %w", name, err)
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b.Bytes()) // a browser that is gone needs no answer
	return nil
}
