package catalog

import (
	"testing"

	"remit/internal/contract"
)

// TestReadLinesRefuses: only go generate writes such a file, so it need not be told
// more than that it is none.
func TestReadLinesRefuses(t *testing.T) {
	const stray = "read catalog: there is a line that is neither a set nor a tool of one"
	for data, want := range map[string]string{
		"set\tbooster\t{}\ntool\thello\t{}\n":      "read catalog: open contract hello: its text has no tab before the examples",
		"tool\thello\t{}\t[]\n":                    stray,
		"set\tbooster\t{}\n\n":                     stray,
		"set\tbooster\t{\n":                        "read catalog: set booster: expected a quoted key at byte 1",
		"set\tbooster\t{\"shape\":1}\ntool\thello": "read catalog: set booster: shape: json: cannot unmarshal number into Go value of type contract.Shape",
	} {
		if _, err := readLines([]byte(data), contract.Opened); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", data, err, want)
		}
	}
}

// TestLoadClosed: a start reads no contract.
func TestLoadClosed(t *testing.T) {
	sets, err := LoadClosed("conformance")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		if set.Title == "" || len(set.Contracts) == 0 {
			t.Errorf("set %s is empty", set.Name)
		}
		for _, c := range set.Contracts {
			if !c.MadeClosed() || c.Digest != "" || c.Set != set.Name || c.Shape != set.Shape {
				t.Errorf("%s/%s: %+v", c.Set, c.Name, c.Digest)
			}
		}
	}
}
