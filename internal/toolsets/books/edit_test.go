package books_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/toolsets/books"
)

// edits stores a text and returns the text after an edit, or the message of the error.
func (d *testServer) edits(t *testing.T, text, what string) string {
	t.Helper()
	d.given(t, "books/abc/a.md", text)
	answer := d.call(t, "edit_content", fmt.Sprintf(`{"book_id":"abc","path":"a.md","file_hash":%q,%s}`, hash(text), what))
	if message := answer.Field("message"); message.Text != "" {
		return message.Text
	}
	content := d.does(t, "read_content", `{"book_id":"abc","path":"a.md"}`)
	after := content.Field("content")
	return after.Text
}

func TestEdits(t *testing.T) {
	t.Parallel()
	d := serve(t)
	for _, tc := range []struct{ name, text, what, want string }{
		{"at the beginning", "a b", `"old_text":"a","new_text":"x"`, "x b"},
		{"overlapping occurrences", "aaa", `"old_text":"aa","new_text":"x"`, "old_text occurs more than once in books/abc/a.md, in lines 1 and 1 at least; include more of the text around it"},
		{"over lines that end with CRLF", "a\r\nb\r\nc\r\n", `"old_text":"a\nb","new_text":"x\ny"`, "x\r\ny\r\nc\r\n"},
		{"over lines with both ends", "a\r\nb\n", `"old_text":"a\nb","new_text":"x"`, "old_text does not occur in books/abc/a.md; copy it from the answer of read_content, with its white space"},
		{"removal", "a b c", `"old_text":" b","new_text":""`, "a c"},
		{"section with subsections", "# A\n\nx\n\n## B\n\ny\n\n### C\n\nz\n\n## D\n", `"heading":"B","new_text":"\nnew\n\n"`, "# A\n\nx\n\n## B\n\nnew\n\n## D\n"},
		{"last section", "# A\n\nx", `"heading":"# A","new_text":"new"`, "# A\n\nnew\n"},
		{"section before a higher level", "## A\nx\n# B\n", `"heading":"A","new_text":"new"`, "## A\n\nnew\n\n# B\n"},
		{"empty section", "# A\n\nx\n\n# B\n", `"heading":"A","new_text":""`, "# A\n\n# B\n"},
		{"underlined heading", "A\n===\nx\n\nB\n===\ny\n", `"heading":"A","new_text":"new"`, "A\n===\n\nnew\n\nB\n===\ny\n"},
		{"heading in code", "# A\n```\n# B\n```\nx\n", `"heading":"B","new_text":"new"`, `books/abc/a.md has no heading "B"`},
		{"heading with markup", "# The `x` *flag*\ny\n", `"heading":"The x flag","new_text":"new"`, "# The `x` *flag*\n\nnew\n"},
		{"heading as it is written", "# The `x` *flag*\ny\n", "\"heading\":\"# The `x` *flag*\",\"new_text\":\"new\"", "# The `x` *flag*\n\nnew\n"},
		{"equal headings", "# A\n## B\n## A\n", `"heading":"A","new_text":""`, `books/abc/a.md has several headings "A", in lines 1, 3; use old_text, or put the # signs of its level in front`},
		{"equal headings by level", "# A\nx\n## A\ny\n## C\n", `"heading":"## A","new_text":"new"`, "# A\nx\n## A\n\nnew\n\n## C\n"},
		{"section with CRLF", "# A\r\nx\r\n# B\r\n", `"heading":"A","new_text":"1\n2"`, "# A\r\n\r\n1\r\n2\r\n\r\n# B\r\n"},
		{"front matter", "---\ntitle: A\n---\n# A\nx\n", `"heading":"A","new_text":"new"`, "---\ntitle: A\n---\n# A\n\nnew\n"},
		{"both", "a", `"old_text":"a","heading":"a","new_text":"b"`, "Send exactly one of old_text (the text to replace) and heading (the heading of the section to replace)"},
		{"too long", strings.Repeat("a", 1<<20) + "b", `"old_text":"b","new_text":"cc"`, "The file would have 1048578 bytes; at most 1048576 are allowed"},
	} {
		if got := d.edits(t, tc.text, tc.what); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestEditedSummariesHaveTheLimitOfSummaries(t *testing.T) {
	t.Parallel()
	d := serve(t)
	const at = `{"book_id":"abc","path":"chapters/chapter-01/.summary.md",`
	d.does(t, "write_content", at+`"content":"ab"}`)
	answer := d.call(t, "edit_content", fmt.Sprintf(at+`"file_hash":%q,"old_text":"a","new_text":%q}`, hash("ab"), strings.Repeat("x", 100<<10)))
	if got := text(answer.Field("max")); got != "102400" {
		t.Errorf("the answer is %s", text(answer))
	}
}

// TestOneOfManyEditsWins checks that edits of the same version exclude each other.
func TestOneOfManyEditsWins(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, newBed func() *bed) {
		d := serve(t)
		d.stores.Main = newBed().store
		d.does(t, "write_content", `{"book_id":"abc","path":"a.md","content":"one"}`)
		var won atomic.Int32
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				_, result := d.answer(t, "edit_content", fmt.Sprintf(`{"book_id":"abc","path":"a.md","file_hash":%q,"old_text":"one","new_text":"%d"}`, hash("one"), i))
				switch {
				case result.Err == nil:
					won.Add(1)
				case contract.AsError(result.Err).Kind != contract.Conflict:
					t.Errorf("%s", result.Body)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("%d edits succeeded", won.Load())
		}
	})
}

// TestEditsAreAsStrictAsWrites checks that the operator's rules for write_content hold for
// edit_content too.
func TestEditsAreAsStrictAsWrites(t *testing.T) {
	t.Parallel()
	for _, rule := range []contract.Tightening{
		{Approval: true, Rate: contract.Rate{Requests: 1, Per: time.Minute}, Title: "Write"}, {Hide: true},
	} {
		sets, err := contract.LoadAll(os.DirFS("contracts"))
		if err == nil {
			sets, err = contract.Tighten(sets, map[string]contract.Tightening{"write_content": rule})
		}
		if err != nil {
			t.Fatal(err)
		}
		c := sets[0].Find("edit_content")
		if rule.Hide != (c == nil) || c != nil && (!c.Approval.Required || c.Rate != rule.Rate || c.Title == rule.Title) {
			t.Errorf("with the rule %+v for write_content, edit_content is %+v", rule, c)
		}
	}
}

// TestEditsAreShown checks that a person sees the text before and after an edit.
func TestEditsAreShown(t *testing.T) {
	t.Parallel()
	d := serve(t)
	const before = "# A\n\none\n"
	d.does(t, "write_content", `{"book_id":"abc","path":"a.md","content":"# A\n\none\n"}`)
	tools := &books.Tools{Library: d.library}
	in := books.EditContentIn{BookID: "abc", Path: "a.md", FileHash: hash(before), Heading: new("A"), NewText: "two"}
	shown, err := tools.ShowEditContent(t.Context(), in)
	want := approval.Shown{State: hash(before), Title: "Edit books/abc/a.md", Before: before, After: "# A\n\ntwo\n"}
	if err != nil || shown != want {
		t.Errorf("a person sees %+v, error %v", shown, err)
	}
	in.FileHash = hash("other")
	if _, err := tools.ShowEditContent(t.Context(), in); contract.AsError(err).Kind != contract.Conflict {
		t.Errorf("for another version: %v", err)
	}
}
