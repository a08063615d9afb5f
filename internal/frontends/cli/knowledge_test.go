package cli

import (
	"bytes"
	"testing"
	"time"

	"remit/internal/toolsets/codebase/knowledge"
)

// TestIndexProgress tells files from pieces, which a service embeds after all files were looked at.
func TestIndexProgress(t *testing.T) {
	for want, state := range map[string]knowledge.State{
		"remit: indexing: 3 of 10 files\n":    {Done: 3, Total: 10, Waiting: 7, Pieces: 40, Unembedded: 40},
		"remit: indexing: 30 of 400 pieces\n": {Done: 10, Total: 10, Pieces: 400, Unembedded: 370},
		"remit: indexing: 10 of 10 files\n":   {Done: 10, Total: 10, Pieces: 400},
	} {
		var out bytes.Buffer
		lines := &progressLines{out: &out, said: time.Now().Add(-lineEvery)}
		lines.tell(indexProgress(state))
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
