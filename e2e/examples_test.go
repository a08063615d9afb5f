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
	"remit/internal/contract/catalog"
	"remit/internal/contract/contracttest"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
)

// modeOf is how approval goes in an example: nobody is asked unless it says so.
func modeOf(e contract.Example) string {
	if e.Approve == "" {
		return string(approval.Auto)
	}
	return e.Approve
}

// hiddenSet is the toolset that no list names.
const hiddenSet = "conformance"

// example is an example of a tool, and where it stands.
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

// shares tells whether the example can have its workspace with others: it changes nothing.
func (e example) shares() bool { return e.tool.Hints.ReadOnly && len(e.Before) == 0 }

// exampleSets are the examples of all toolsets, or of those that are named.
func exampleSets(t *testing.T, names ...string) map[string][]example {
	t.Helper()
	sets, err := catalog.Load(hiddenSet)
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

// groups puts examples together that can have one workspace: those that only read the same
// files, and are approved in the same way. Any other has its own.
func groups(all []example) (found [][]example) {
	for _, e := range all {
		at := slices.IndexFunc(found, func(group []example) bool {
			first := group[0]
			return e.shares() && first.shares() && modeOf(e.Example) == modeOf(first.Example) && cmp.Equal(e.Given, first.Given)
		})
		if at < 0 {
			found = append(found, []example{e})
		} else {
			found[at] = append(found[at], e)
		}
	}
	return found
}

// replays is a way to replay examples.
type replays struct {
	front front
	fresh func(t *testing.T, given map[string]string) *space // makes a workspace
	// judge looks at what an example answers; again calls it once more.
	judge func(t *testing.T, s *space, e example, got toolResult, again func() toolResult)
}

// run replays examples of a toolset. Those of a group are called in one open workspace.
func (r replays) run(t *testing.T, all []example) {
	t.Helper()
	for _, group := range groups(all) {
		t.Run(group[0].tool.Name, func(t *testing.T) { // what is opened for a group is closed before the next
			s := r.fresh(t, group[0].Given)
			r.build(t, s, group[0])
			do := r.front.open(t, s, group[0].set.Name, modeOf(group[0].Example))
			for _, e := range group {
				t.Run(e.String(), func(t *testing.T) {
					r.judge(t, s, e, e.call(t, do), func() toolResult { return e.call(t, do) })
				})
			}
		})
	}
}

// build makes the calls that an example builds upon, which nobody is asked about.
func (r replays) build(t *testing.T, s *space, e example) {
	t.Helper()
	if len(e.Before) > 0 {
		t.Run("before", func(t *testing.T) {
			do := r.front.open(t, s, e.set.Name, string(approval.Auto))
			for _, step := range e.Before {
				if got := do(t, step.Tool, step.Arguments.Append(nil)); got.failed {
					t.Fatalf("%s: %s", step.Tool, clip(got.text))
				}
			}
		})
	}
}

// answers are what one example was answered on each front end.
type answers struct {
	mu  sync.Mutex
	all map[string]map[string]toolResult // by example, then front end
}

func (a *answers) add(t *testing.T, e example, front string, got toolResult) {
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
	a.all[e.String()][front] = toolResult{text, got.failed}
}

// compare fails the test if an example was answered in other bytes on one front end than on
// the first.
func (a *answers) compare(t *testing.T, all []example) {
	t.Helper()
	for _, e := range all {
		first := a.all[e.String()][fronts[0].name]
		for front, got := range a.all[e.String()] {
			cannot := e.tool.Task == contract.TaskRequired || strings.Contains(first.text, "did not declare the capability")
			if got != first && (got != incapable || !cannot) {
				t.Errorf("%s: %s and %s differ:\n%s\n%s", e, fronts[0].name, front, first.text, got.text)
			}
		}
	}
}

// Every example holds on every front end, and every front end says it in the same bytes.
func TestExamplesHoldOnEveryFront(t *testing.T) {
	t.Parallel()
	for set, all := range exampleSets(t) {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			var seen answers
			t.Run("on", func(t *testing.T) { // it ends when all front ends have
				for _, f := range fronts {
					t.Run(f.name, func(t *testing.T) {
						t.Parallel()
						replays{f, newSpace, func(t *testing.T, _ *space, e example, got toolResult, _ func() toolResult) {
							seen.add(t, e, f.name, got)
							if got != incapable {
								checkExample(t, e.Example, got)
							}
						}}.run(t, f.can(all))
					})
				}
			})
			seen.compare(t, all)
		})
	}
}

// can leaves out the examples that are not of clients like this.
func (f front) can(all []example) []example {
	return slices.DeleteFunc(slices.Clone(all), func(e example) bool { return f.waits && e.tool.Task == contract.TaskRequired })
}

// checkExample compares an answer with what the contract documents.
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
	if diff := cmp.Diff(exact(t, e, string(want)), exact(t, e, got.text)); diff != "" {
		t.Errorf("-documented +answered:\n%s", diff)
	}
}

// exact decodes an answer without touching its numbers, and with null for whatever
// differs from run to run.
func exact(t *testing.T, e contract.Example, text string) any {
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

// masked blanks the varying fields out of a JSON text and leaves every other byte.
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

// masker walks through a JSON text and knows at every value how it got there.
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

// A tool that says it only reads leaves the workspace as it was, to the byte and
// to the time of the last change.
func TestReadOnlyToolsChangeNothing(t *testing.T) {
	t.Parallel()
	for set, all := range exampleSets(t) {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			reading := slices.DeleteFunc(all, func(e example) bool { return !e.tool.Hints.ReadOnly })
			for _, group := range groups(reading) {
				t.Run(group[0].tool.Name, func(t *testing.T) { leavesAlone(t, group) })
			}
		})
	}
}

// leavesAlone calls examples in one workspace, and looks at it before, after each, and when
// it is closed.
func leavesAlone(t *testing.T, group []example) {
	t.Helper()
	var s *space
	var before map[string]string
	unchanged := func(t *testing.T) {
		t.Helper()
		if diff := cmp.Diff(before, s.tree()); diff != "" {
			t.Errorf("it changed the workspace: -before +after:\n%s", diff)
		}
	}
	s = newSpace(t, group[0].Given)
	replays{front: inProcess}.build(t, s, group[0])
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

// toldOfBefore are the fields in which a tool says how things were before it, which
// after it they are not any more.
var toldOfBefore = []string{"mode", "existed", "message"}

// A tool that says it is idempotent answers a second time as it did the first,
// and changes nothing more. What one takes away is not there any more: to say so is
// an answer, and no effect.
func TestIdempotentToolsMayBeRepeated(t *testing.T) {
	t.Parallel()
	for set, all := range exampleSets(t) {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			repeatable := slices.DeleteFunc(all, func(e example) bool { return !e.tool.Hints.Idempotent })
			replays{inProcess, newSpace, isIdempotent}.run(t, repeatable)
		})
	}
}

func isIdempotent(t *testing.T, s *space, e example, got toolResult, again func() toolResult) {
	t.Helper()
	plain := func(r toolResult) toolResult {
		return toolResult{masked(t, r.text, append(toldOfBefore, e.Varies...)), r.failed}
	}
	first, after := plain(got), s.tree()
	second := plain(again())
	gone := e.tool.Hints.Destructive && second.failed && strings.Contains(second.text, e.tool.Errors[contract.NotFound].Code)
	if first != second && !gone {
		t.Errorf("the answers differ:\n%s\n%s", first.text, second.text)
	}
	if diff := cmp.Diff(after, s.tree()); diff != "" {
		t.Errorf("the second call changed something: -first +second:\n%s", diff)
	}
}

// The instruments of this file must be able to tell a difference.
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
