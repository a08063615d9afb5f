package knowledge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"remit/internal/search/embedapi"
)

// remoteModel returns a remote model for a bench.
func remoteModel(id string, dim int) *wordModel { return &wordModel{id: id, dim: dim} }

func withRemote(e Embedder, only bool) func(*Options) {
	return func(o *Options) { o.Remote, o.RemoteOnly = e, only }
}

func failing(reason string) func(context.Context, []string) ([][]float32, error) {
	return func(context.Context, []string) ([][]float32, error) { return nil, &embedapi.Error{Reason: reason} }
}

func (b *bench) answers(x *Index, text, path, model, note string) {
	b.t.Helper()
	a := b.search(x, Query{Text: text})
	if len(a.Hits) == 0 || a.Hits[0].Path != path || a.State.Model != model || !strings.Contains(a.State.Note, note) || note == "" && a.State.Note != "" {
		b.t.Errorf("%q: %+v %+v, want %s by %s, %q", text, a.State, a.Hits, path, model, note)
	}
}

func TestRemote(t *testing.T) {
	b := newBench(t)
	b.project()
	remote := remoteModel("far:512", 512)
	x := b.open(withRemote(remote, false))
	b.run(x)
	if got := remote.took(); len(got) != 2 {
		t.Errorf("embedded %q", got)
	}
	b.answers(x, "tractors", "docs/guide.md", "far:512", "")
	if got := remote.took(); !slices.Equal(got, []string{"tractors"}) {
		t.Errorf("embedded %q", got)
	}
	b.write("docs/new.md", "# New\n\nA zebra has stripes.\n")
	b.finds(x, "zebra", "docs/new.md") // by its words at first
	b.run(x)
	b.answers(x, "zebra", "docs/new.md", "far:512", "")
	b.sound(x)
	x.Close()
	remote.took()
	x = b.open(withRemote(remote, false))
	b.run(x)
	if got := remote.took(); len(got) != 0 {
		t.Errorf("embedded again: %q", got)
	}
	b.answers(x, "zebra", "docs/new.md", "far:512", "")
	if diff := slices.Compare(b.store.swept[len(b.store.swept)-1], []string{"words:1", "far:512"}); diff != 0 {
		t.Errorf("swept %q", b.store.swept)
	}
}

// TestRemoteDown: searches fall back to the local model, and return to the remote one.
func TestRemoteDown(t *testing.T) {
	b := newBench(t)
	b.project()
	remote := remoteModel("far:512", 512)
	remote.setHook(failing("the service cannot be reached"))
	x := b.open(withRemote(remote, false))
	b.run(x)
	b.answers(x, "tractors", "docs/guide.md", "words:1", "0 % of the vectors: the service cannot be reached")
	if s := x.State(); s.Unembedded != 2 || s.Chunks != 2 || s.Done != 3 || s.Total != 3 {
		t.Errorf("%+v, want 3 files that were looked at, and 2 pieces without vectors", s)
	}
	remote.setHook(nil)
	b.run2(x)
	if s := x.State(); s.Unembedded != 0 {
		t.Errorf("%+v", s)
	}
	b.answers(x, "tractors", "docs/guide.md", "far:512", "")

	for _, reason := range []string{"API rate limit exceeded", "timed out after 2s", "the service answered with 768 dimensions, not 512"} {
		remote.setHook(failing(reason))
		x.remote.note(func() { x.remote.resting = time.Time{} })
		b.answers(x, "the tractors", "docs/guide.md", "words:1", reason)
		b.answers(x, "tractors", "docs/guide.md", "far:512", "") // its vector is cached
	}
	asked := 0
	remote.setHook(func(context.Context, []string) ([][]float32, error) {
		asked++
		return nil, &embedapi.Error{Reason: "no"}
	})
	b.answers(x, "the tractors", "docs/guide.md", "words:1", "dimensions")
	if asked != 0 {
		t.Error("a service that failed a moment ago is asked by a query")
	}
}

// run2 waits until the remote model has succeeded.
func (b *bench) run2(x *Index) {
	b.t.Helper()
	for range 1000 {
		b.run(x)
		if covered, all := x.catalog.coverage(); covered == all {
			return
		}
	}
	b.t.Fatal("the remote model does not come back")
}

func TestRemoteSlow(t *testing.T) {
	b := newBench(t)
	b.project()
	remote := remoteModel("far:512", 512)
	x := b.open(withRemote(remote, false))
	b.run(x)
	x.limits.query = time.Millisecond
	remote.setHook(func(ctx context.Context, _ []string) ([][]float32, error) {
		<-ctx.Done()
		return nil, &embedapi.Error{Reason: "timed out after 1ms", Cause: ctx.Err()}
	})
	b.answers(x, "tractors", "docs/guide.md", "words:1", "timed out after 1ms")
}

// TestRemoteOnly: without a fallback the error contains the reason.
func TestRemoteOnly(t *testing.T) {
	b := newBench(t)
	b.project()
	remote := remoteModel("far:512", 512)
	remote.setHook(failing("API rate limit exceeded"))
	x := b.open(withRemote(remote, true))
	var failed *EmbeddingError
	if err := x.Run(t.Context(), nil); !errors.As(err, &failed) || failed.Details != "API rate limit exceeded" {
		t.Errorf("%v", err)
	}
	if _, err := x.Search(t.Context(), Query{Text: "tractors"}); !errors.As(err, &failed) || failed.Details != "API rate limit exceeded" {
		t.Errorf("%v", err)
	}
	remote.setHook(func(context.Context, []string) ([][]float32, error) {
		return nil, errors.New("dial tcp: " + t.TempDir())
	})
	if _, err := x.Search(t.Context(), Query{Text: "tractors"}); !errors.As(err, &failed) || failed.Details != "the service cannot be reached" {
		t.Errorf("%v", err)
	}
	remote.setHook(nil)
	b.search(x, Query{Text: "tractors"})
	for range 1000 {
		if x.Run(t.Context(), nil) == nil {
			break
		}
	}
	b.answers(x, "tractors", "docs/guide.md", "far:512", "")
}

// TestSwitchingModels: searches keep working while vectors are computed again.
func TestSwitchingModels(t *testing.T) {
	b := newBench(t)
	for i := range 200 {
		b.write(fmt.Sprintf("d%d/page.md", i), fmt.Sprintf("# Page\n\nThis is about subject%d alone.\n", i))
	}
	x := b.open(withRemote(remoteModel("far:512", 512), false))
	b.run(x)
	x.Close()

	other := remoteModel("other:300", 300)
	hold := make(chan struct{})
	first := true
	other.setHook(func(ctx context.Context, texts []string) ([][]float32, error) {
		other.mu.Lock()
		wait := !first
		first = false
		other.mu.Unlock()
		if wait {
			select {
			case <-hold:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return nil, nil
	})
	b.model.took()
	x = b.open(withRemote(other, false))
	b.answers(x, "subject123", "d123/page.md", "words:1", "of the vectors")
	b.embeds("subject123")
	close(hold)
	b.run(x)
	b.answers(x, "subject123", "d123/page.md", "other:300", "")
	b.sound(x)
	x.Close()

	x = b.open() // and back to the local one alone
	b.answers(x, "subject123", "d123/page.md", "words:1", "")
}

// TestRefusedText: only a text that the service rejects gets no vector.
func TestRefusedText(t *testing.T) {
	b := newBench(t)
	b.project()
	b.write("docs/bad.md", "# Bad\n\nThe okapi is refused.\n")
	remote := remoteModel("far:512", 512)
	remote.setHook(func(_ context.Context, texts []string) ([][]float32, error) {
		for _, text := range texts {
			if strings.Contains(text, "refused") {
				return nil, &embedapi.Error{Reason: "the service answered 400", Refused: true}
			}
		}
		return nil, nil
	})
	x := b.open(withRemote(remote, false))
	b.run(x)
	b.answers(x, "tractors", "docs/guide.md", "far:512", "")
	b.answers(x, "okapi", "docs/bad.md", "far:512", "")
	remote.setHook(func(context.Context, []string) ([][]float32, error) {
		return nil, &embedapi.Error{Reason: "the service answered 400", Refused: true}
	})
	b.write("docs/new.md", "# New\n\nA zebra has stripes.\n")
	b.run(x)
	b.answers(x, "zebra", "docs/new.md", "words:1", "75 % of the vectors: the service answered 400")
}

// lateModel does not know its dimension before the first answer.
type lateModel struct {
	*wordModel
	known bool
}

func (l *lateModel) ID() string {
	if l.Dim() == 0 {
		return ""
	}
	return l.id
}

func (l *lateModel) Dim() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known {
		return 0
	}
	return l.dim
}

func (l *lateModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := l.wordModel.Embed(ctx, texts)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = l.known || err == nil
	return vectors, err
}

func TestDimensionIsLearnt(t *testing.T) {
	b := newBench(t)
	b.project()
	late := &lateModel{wordModel: remoteModel("far:512", 512)}
	late.setHook(failing("no"))
	x := b.open(withRemote(late, false))
	b.run(x)
	if len(b.store.swept) != 0 {
		t.Error("vectors of a model whose name is not known may have been swept")
	}
	late.setHook(nil)
	b.run2(x)
	b.answers(x, "tractors", "docs/guide.md", "far:512", "")
}
