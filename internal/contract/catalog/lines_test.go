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
		"set\tbooster\t{}\ntool\thello\t2\ntexts\n{}\n":          "read catalog: open contract hello: its text has no tab before the examples",
		"tool\thello\t5\ntexts\n{}\t[]\n":                        stray,
		"set\tbooster\t{}\n\ntexts\n":                            stray,
		"set\tbooster\t{\ntexts\n":                               "read catalog: set booster: expected a quoted key at byte 1",
		"set\tbooster\t{\"shape\":1}\ntool\thello\t0\ntexts\n\n": "read catalog: set booster: shape: json: cannot unmarshal number into Go value of type contract.Shape",
		"set\tbooster\t{}\ntool\thello\t5\n":                     "read catalog: it has no texts",
		"set\tbooster\t{}\ntool\thello\t5\ntexts\n{}\t[]":        "read catalog: tool hello: its text has not the 5 bytes that it should have",
		"set\tbooster\t{}\ntool\thello\t-1\ntexts\n{}\t[]\n":     "read catalog: tool hello: its text has not the -1 bytes that it should have",
		"set\tbooster\t{}\ntool\thello\t\ntexts\n{}\t[]\n":       `read catalog: tool hello: the length of its text: strconv.Atoi: parsing "": invalid syntax`,
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
