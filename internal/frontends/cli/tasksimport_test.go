package cli

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestTaskFileFields checks that a misspelt field is named, and that a file of a Windows program is
// read.
func TestTaskFileFields(t *testing.T) {
	for text, want := range map[string][]string{
		`[{"title":"x","due_dat":"2026-01-01"},{"Title":"y","tags":[]},null]`:                      {"due_dat", "tags"},
		"\xef\xbb\xbf" + `{"tasks":[{"title":"x","id":1,"claim":null,"created_at":""}],"total":1}`: nil,
	} {
		file, err := parseTaskFile([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, file.ignored, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

// FuzzTaskFile checks that any file is parsed or refused, and that what was parsed can be added.
func FuzzTaskFile(f *testing.F) {
	for _, seed := range []string{
		`{"tasks":[]}`, `{"tasks":[{"id":1,"title":"x","priority":"High","due_date":"2026-01-01","depends_on":[2],"completed":true}]}`,
		`{"tasks":null}`, `[]`, `{"tasks":[null]}`, `{"tasks":[{"id":"1"}]}`, `{"tasks":[{"id":9223372036854775808}]}`, "\xef\xbb\xbf{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parseTaskFile(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		copied, err := parseTaskFile(again)
		if err != nil {
			t.Fatal(err)
		}
		for i := range file.Tasks {
			if task := &file.Tasks[i]; task.key("ada") != copied.Tasks[i].key("ada") || len(task.arguments()) == 0 {
				t.Errorf("task %d differs after a copy", i)
			}
		}
	})
}
