package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/visible"
)

// arguments are the arguments of a call. Values that are "", 0 or false are left out.
type arguments map[string]any

// read calls a read-only tool for a page and decodes the result. truncated reports that the tool
// had more to return.
func read[Out any](v *visit, tool string, args arguments) (answer Out, truncated bool, err error) {
	result, err := v.call(v.Pages, engine.Call{Tool: tool, Frontend: frontendPage}, args)
	if err != nil {
		return answer, false, err
	}
	return answer, result.Truncation.Truncated, decode(&result, &answer)
}

// decode decodes the result of a call.
func decode(result *engine.Result, into any) error {
	if result.Tool.Shape == contract.Envelope {
		into = &struct{ Data any }{into}
	}
	if err := json.Unmarshal(result.Structured, into); err != nil {
		return fmt.Errorf("decode the result of %s: %w", result.Tool.Name, err)
	}
	return nil
}

// do calls a tool that a person asked for. The contract applies in full, so the call may wait for
// approval.
func (v *visit) do(tool string, args arguments) error { return v.doSeen(tool, "", args) }

// doSeen is do for a person who saw what the call changes in the given state. If it is not that any
// more, the error is a contract.Conflict, and nothing was changed.
func (v *visit) doSeen(tool, seen string, args arguments) error {
	_, err := v.call(v.Engine, engine.Call{Tool: tool, Seen: seen, Frontend: frontendConsole}, args)
	return err
}

// own calls a tool that only people have, as do and doSeen do.
func (v *visit) own(frontend, tool, seen string, args arguments) (engine.Result, error) {
	e, err := v.Own()
	if err != nil {
		return engine.Result{}, err
	}
	return v.call(e, engine.Call{Tool: tool, Seen: seen, Frontend: frontend}, args)
}

// call calls a tool as the signed-in person. A failure of the tool is a *contract.Error.
func (v *visit) call(e *engine.Engine, c engine.Call, args arguments) (engine.Result, error) {
	for key, value := range args {
		if value == "" || value == 0 || value == false {
			delete(args, key)
		}
	}
	sent, err := json.Marshal(args)
	if err != nil {
		return engine.Result{}, fmt.Errorf("encode the arguments of %s: %w", c.Tool, err)
	}
	if c.Args, err = jsontree.Parse(sent); err != nil {
		return engine.Result{}, contract.Errorf(contract.Invalid, "%s does not accept this text", c.Tool).Because(err)
	}
	c.Principal = v.person.Principal()
	result, err := e.Call(v.r.Context(), c)
	switch {
	case err != nil:
		return result, err
	case result.Err != nil:
		return result, result.Err
	case result.Suspended != nil:
		return result, contract.Errorf(contract.Denied, "%s needs more input, which this page cannot provide; use an MCP client", c.Tool)
	}
	return result, nil
}

// runAll runs functions concurrently and waits for all of them. It repeats a panic of one in the
// goroutine of the request, where it becomes an error page: in any other goroutine it would end the
// server.
func runAll(all ...func()) {
	faults := make([]error, len(all))
	var running sync.WaitGroup
	for i, run := range all {
		running.Go(func() {
			defer func() {
				if fault := recover(); fault != nil {
					faults[i] = fmt.Errorf("%v\n%s", fault, debug.Stack())
				}
			}()
			run()
		})
	}
	running.Wait()
	if err := errors.Join(faults...); err != nil {
		panic(err)
	}
}

// pendingApproval returns the id of the approval request that a call waits for, or "".
func pendingApproval(err *contract.Error) string {
	request, ok := err.Details["approval"].(map[string]any)
	if !ok || err.Kind != contract.Pending {
		return ""
	}
	id, _ := request["id"].(string)
	return id
}

// unserved is what a page shows if a tool that it needs is not served.
type unserved struct{ Title, Text, Command string }

// missingTool returns a notice if one of the tools of a page is not served, and nil otherwise.
func (v *visit) missingTool(what, set string, tools ...string) *unserved {
	for _, tool := range tools {
		if !v.Pages.Serves(tool) {
			return &unserved{
				Title:   "No " + what + " are served here",
				Text:    "This page needs the tool " + tool + " of the toolset " + set + ". To serve it:",
				Command: "remit serve --toolsets learning-os,tasks,books,context",
			}
		}
	}
	return nil
}

// legible is visible.Text with tabs as spaces and without carriage returns.
func legible(text string) string {
	return visible.Text(strings.NewReplacer("\t", "    ", "\r\n", "\n").Replace(strings.TrimSuffix(text, "\r")))
}

// pageOf returns the page of a list that the URL selects, and links to its neighbours. Page numbers
// start at 1.
func pageOf[T any](v *visit, list []T, size int) ([]T, pager) {
	n := 1
	_, _ = fmt.Sscan(v.r.URL.Query().Get("page"), &n)
	pages := max(1, (len(list)+size-1)/size)
	n = min(max(n, 1), pages)
	from, to := (n-1)*size, min(n*size, len(list))
	p := pager{}
	switch {
	case pages > 1 && from+1 == to:
		p.Note = fmt.Sprintf("%d of %d", to, len(list))
	case pages > 1:
		p.Note = fmt.Sprintf("%d to %d of %d", from+1, to, len(list))
	}
	if n > 1 {
		p.Prev, _ = query(v.r.URL, "page", n-1)
	}
	if n < pages {
		p.Next, _ = query(v.r.URL, "page", n+1)
	}
	return list[from:to], p
}

// cursorLinks returns the URL of the first page of a list and of the page that starts at the cursor
// next. The URL contains the cursor under key. A result is "" if it is the current page or there is
// no such page.
func cursorLinks(u *url.URL, key, next string) (first, more string) {
	if u.Query().Get(key) != "" {
		first, _ = query(u, key, "")
	}
	if next != "" {
		more, _ = query(u, key, next)
	}
	return first, more
}

// group is a named group of items on a page.
type group[T any] struct {
	Name  string
	Items []T
}

// groupsOf groups adjacent items that have the same name.
func groupsOf[T any](list []T, name func(T) string) []group[T] {
	var groups []group[T]
	for _, item := range list {
		key := name(item)
		if n := len(groups); n == 0 || groups[n-1].Name != key {
			groups = append(groups, group[T]{Name: key})
		}
		last := &groups[len(groups)-1]
		last.Items = append(last.Items, item)
	}
	return groups
}
