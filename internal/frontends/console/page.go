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

// template parses templates/NAME.html together with the shared templates, on first use: most
// processes never show a page.
func (c *Console) template(name string) (*template.Template, error) {
	parse, _ := c.templates.LoadOrStore(name, sync.OnceValues(func() (*template.Template, error) {
		files := []string{
			"templates/layout.html", "templates/parts.html", "templates/presence.html", "templates/callrows.html", "templates/" + name + ".html",
		}
		if name == deskPage {
			files = append(files, "templates/approval.html")
		}
		return template.New(name).Funcs(c.functions()).ParseFS(templateFiles, files...)
	}))
	t, err := parse.(func() (*template.Template, error))()
	if err != nil {
		return nil, fmt.Errorf("parse template %s: %w", name, err)
	}
	return t, nil
}

// view is the data of the layout around a page.
type view struct {
	Title     string // of the page
	Nav       string // the current entry of the navigation, such as "tasks"
	Desk      bool   // the page fills the window, and its parts scroll
	Data      any    // the data of the template's "main" block
	Person    string // "" if nobody is signed in
	Role      string
	Approver  bool
	Admin     bool
	Workspace string // the name of the served folder
	Version   string
	// The state when the page was rendered; its script compares it with later events.
	Now   state
	Clock int64 // the time of the server, in milliseconds
}

// Heading returns the document title. It includes the number of waiting requests, because a browser
// tab shows nothing else.
func (v view) Heading() string {
	heading := v.Title + " · Remit"
	if v.Now.Waiting > 0 {
		heading = fmt.Sprintf("(%s) %s", v.Now.Count(), heading)
	}
	return heading
}

// page responds with the block "main" of templates/NAME.html inside the layout.
func (v *visit) page(name, nav, title string, data any) error {
	return v.pageWith(http.StatusOK, name, nav, title, data)
}

// pageWith is page with another status code.
func (v *visit) pageWith(status int, name, nav, title string, data any) error {
	around := view{
		Title: title, Nav: nav, Desk: name == deskPage, Data: data, Person: v.person.Name, Role: v.person.Role.String(),
		Approver: v.person.Role >= identity.Approver,
		Admin:    v.person.Role >= identity.Admin, Workspace: filepath.Base(v.Root), Version: v.Version,
		Clock: v.Now().UnixMilli(),
	}
	if v.person.Role > identity.NoRole {
		around.Now = v.currentState(v.r.Context())
	}
	return v.execute(status, name, "layout", around)
}

// partHeader is the header with which the script of a page asks for a part of it, because a person
// pressed something. Other sites cannot send it without our leave.
const partHeader = "Remit-Part"

// wantsPart reports whether the script of a page asks for a part of it.
func (v *visit) wantsPart() bool { return v.r.Header.Get(partHeader) != "" }

// part responds with one block of templates/NAME.html, which replaces a part of a page.
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
		return fmt.Errorf("execute template %s: %w", name, err)
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b.Bytes()) // an error means that the browser has disconnected
	return nil
}
