package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinksAfterPutBackData puts back the data folder from before an upload link was used and a
// token was revoked: neither works again.
func TestLinksAfterPutBackData(t *testing.T) {
	t.Parallel()
	content := largeAsset()
	s := newWorkspace(t, nil)
	s.ownKeys()
	live := s.token("--name", "live", "--scopes", "books:read,books:write")
	gone := s.token("--name", "gone", "--scopes", "books:read,books:write")
	w := s.serve("--toolsets", "books", "--log-level", "error")
	as := func(token string) bookCaller {
		return func(tool, args string) []byte { return w.post("/tools/"+tool, args, bearer(token)).body }
	}
	used, _ := issueLinks(t, len(content), as(live))
	upload, archive := issueLinks(t, len(content), as(gone))
	first := w.url
	w.end()
	backup := filepath.Join(t.TempDir(), "backup")
	s.copyFolder(s.path(".remit"), backup)

	w = s.serve("--toolsets", "books", "--log-level", "error")
	here := func(link string) string { return w.url + strings.TrimPrefix(link, first) }
	if got := fetch(t, http.MethodPut, here(used), nil, content); got.status != http.StatusCreated {
		t.Fatalf("upload: %d %s", got.status, clip(got.body))
	}
	s.mustRun("token", "revoke", "gone")
	w.end()
	s.copyFolder(backup, s.path(".remit"))

	w = s.serve("--toolsets", "books", "--log-level", "error")
	expectRefused(t, http.MethodPut, here(used), content, "used already")
	expectRefused(t, http.MethodPut, here(upload), content, `its token "gone" is revoked`)
	expectRefused(t, http.MethodGet, here(archive), nil, `its token "gone" is revoked`)
	if got := w.get("/cdn/books/linked-book/assets/videos/talk.mp4", bearer(live)); got.status != http.StatusNotFound {
		t.Errorf("the upload was stored again: %d", got.status)
	}
	w.kill()
}
