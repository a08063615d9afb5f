package contract_test

import (
	"encoding/json"
	"strings"
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
