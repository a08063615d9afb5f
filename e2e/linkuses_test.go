package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"remit/internal/stores/sqlstore/pgtest"
)

// issueLinks returns an upload link for content of this size, and an archive link.
func issueLinks(t *testing.T, size int, call bookCaller) (upload, archive string) {
	t.Helper()
	small := base64.StdEncoding.EncodeToString(onePixel)
	stored := parseBookAnswer(t, call("upload_asset", fmt.Sprintf(`{"book_id":"linked-book","asset_type":"images","filename":"a.png","binary_data":%q}`, small)))
	video := `{"book_id":"linked-book","asset_type":"videos","filename":"talk.mp4","file_size":%d}`
	upload = parseBookAnswer(t, call("upload_asset", fmt.Sprintf(video, size))).UploadURL
	archive = parseBookAnswer(t, call("get_book_archive", `{"book_id":"linked-book"}`)).Archive
	if stored.CDN == "" || upload == "" || archive == "" {
		t.Fatalf("got %+v, upload %q, archive %q", stored, upload, archive)
	}
	return upload, archive
}

// linkRecord is an audit record of the use of a link.
type linkRecord struct {
	Principal, Tool, Outcome string
	Arguments                struct {
		Path, Address, Reason, Link string
		Size                        int64
		LeftOut                     int `json:"left_out"`
	}
	Bytes int64
}

// linkRecords returns the records of a kind of link, the newest first.
func (s *workspace) linkRecords(tool string) (records []linkRecord) {
	s.t.Helper()
	got := s.remit(append([]string{"audit", "list", "--json", "--limit", "1000", "--tool", tool}, s.flags()...)...)
	if err := json.Unmarshal([]byte(got.out), &records); err != nil || got.code != 0 {
		s.t.Fatalf("audit list: exit %d, %v: %s%s", got.code, err, clip(got.out), clip(got.errOut))
	}
	return records
}

// expectRefused checks that a link is refused with 403 and a sentence.
func expectRefused(t *testing.T, method, link string, body []byte, says string) {
	t.Helper()
	got := fetch(t, method, link, nil, body)
	if a := parseBookAnswer(t, got.body); got.status != http.StatusForbidden || a.Error != "InvalidLinkError" || !strings.Contains(a.Message, says) {
		t.Errorf("%s: %d %s, want 403 and %q", method, got.status, clip(got.body), says)
	}
}

// TestLinksEndWithToken checks that links of a token are refused once it is revoked, and that each
// use has a record.
func TestLinksEndWithToken(t *testing.T) {
	t.Parallel()
	content := largeAsset()
	onEachLibrary(t, func(t *testing.T, s *workspace) {
		ci := s.token("--name", "ci", "--scopes", "books:read,books:write", "--expires", "10m")
		s.token("--name", "other", "--scopes", "books:read")
		w := s.serve("--toolsets", "books")
		call := func(tool, args string) []byte { return w.post("/tools/"+tool, args, bearer(ci)).body }
		upload, archive := issueLinks(t, len(content), call)
		var lives struct {
			Seconds int `json:"valid_for_seconds"`
		}
		s.check(json.Unmarshal(call("get_book_archive", `{"book_id":"linked-book"}`), &lives))
		if lives.Seconds < 1 || lives.Seconds > 600 {
			t.Errorf("the link of a token for 10 minutes lives for %d s", lives.Seconds)
		}
		if got := fetch(t, http.MethodGet, archive, nil, nil); got.status != http.StatusOK {
			t.Fatalf("archive: %d %s", got.status, clip(got.body))
		}
		cdn := "/cdn/books/linked-book/assets/images/a.png"
		for header, want := range map[*http.Header]int{{}: http.StatusUnauthorized, {"Authorization": {"Bearer " + ci}}: http.StatusOK} {
			if got := w.get(cdn, *header); got.status != want {
				t.Errorf("asset with %v: %d", *header, got.status)
			}
		}
		if got := s.remit("token", "revoke", "ci"); got.code != 0 {
			t.Fatalf("revoke: %s", got.errOut)
		}
		expectRefused(t, http.MethodGet, archive, nil, `its token "ci" is revoked`)
		expectRefused(t, http.MethodPut, upload, content, `its token "ci" is revoked`)
		if got := w.get(cdn, bearer(ci)); got.status != http.StatusUnauthorized {
			t.Errorf("asset with a revoked token: %d", got.status)
		}
		w.end()
		for tool, outcomes := range map[string]string{
			"links/archive": "denied agent:ci, ok agent:ci", "links/upload": "denied agent:ci", "links/asset": "denied , ok agent:ci",
		} {
			var found []string
			for _, r := range s.linkRecords(tool) {
				found = append(found, r.Outcome+" "+r.Principal)
				if r.Arguments.Address != "127.0.0.1" || r.Arguments.Path == "" || r.Outcome == "ok" && r.Bytes == 0 {
					t.Errorf("recorded %+v", r)
				}
			}
			slices.Sort(found)
			if got := strings.Join(found, ", "); got != outcomes {
				t.Errorf("%s: recorded %q, want %q", tool, got, outcomes)
			}
		}
		s.verifyAudit()
	})
}

// TestUploadLinkWorksOnce checks that of many clients that use an upload link at once, through two
// servers, exactly one stores its content, and that the link is dead afterwards.
func TestUploadLinkWorksOnce(t *testing.T) {
	t.Parallel()
	content := largeAsset()
	check := func(t *testing.T, s *workspace) {
		flags := append(s.flags(), "--toolsets", "books")
		servers := []*httpServer{s.serve(flags...), s.serve(flags...)}
		call := func(tool, args string) []byte { return servers[0].post("/tools/"+tool, args, nil).body }
		upload, _ := issueLinks(t, len(content), call)
		_, signed, _ := strings.Cut(upload, "/upload/")
		if status := tryRequest(t, http.MethodPut, upload, content[1:]); status != 0 && status < 400 {
			t.Errorf("a shorter body: %d", status)
		}
		const clients = 4
		var all sync.WaitGroup
		statuses := make([]int, clients)
		for i := range clients {
			body := slices.Clone(content)
			body[0] = byte(i)
			all.Go(func() { statuses[i] = tryRequest(t, http.MethodPut, servers[i%2].url+"/upload/"+signed, body) })
		}
		all.Wait()
		winner := slices.Index(statuses, http.StatusCreated)
		if winner < 0 || slices.Contains(statuses[winner+1:], http.StatusCreated) {
			t.Fatalf("the statuses are %v", statuses)
		}
		expectRefused(t, http.MethodPut, upload, content, "used already")
		got := fetch(t, http.MethodGet, servers[0].url+"/cdn/books/linked-book/assets/videos/talk.mp4", nil, nil)
		if len(got.body) != len(content) || got.body[0] != byte(winner) {
			t.Errorf("%d bytes are stored, those of another than %d", len(got.body), winner)
		}
		for _, w := range servers {
			w.end()
		}
		var stored, refused int
		for _, r := range s.linkRecords("links/upload") {
			switch r.Outcome {
			case "ok":
				stored++
				if r.Principal != "local" || r.Arguments.Size != int64(len(content)) || r.Arguments.Link == "" {
					t.Errorf("recorded %+v", r)
				}
			case "denied":
				refused++
			}
		}
		if stored != 1 || refused == 0 {
			t.Errorf("%d uploads are recorded as stored, %d as refused", stored, refused)
		}
		if got := s.remit(append([]string{"audit", "verify"}, s.flags()...)...); got.code != 0 {
			t.Errorf("audit verify: exit %d\n%s%s", got.code, got.out, got.errOut)
		}
	}
	onEachLibrary(t, check)
	t.Run("PostgreSQL", func(t *testing.T) {
		s := newWorkspace(t, nil)
		s.database = pgtest.Database(t)
		check(t, s)
	})
}

// TestLinksAfterIdentity checks that links of anonymous callers end when callers need a token, and
// that a client over stdio, which needs none, can then get new ones.
func TestLinksAfterIdentity(t *testing.T) {
	t.Parallel()
	content := largeAsset()
	s := newWorkspace(t, nil)
	w, r := s.serve("--toolsets", "books"), s.stdio("--toolsets", "books")
	overStdio := func(tool, args string) []byte { return []byte(r.call(tool, args).text) }
	links := map[string][2]string{}
	for via, call := range map[string]bookCaller{
		"HTTP": func(tool, args string) []byte { return w.post("/tools/"+tool, args, nil).body }, "stdio": overStdio,
	} {
		upload, archive := issueLinks(t, len(content), call)
		if got := fetch(t, http.MethodGet, archive, nil, nil); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", via, got.status, clip(got.body))
		}
		links[via] = [2]string{upload, archive}
	}
	s.token("--name", "ci", "--scopes", "tasks:read")
	for _, one := range links {
		expectRefused(t, http.MethodPut, one[0], content, "requires a token now")
		expectRefused(t, http.MethodGet, one[1], nil, "requires a token now")
	}
	upload, archive := issueLinks(t, len(content), overStdio)
	if got := fetch(t, http.MethodPut, upload, nil, content); got.status != http.StatusCreated {
		t.Errorf("a new upload over stdio: %d %s", got.status, clip(got.body))
	}
	if got := fetch(t, http.MethodGet, archive, nil, nil); got.status != http.StatusOK {
		t.Errorf("a new archive over stdio: %d %s", got.status, clip(got.body))
	}
	r.end()
	w.end()
}

// TestForgedLinks checks that links that are forged, cut or edited are refused and recorded, and
// that the number of these records is limited.
func TestForgedLinks(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve("--toolsets", "books")
	upload, archive := issueLinks(t, 10<<20, func(tool, args string) []byte { return w.post("/tools/"+tool, args, nil).body })
	for _, link := range []string{
		tampered(archive), extendExpiry(t, archive), archive[:len(archive)-9], strings.Replace(archive, "for=local", "for=process", 1),
		strings.Replace(archive, "by=local", "by=ada", 1), strings.Split(archive, "?")[0], archive + "&for=local",
	} {
		expectRefused(t, http.MethodGet, link, nil, "altered, cut off, or made for another workspace or library")
	}
	expectRefused(t, http.MethodPut, tampered(upload), nil, "altered")
	for range 100 {
		fetch(t, http.MethodGet, tampered(archive), nil, nil)
	}
	w.end()
	if n := len(s.linkRecords("links/archive")); n < 30 || n > 60 { // at most 30 a minute
		t.Errorf("%d forged links are recorded", n)
	}
	if got := s.linkRecords("links/upload"); len(got) != 1 || got[0].Outcome != "denied" || got[0].Principal != "" {
		t.Errorf("recorded %+v", got)
	}
	s.verifyAudit()
}

// TestEachAssetReadIsRecorded checks that a page with many pictures leaves a record of each.
func TestEachAssetReadIsRecorded(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve("--toolsets", "books")
	issueLinks(t, 10<<20, func(tool, args string) []byte { return w.post("/tools/"+tool, args, nil).body })
	const pictures = 100
	for range pictures {
		w.get("/cdn/books/linked-book/assets/images/a.png", nil)
	}
	w.end()
	if n := len(s.linkRecords("links/asset")); n != pictures {
		t.Errorf("%d of %d uses are recorded", n, pictures)
	}
}
