package auditindex_test

import (
	"context"
	"fmt"
	"testing"

	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/audit/auditindex/auditindextest"
)

// TestRecordsOfEarlierVersions checks that records with the old names are found and shown beside
// new ones, with the index and without, and that their chain is intact.
func TestRecordsOfEarlierVersions(t *testing.T) {
	b := auditindextest.NewFolder()
	for _, record := range []string{
		`{"time":"2026-01-09T00:00:00.000000Z","principal":"","face":"http","tool":"door/token","outcome":"denied"}`,
		`{"time":"2026-01-09T00:00:01.000000Z","principal":"","frontend":"http","tool":"auth/token","outcome":"denied"}`,
		`{"time":"2026-01-09T00:00:02.000000Z","principal":"","frontend":"stdio","tool":"a/x","outcome":"ok"}`,
	} {
		line := audit.Seal(b.Last, []byte(record))
		b.Last = audit.HashOf(line)
		b.Raw(string(line) + "\n")
	}
	if n, err := audit.Verify(t.Context(), audit.Folder{FS: b}); n != 3 || err != nil {
		t.Errorf("%d records are intact: %v", n, err)
	}
	for name, x := range map[string]*auditindex.Index{"records": indexOf(b), "index": indexed(t, b), "old index": indexedBefore(t, b)} {
		for _, tool := range []string{"auth/token", "door/token", "token"} {
			f := auditindex.Filter{Tool: tool, Frontend: "http"}
			found, err := x.Latest(t.Context(), f, 10)
			if err != nil || len(found) != 2 || audit.FrontendOf(&found[1]) != "http" {
				t.Errorf("%s, %s: %v, error %v", name, tool, found, err)
			}
			if name == "records" {
				continue
			}
			page, err := x.Page(t.Context(), f, "", 10)
			if err != nil || fmt.Sprint(page.Names.Tools) != "[{auth/token 2} {a/x 1}]" || len(page.Calls) != 2 || page.Calls[1].Tool != "auth/token" {
				t.Errorf("%s, %s: page %+v, error %v", name, tool, page, err)
			}
		}
	}
}

// indexedBefore returns an index that an earlier version made.
func indexedBefore(t *testing.T, b *auditindextest.Folder) *auditindex.Index {
	t.Helper()
	store := &auditindextest.Memory{}
	x := auditindextest.IndexOf(b, audit.Folder{FS: b}, oldNames{store})
	if err := x.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	kinds, err := store.Kinds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		if kind.Tool == "door/token" {
			return x
		}
	}
	t.Fatalf("no old name: %+v", kinds)
	return nil
}

// oldNames stores the first call under the name that earlier versions used.
type oldNames struct{ *auditindextest.Memory }

func (o oldNames) Append(ctx context.Context, b auditindex.Batch) (bool, error) {
	if len(b.Calls) > 0 && b.From == 0 {
		b.Calls[0].Tool = "door/token"
	}
	return o.Memory.Append(ctx, b)
}
