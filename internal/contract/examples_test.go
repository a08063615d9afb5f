package contract_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"remit/internal/contract"
)

// examples reads those of a contract.
func examples(t testing.TB, c *contract.Contract) []contract.Example {
	t.Helper()
	list, err := c.Examples.All()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestExamples: they are the same written in Go, kept as JSON and read back.
func TestExamples(t *testing.T) {
	made := contract.ExamplesOf(contract.Example{Title: "One <b>", Arguments: tree(t, `{"b":1,"a":1.50}`)})
	data, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	var kept contract.Examples
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(kept)
	if err != nil || string(again) != string(data) {
		t.Errorf("%s became %s, %v", data, again, err)
	}
	list, err := kept.All()
	if err != nil || len(list) != 1 || list[0].Title != "One <b>" || string(list[0].Arguments.Append(nil)) != `{"b":1,"a":1.50}` {
		t.Errorf("All = %v, %v", list, err)
	}
	for _, bad := range []string{`{"title":1}`, `[{"title":1}]`} {
		if err := json.Unmarshal([]byte(bad), &kept); err != nil {
			t.Fatal(err)
		}
		if _, err := kept.All(); err == nil || !strings.HasPrefix(err.Error(), "read examples: ") {
			t.Errorf("%s gives %v", bad, err)
		}
	}
}

// TestClosed: a contract that was closed and opened says what it said, whoever opens it.
func TestClosed(t *testing.T) {
	for _, set := range published(t) {
		for _, c := range set.Contracts {
			text, err := c.Compact()
			if err != nil {
				t.Fatal(err)
			}
			if open, err := contract.Opened(c.Name, text); err != nil || open.Digest != c.Digest || open.MadeClosed() {
				t.Errorf("Opened: %v", err)
			}
			closed := contract.Closed(c.Name, text)
			closed.Set, closed.Shape = c.Set, c.Shape
			var group sync.WaitGroup
			for range 4 {
				group.Go(func() {
					if err := closed.Open(); err != nil || closed.Digest != c.Digest {
						t.Errorf("Open: %v", err)
					}
				})
			}
			group.Wait()
			if changes := contract.Compare(c, closed); len(changes) > 0 || len(examples(t, closed)) != len(examples(t, c)) {
				t.Errorf("%s/%s changed: %v", c.Set, c.Name, changes)
			}
		}
	}
}

func TestClosedTextThatIsNone(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                     "open contract hello: its text has no tab before the examples",
		"{\t[]":                  "open contract hello: expected a quoted key at byte 1",
		"{\"name\":\"bye\"}\t[]": "open contract hello: its text has a name of its own",
		"{\"access\":1}\t[]":     "open contract hello: access: json: cannot unmarshal number into Go value of type contract.Access",
	} {
		c := contract.Closed("hello", []byte(text))
		for range 2 { // the answer is final
			if err := c.Open(); err == nil || err.Error() != want {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
		}
	}
}
