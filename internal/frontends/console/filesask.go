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
)

// arguments are those of a call. What is "", 0 or false is left out.
type arguments map[string]any

// ask calls a tool that reads for what a page shows, and decodes its answer. cut tells
// that there was more than an answer holds.
func ask[Out any](v *visit, tool string, args arguments) (answer Out, cut bool, err error) {
	result, err := v.call(v.Pages, facePage, tool, args)
	if err != nil {
		return answer, false, err
	}
	into := any(&answer)
	if result.Tool.Shape == contract.Envelope {
		into = &struct{ Data any }{into}
	}
	if err := json.Unmarshal(result.Structured, into); err != nil {
		return answer, false, fmt.Errorf("read the answer of %s: %w", tool, err)
	}
	return answer, result.Notes.Truncated, nil
}

// do carries out what a person asks for. The contract is kept in full, so it may wait
// for approval.
func (v *visit) do(tool string, args arguments) error {
	_, err := v.call(v.Engine, faceConsole, tool, args)
	return err
}

// call calls a tool as the person who is signed in. A failure is a *contract.Error.
func (v *visit) call(e *engine.Engine, face, tool string, args arguments) (engine.Result, error) {
	for key, value := range args {
		if value == "" || value == 0 || value == false {
			delete(args, key)
		}
	}
	sent, err := json.Marshal(args)
	if err != nil {
		return engine.Result{}, fmt.Errorf("write the arguments of %s: %w", tool, err)
	}
	tree, err := jsontree.Parse(sent)
	if err != nil {
		return engine.Result{}, contract.Errorf(contract.Invalid, "That is no text that %s could take", tool).Because(err)
	}
	result, err := e.Call(v.r.Context(), engine.Call{Tool: tool, Args: tree, Principal: v.person.Principal(), Face: face})
	switch {
	case err != nil:
		return result, err
	case result.Err != nil:
		return result, result.Err
	case result.Need != nil:
		return result, contract.Errorf(contract.Denied, "%s asks something that this page cannot answer", tool)
	}
	return result, nil
}

// together does several things at once and waits for all. A panic of one goes on in the
// goroutine of the request, where it becomes a page: elsewhere it would end the server.
func together(all ...func()) {
	faults := make([]error, len(all))
	var running sync.WaitGroup
	for i, one := range all {
		running.Go(func() {
			defer func() {
				if fault := recover(); fault != nil {
					faults[i] = fmt.Errorf("%v\n%s", fault, debug.Stack())
				}
			}()
			one()
		})
	}
	running.Wait()
	if err := errors.Join(faults...); err != nil {
		panic(err)
	}
}

// waiting is the id of the request that a call waits for; "" if it waits for none.
func waiting(err *contract.Error) string {
	request, ok := err.Details["approval"].(map[string]any)
	if !ok || err.Kind != contract.Pending {
		return ""
	}
	id, _ := request["id"].(string)
	return id
}

// unserved is what a page shows while a tool that it is made from is not served.
type unserved struct{ Title, Text, Command string }

// lacks tells what to do if one of the tools of a page is not served; nil if all are.
func (v *visit) lacks(what, set string, tools ...string) *unserved {
	for _, tool := range tools {
		if !v.Pages.Serves(tool) {
			return &unserved{
				Title: "No " + what + " are served here", Text: "This page is made from the tool " + tool + " of the toolset " + set + ". Serve it too:",
				Command: "remit serve --toolsets learning-os,tasks,books,context",
			}
		}
	}
	return nil
}

// legible is spelt without tabs and without the line breaks of Windows.
func legible(text string) string {
	return spelt(strings.NewReplacer("\t", "    ", "\r\n", "\n").Replace(strings.TrimSuffix(text, "\r")))
}

// pageOf cuts a page out of a list, and gives where to go on from it. Pages count from 1.
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

// turned are the addresses of the first page of a list and of the one from a cursor on, which
// is in the address under a key; "" where that is this page, or there is none.
func turned(u *url.URL, key, next string) (first, more string) {
	if u.Query().Get(key) != "" {
		first, _ = query(u, key, "")
	}
	if next != "" {
		more, _ = query(u, key, next)
	}
	return first, more
}

// group is what stands together on a page under a name.
type group[T any] struct {
	Name  string
	Items []T
}

// groupsOf puts neighbours together that have the same name.
func groupsOf[T any](list []T, name func(T) string) []group[T] {
	var groups []group[T]
	for _, one := range list {
		called := name(one)
		if n := len(groups); n == 0 || groups[n-1].Name != called {
			groups = append(groups, group[T]{Name: called})
		}
		last := &groups[len(groups)-1]
		last.Items = append(last.Items, one)
	}
	return groups
}
