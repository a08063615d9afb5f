package e2e

import (
	"regexp"
	"testing"

	"remit/internal/contract"
)

// kept is where a book is kept, as answers tell it.
var kept = regexp.MustCompile(`"storage_backend":"(fs|s3)"|uses (fs|s3) storage|\((s3://bucket/prefix|file://folder)\)`)

// Every example of the book tools holds on S3 too, and is answered in the bytes that
// it is answered with on disk, but for the name of the store.
func TestS3AnswersAsDiskDoes(t *testing.T) {
	t.Parallel()
	all := exampleSets(t, "books")["books"]
	onDisk, onS3 := answersIn(t, "disk", newSpace, checkExample, all), answersIn(t, "S3", newS3Space, checkOutcome, all)
	for _, e := range all {
		want, got := onDisk[e.String()], onS3[e.String()]
		if kept.ReplaceAllString(got.text, "?") != kept.ReplaceAllString(want.text, "?") || got.failed != want.failed || want.text == "" {
			t.Errorf("%s: disk and S3 differ:\n%s\n%s", e, want.text, got.text)
		}
	}
}

// checkOutcome compares with the contract whether the call failed; the answer names the store.
func checkOutcome(t *testing.T, e contract.Example, got toolResult) {
	t.Helper()
	if got.failed != (e.Error.Members != nil) {
		t.Errorf("failed is %t: %s", got.failed, clip(got.text))
	}
}

// answersIn gives what examples are answered by the engine, without what may differ.
func answersIn(t *testing.T, where string, fresh func(t *testing.T, given map[string]string) *space,
	check func(t *testing.T, e contract.Example, got toolResult), all []example,
) map[string]toolResult {
	t.Helper()
	found := map[string]toolResult{}
	t.Run(where, func(t *testing.T) {
		replays{inProcess, fresh, func(t *testing.T, _ *space, e example, got toolResult, _ func() toolResult) {
			check(t, e.Example, got)
			found[e.String()] = toolResult{masked(t, got.text, e.Varies), got.failed}
		}}.run(t, all)
	})
	return found
}
