package e2e

import (
	"regexp"
	"testing"

	"remit/internal/contract"
)

// storeName matches the parts of answers that name the store of a book.
var storeName = regexp.MustCompile(`"storage_backend":"(fs|s3)"|uses (fs|s3) storage|\((s3://bucket/prefix|file://folder)\)`)

// TestS3AnswersEqualDisk checks that every example of the book tools passes on S3, and that the
// answers equal those on disk, byte for byte, except for the name of the store.
func TestS3AnswersEqualDisk(t *testing.T) {
	t.Parallel()
	all := exampleSets(t, "books")["books"]
	onDisk, onS3 := answersIn(t, "disk", newWorkspace, checkExample, all), answersIn(t, "S3", newS3Workspace, checkOutcome, all)
	for _, e := range all {
		want, got := onDisk[e.String()], onS3[e.String()]
		if storeName.ReplaceAllString(got.text, "?") != storeName.ReplaceAllString(want.text, "?") || got.failed != want.failed || want.text == "" {
			t.Errorf("%s: disk and S3 differ:\n%s\n%s", e, want.text, got.text)
		}
	}
}

// checkOutcome checks whether the call failed as the contract says. It does not compare the answer,
// because that names the store.
func checkOutcome(t *testing.T, e contract.Example, got toolResult) {
	t.Helper()
	if got.failed != (e.Error.Members != nil) {
		t.Errorf("failed is %t: %s", got.failed, clip(got.text))
	}
}

// answersIn returns the engine's answers to examples, without the fields that may vary.
func answersIn(t *testing.T, where string, fresh func(t *testing.T, given map[string]string) *workspace,
	check func(t *testing.T, e contract.Example, got toolResult), all []example,
) map[string]toolResult {
	t.Helper()
	found := map[string]toolResult{}
	t.Run(where, func(t *testing.T) {
		replay{inProcess, fresh, func(t *testing.T, _ *workspace, e example, got toolResult, _ func() toolResult) {
			check(t, e.Example, got)
			found[e.String()] = toolResult{masked(t, got.text, e.Varies), got.failed}
		}}.run(t, all)
	})
	return found
}
