package engine_test

import (
	"context"
	"testing"

	"remit/internal/contract"
)

// TestFailureRecords checks that the record of a failed call has its code and words, without what
// the record of its arguments hides, and that no other record has any.
func TestFailureRecords(t *testing.T) {
	r := newRig(t, nil)
	r.handler = func(_ context.Context, in noteIn) (noteOut, error) {
		if in.Text == "new" {
			return noteOut{}, nil
		}
		return noteOut{}, contract.Errorf(contract.Conflict, "%q is taken", in.Text)
	}
	for _, test := range []struct{ args, code, message string }{
		{`{"path":"a.md","text":"new"}`, "", ""},
		{`{"path":"a.md","text":"old"}`, "409", `"old" is taken`},
		{`{"path":"a.md","text":"rude"}`, "400", "be polite"},
		{`{"path":"a.md","text":"x","secret_word":"known argument"}`, "400", `"secret_word" is not a (redacted) (known: path, text, times)`},
	} {
		r.callAs(t, t.Context(), "caller of "+test.args, test.args)
		record := r.records[len(r.records)-1]
		if record.Code != test.code || record.Message != test.message {
			t.Errorf("%s: code %q and message %q, want %q and %q", test.args, record.Code, record.Message, test.code, test.message)
		}
	}
	r.passErr = contract.Errorf(contract.Pending, "A person has to approve this call")
	r.callAs(t, t.Context(), "another", good)
	if record := r.records[len(r.records)-1]; record.Message != "" || record.Code != "" {
		t.Errorf("a call that waits has the error %q", record.Message)
	}
}
