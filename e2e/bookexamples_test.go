package e2e

import (
	"regexp"
	"testing"

	"remit/internal/contract"
)

// kept is where a book is kept, as answers tell it.
var kept = regexp.MustCompile(`"storage_backend":"(fs|s3)"|of the kind (fs|s3)|\((s3://bucket/prefix|file://folder)\)`)

// Every example of the book tools holds on S3 too, and is answered in the bytes that
// it is answered with on disk, but for the name of the store.
func TestS3AnswersAsDiskDoes(t *testing.T) {
	t.Parallel()
	eachExample(t, func(t *testing.T, set *contract.Set, c *contract.Contract, e contract.Example) {
		if set.Name != "books" {
			t.Skip("it keeps nothing in a library")
		}
		want := answerOf(t, func(t *testing.T) *space { return newSpace(t, e.Given) }, onCommandLine, set, c, e)
		for _, f := range distinctFaces {
			if got := answerOf(t, func(t *testing.T) *space { return newS3Space(t, e.Given) }, f, set, c, e); got != want {
				t.Errorf("%s: disk and S3 differ:\n%s\n%s", f.name, want, got)
			}
		}
	})
}

// answerOf is the answer to an example without what may differ.
func answerOf(t *testing.T, fresh func(t *testing.T) *space, f face, set *contract.Set, c *contract.Contract, e contract.Example) string {
	t.Helper()
	got := replay(t, fresh, f, set, c, e)
	if got.failed != (e.Error.Members != nil) {
		t.Errorf("%s: failed is %t: %s", f.name, got.failed, clip(got.text))
	}
	return kept.ReplaceAllString(masked(t, got.text, e.Varies), "?")
}
