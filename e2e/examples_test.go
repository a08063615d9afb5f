package e2e

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
)

// modeOf returns the approval mode of an example: automatic unless the example sets one.
func modeOf(e contract.Example) string {
	if e.Approve == "" {
		return string(approval.Auto)
	}
	return e.Approve
}

// hiddenSet is a toolset that no list contains.
const hiddenSet = "conformance"

// example is an example of a tool, with its toolset and contract.
type example struct {
	contract.Example
	set  *contract.Set
	tool *contract.Contract
}

func (e example) String() string { return e.tool.Name + "/" + e.Title }

// call calls the tool with the arguments of the example.
func (e example) call(t *testing.T, do callFunc) toolResult {
	t.Helper()
	return do(t, e.tool.Name, e.Arguments.Append(nil))
}

// sharesWorkspace reports whether the example can share a workspace with others because it changes
// nothing.
func (e example) sharesWorkspace() bool { return e.tool.Hints.ReadOnly && len(e.Before) == 0 }

// exampleSets returns the examples of all toolsets, or of the given ones.
func exampleSets(t *testing.T, names ...string) map[string][]example {
	t.Helper()
	sets, err := allToolsets()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]example{}
	for _, set := range sets {
		if len(names) > 0 && !slices.Contains(names, set.Name) {
			continue
		}
		for _, c := range set.Contracts {
			for _, e := range c.Examples {
				all[set.Name] = append(all[set.Name], example{e, set, c})
			}
		}
	}
	return all
}

// groupExamples puts examples in one group if they can share a workspace: they only read, need the
// same files and have the same approval mode. All others are alone in their group.
func groupExamples(all []example) (found [][]example) {
	for _, e := range all {
		at := slices.IndexFunc(found, func(group []example) bool {
			first := group[0]
			return e.sharesWorkspace() && first.sharesWorkspace() && modeOf(e.Example) == modeOf(first.Example) && cmp.Equal(e.Given, first.Given)
		})
		if at < 0 {
			found = append(found, []example{e})
		} else {
			found[at] = append(found[at], e)
		}
	}
	return found
}

// replay is a way to replay examples.
type replay struct {
	frontend frontend
	fresh    func(t *testing.T, given map[string]string) *workspace // creates a workspace
	// check checks the answer to an example; again repeats the call.
	check func(t *testing.T, s *workspace, e example, got toolResult, again func() toolResult)
}

// run replays the examples of a toolset. The examples of a group use one open workspace.
func (r replay) run(t *testing.T, all []example) {
	t.Helper()
	for _, group := range groupExamples(all) {
		// A subtest, so that everything is closed before the next group.
		t.Run(group[0].tool.Name, func(t *testing.T) {
			s := r.fresh(t, group[0].Given)
			do := r.open(t, s, group[0])
			for _, e := range group {
				t.Run(e.String(), func(t *testing.T) {
					r.check(t, s, e, e.call(t, do), func() toolResult { return e.call(t, do) })
				})
			}
		})
	}
}

// open opens the workspace for an example, and makes the calls that the example requires before.
func (r replay) open(t *testing.T, s *workspace, e example) callFunc {
	t.Helper()
	mode := modeOf(e.Example)
	if mode != string(approval.Auto) {
		r.setUp(t, s, e)
		return r.frontend.open(t, s, e.set.Name, mode)
	}
	do := r.frontend.open(t, s, e.set.Name, mode)
	e.callBefore(t, do)
	return do
}

// setUp makes the calls that an example requires before, with automatic approval, in a workspace
// that is open only for them.
func (r replay) setUp(t *testing.T, s *workspace, e example) {
	t.Helper()
	if len(e.Before) > 0 {
		t.Run("before", func(t *testing.T) { e.callBefore(t, r.frontend.open(t, s, e.set.Name, string(approval.Auto))) })
	}
}

// callBefore makes the calls that the example requires before.
func (e example) callBefore(t *testing.T, do callFunc) {
	t.Helper()
	for _, step := range e.Before {
		if got := do(t, step.Tool, step.Arguments.Append(nil)); got.failed {
			t.Fatalf("%s: %s", step.Tool, clip(got.text))
		}
	}
}

// answers are the answers to each example on each front end.
type answers struct {
	mu  sync.Mutex
	all map[string]map[string]toolResult // by example, then by front end
}

func (a *answers) add(t *testing.T, e example, frontend string, got toolResult) {
	t.Helper()
	text := masked(t, got.text, e.Varies)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[string]map[string]toolResult{}
	}
	if a.all[e.String()] == nil {
		a.all[e.String()] = map[string]toolResult{}
	}
	a.all[e.String()][frontend] = toolResult{text, got.failed}
}

// compare fails the test if a front end's answer to an example differs in any byte from that of the
// first front end.
func (a *answers) compare(t *testing.T, all []example) {
	t.Helper()
	for _, e := range all {
		first := a.all[e.String()][frontends[0].name]
		for frontend, got := range a.all[e.String()] {
			cannot := e.tool.Task == contract.TaskRequired || strings.Contains(first.text, "did not declare the capability")
			if got != first && (got != incapable || !cannot) {
				t.Errorf("%s: %s and %s differ:\n%s\n%s", e, frontends[0].name, frontend, first.text, got.text)
			}
		}
	}
}

// TestExamplesOnEveryFrontend checks that every example passes on every front end, and that all
// answers have the same bytes.
func TestExamplesOnEveryFrontend(t *testing.T) {
	t.Parallel()
	for set, all := range exampleSets(t) {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			var seen answers
			// A subtest, which ends when all front ends are done.
			t.Run("frontends", func(t *testing.T) {
				for _, f := range frontends {
					t.Run(f.name, func(t *testing.T) {
						t.Parallel()
						replay{f, newWorkspace, func(t *testing.T, _ *workspace, e example, got toolResult, _ func() toolResult) {
							seen.add(t, e, f.name, got)
							if got != incapable {
								checkExample(t, e.Example, got)
							}
						}}.run(t, f.supported(all))
					})
				}
			})
			seen.compare(t, all)
		})
	}
}

// supported returns the examples that this front end's clients support.
func (f frontend) supported(all []example) []example {
	return slices.DeleteFunc(slices.Clone(all), func(e example) bool { return f.waitsForTasks && e.tool.Task == contract.TaskRequired })
}

// checkExample compares an answer with the contract.
func checkExample(t *testing.T, e contract.Example, got toolResult) {
	t.Helper()
	want, failed := e.Result.Append(nil), false
	if e.Error.Members != nil {
		want, failed = e.Error.Append(nil), true
	}
	if got.failed != failed {
		t.Errorf("failed is %t, want %t: %s", got.failed, failed, clip(got.text))
		return
	}
	if diff := cmp.Diff(decodeExact(t, e, string(want)), decodeExact(t, e, got.text)); diff != "" {
		t.Errorf("-documented +answered:\n%s", diff)
	}
}

// decodeExact decodes an answer without changing its numbers. Fields that vary become null.
func decodeExact(t *testing.T, e contract.Example, text string) any {
	t.Helper()
	tree, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatalf("not JSON: %v: %s", err, clip(text))
	}
	varying := contracttest.Varying(&e, tree)
	var v any
	decoder := json.NewDecoder(bytes.NewReader(varying.Append(nil)))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("not JSON: %v: %s", err, clip(text))
	}
	return v
}

// masked replaces the varying fields of a JSON text with "?" and keeps every other byte.
func masked(t *testing.T, text string, varies []string) string {
	t.Helper()
	if len(varies) == 0 {
		return text
	}
	m := &masker{decoder: json.NewDecoder(strings.NewReader(text)), text: text, varies: varies}
	if err := m.value(""); err != nil {
		t.Fatalf("not JSON: %v: %s", err, clip(text))
	}
	return m.out.String() + text[m.copied:]
}

// masker reads a JSON text and tracks the path of each value.
type masker struct {
	decoder *json.Decoder
	text    string
	varies  []string
	copied  int64
	out     strings.Builder
}

func (m *masker) value(at string) error {
	start := m.decoder.InputOffset()
	token, err := m.decoder.Token()
	if err != nil {
		return err
	}
	for open := token; (open == json.Delim('{') || open == json.Delim('[')) && m.decoder.More(); {
		below := at + "[]"
		if open == json.Delim('{') {
			key, err := m.decoder.Token()
			if err != nil {
				return err
			}
			below = strings.TrimPrefix(at+"."+key.(string), ".")
		}
		if err := m.value(below); err != nil {
			return err
		}
	}
	if token == json.Delim('{') || token == json.Delim('[') {
		if _, err := m.decoder.Token(); err != nil {
			return err
		}
	}
	if slices.Contains(m.varies, at) {
		m.out.WriteString(m.text[m.copied:start] + "?")
		m.copied = m.decoder.InputOffset()
	}
	return nil
}

// TestReadOnlyToolsChangeNothing checks that read-only tools change no byte and no modification
// time in the workspace.
func TestReadOnlyToolsChangeNothing(t *testing.T) {
	t.Parallel()
	for set, all := range exampleSets(t) {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			reading := slices.DeleteFunc(all, func(e example) bool { return !e.tool.Hints.ReadOnly })
			for _, group := range groupExamples(reading) {
				t.Run(group[0].tool.Name, func(t *testing.T) { checkUnchanged(t, group) })
			}
		})
	}
}

// checkUnchanged calls examples in one workspace, and compares it after each call and after it is
// closed.
func checkUnchanged(t *testing.T, group []example) {
	t.Helper()
	var s *workspace
	var before map[string]string
	unchanged := func(t *testing.T) {
		t.Helper()
		if diff := cmp.Diff(before, s.tree()); diff != "" {
			t.Errorf("the workspace changed: -before +after:\n%s", diff)
		}
	}
	s = newWorkspace(t, group[0].Given)
	replay{frontend: inProcess}.setUp(t, s, group[0])
	before = s.tree()
	t.Run("open", func(t *testing.T) {
		do := inProcess.open(t, s, group[0].set.Name, modeOf(group[0].Example))
		for _, e := range group {
			t.Run(e.String(), func(t *testing.T) {
				e.call(t, do)
				unchanged(t)
			})
		}
	})
	unchanged(t)
}

// previousStateFields are the fields that describe the state before the call, so they differ when
// it is repeated.
var previousStateFields = []string{"mode", "existed", "message", "note"}

// TestIdempotentToolsMayBeRepeated checks that a repeated call of an idempotent tool has the same
// answer and changes nothing more. A destructive tool may answer that the item is not found.
func TestIdempotentToolsMayBeRepeated(t *testing.T) {
	t.Parallel()
	for set, all := range exampleSets(t) {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			repeatable := slices.DeleteFunc(all, func(e example) bool { return !e.tool.Hints.Idempotent })
			replay{inProcess, newWorkspace, checkIdempotent}.run(t, repeatable)
		})
	}
}

func checkIdempotent(t *testing.T, s *workspace, e example, got toolResult, again func() toolResult) {
	t.Helper()
	plain := func(r toolResult) toolResult {
		text := masked(t, r.text, append(previousStateFields, e.Varies...))
		// Only the first call creates a book.
		return toolResult{strings.Replace(text, `,"note"?`, "", 1), r.failed}
	}
	first, after := plain(got), s.tree()
	second := plain(again())
	gone := e.tool.Hints.Destructive && second.failed && strings.Contains(second.text, e.tool.Errors[contract.NotFound].Code)
	if first != second && !gone {
		t.Errorf("the answers differ:\n%s\n%s", first.text, second.text)
	}
	if diff := cmp.Diff(after, s.tree()); diff != "" {
		t.Errorf("the second call changed the workspace: -first +second:\n%s", diff)
	}
}

// TestExamplesAreComparedExactly checks that masked hides only the varying fields.
func TestExamplesAreComparedExactly(t *testing.T) {
	for _, test := range []struct{ text, varies, want string }{
		{`{"a":1,"t":"x","b":2}`, "t", `{"a":1,"t"?,"b":2}`},
		{`{"t":{"x":[1,2]},"b":{"t":3}}`, "t", `{"t"?,"b":{"t":3}}`},
		{`{"list":[{"id":1,"n":"a"},{"id":2,"n":"b"}]}`, "list[].id", `{"list":[{"id"?,"n":"a"},{"id"?,"n":"b"}]}`},
		{`{"t":"x"}`, "nothing", `{"t":"x"}`},
		{`[{"id":1,"n":"a"},{"id":2,"n":"b"}]`, "[].id", `[{"id"?,"n":"a"},{"id"?,"n":"b"}]`},
	} {
		if got := masked(t, test.text, []string{test.varies}); got != test.want {
			t.Errorf("masked(%s, %s) = %s, want %s", test.text, test.varies, got, test.want)
		}
	}
}
