package cli

import (
	"bytes"
	"testing"
	"time"

	"remit/internal/toolsets/codebase/knowledge"
)

// TestIndexProgress checks that progress counts files first, and then the chunks that a service
// embeds.
func TestIndexProgress(t *testing.T) {
	for want, state := range map[string]knowledge.State{
		"remit: indexing: 3 of 10 files\n":    {Done: 3, Total: 10, Waiting: 7, Chunks: 40, Unembedded: 40},
		"remit: indexing: 30 of 400 chunks\n": {Done: 10, Total: 10, Chunks: 400, Unembedded: 370},
		"remit: indexing: 10 of 10 files\n":   {Done: 10, Total: 10, Chunks: 400},
	} {
		var out bytes.Buffer
		lines := &progressLines{out: &out, printed: time.Now().Add(-lineEvery)}
		lines.update(indexProgress(state))
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
