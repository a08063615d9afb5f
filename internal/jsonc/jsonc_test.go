package jsonc

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// A text that can be parsed is packed to the same bytes.
func TestParse(t *testing.T) {
	for _, text := range []string{
		"", "\ufeff", " \n", "// c", "/* c */", "{}", "\ufeff{}", "\ufeff // c\n[1, 2,] // d", "{\"a\": 1, // b\r\n}\r\n",
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth),
		`["` + strings.Repeat("[", 2*MaxDepth) + `\"` + strings.Repeat("{", 2*MaxDepth) + `"]`,
		"[ // " + strings.Repeat("[", 2*MaxDepth) + "\n /*" + strings.Repeat("{", 2*MaxDepth) + "*/ 1]",
		strings.Repeat("[],", 2*MaxDepth),
	} {
		if strings.HasSuffix(text, "[],") {
			text = "[" + text + "]"
		}
		root, err := Parse([]byte(text))
		if err != nil || string(root.Pack()) != text {
			t.Errorf("%.80q: %.80q, %v", text, root.Pack(), err)
		}
		if isEmpty := !strings.ContainsAny(text, "{["); isEmpty != (root.Value == nil) {
			t.Errorf("%.80q: the value is %v", text, root.Value)
		}
	}
	root, err := Parse([]byte("\ufeff {}"))
	if err != nil || root.StartOffset != 4 || root.EndOffset != 6 {
		t.Errorf("%+v, %v", root, err)
	}
}

// Every syntax error has an offset, whatever the text nests, and its message never quotes the text.
func TestParseRejects(t *testing.T) {
	for _, tc := range []struct {
		text, reason string
		offset       int
	}{
		{strings.Repeat("[", 1<<20), "objects and arrays are nested too deeply", MaxDepth},
		{strings.Repeat(`{"a":`, 1<<20), "objects and arrays are nested too deeply", MaxDepth * 5},
		{"\ufeff" + strings.Repeat("/**/[", 600), "objects and arrays are nested too deeply", 3 + MaxDepth*5 + 4},
		{strings.Repeat("]", 600) + strings.Repeat("[", 600), "a value belongs here", 0},
		{"[1 2]", "a comma or ']' belongs here", 3},
		{"{\"a\": \"\\hunter2\"}", "this string is invalid", 6},
		{"{\"a\": hunter2}", "a value belongs here", 6},
		{"{7: 1}", "a name in double quotes belongs here", 1},
		{"[\n1", "the text ends here, but ']' is missing", 3},
		{"// \xff\n{}", "a comment must be UTF-8", 0},
		{"{} /", "unexpected text after the end of the value", 3},
	} {
		_, err := Parse([]byte(tc.text))
		var got *SyntaxError
		if !errors.As(err, &got) || got.Offset != tc.offset || got.Reason != tc.reason || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.40q: %v, want %s at %d", tc.text, err, tc.reason, tc.offset)
		}
	}
}

// FuzzParse checks that nothing panics, that the offset of an error lies within the text, and that
// packing gives the same bytes.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "{}", "// x", "\ufeff[1,/**/]", "{\"a\":{\"b\":[tru]}}", "{\"a\"\n:\"\\"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		root, err := Parse(text)
		var wrong *SyntaxError
		switch {
		case !bytes.Equal(before, text):
			t.Errorf("%q became %q", before, text)
		case err == nil && !bytes.Equal(root.Pack(), text):
			t.Errorf("%q became %q", text, root.Pack())
		case err != nil && (!errors.As(err, &wrong) || wrong.Offset < 0 || wrong.Offset > len(text)):
			t.Errorf("%q: %v", text, err)
		}
	})
}
