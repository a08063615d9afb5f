package books_test

import (
	"strings"
	"testing"
)

// TestNewBooksAreNamed checks that an answer says that a write has created a book, once, and which
// existing book may have been meant.
func TestNewBooksAreNamed(t *testing.T) {
	t.Parallel()
	d := serve(t)
	const png = `"asset_type":"images","filename":"a.png","binary_data":"AAEC"}`
	for _, step := range []struct{ tool, args, within, beside string }{
		{"write_content", `{"book_id":"python","path":"a.md","content":"1"}`, "", ""},
		{"write_content", `{"book_id":"python","path":"b.md","content":"1"}`, "", ""},
		{"write_content", `{"book_id":"cooking","path":"a.md","content":"1"}`, "nearest existing book is python.", ""},
		{"write_content", `{"book_id":"coking","path":"a.md","content":"1"}`, "nearest existing book is cooking.", ""},
		{"write_summary", `{"book_id":"pythons","chapter_id":"chapter-01","content":"1"}`, "nearest existing book is python.", ""},
		{"upload_asset", `{"book_id":"pyton",` + png, "nearest existing book is python.", ""},
		{"upload_asset", `{"book_id":"pyton",` + png, "", ""},
	} {
		answer, result := d.answer(t, step.tool, step.args)
		within, beside := answer.Field("note"), result.Metadata.Field("note")
		if result.Err != nil || !strings.Contains(within.Text, step.within) || (within.Text == "") != (step.within == "") || beside.Text != step.beside {
			t.Errorf("%s %s says %q within the answer and %q beside it; error %v", step.tool, step.args, within.Text, beside.Text, result.Err)
		}
	}
}
