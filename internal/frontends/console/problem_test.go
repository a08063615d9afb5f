package console

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestBrowserLeaves checks that a page is no failure if the browser no longer waits for it.
func TestBrowserLeaves(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	ctx, leave := context.WithCancel(t.Context())
	w := httptest.NewRecorder()
	v := &visit{
		Console: &Console{Log: slog.New(slog.NewTextHandler(&log, nil))},
		w:       w, r: httptest.NewRequestWithContext(ctx, http.MethodGet, "/console/approvals/x/state", nil), clientCtx: ctx,
	}
	leave()
	v.fail(errors.New("get approval: context canceled"))
	if log.Len() > 0 || w.Body.Len() > 0 {
		t.Errorf("logged %q, answered %q", log.String(), w.Body)
	}
}
