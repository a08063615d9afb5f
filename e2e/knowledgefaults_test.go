package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/contract/contracttest"
)

// goSources copies some of Go's own packages into a workspace.
func (s *workspace) goSources(packages ...string) {
	s.t.Helper()
	for _, name := range packages {
		from := filepath.Join(folderOf(s.t, "env", "GOROOT"), "src", filepath.FromSlash(name))
		s.check(os.CopyFS(s.path(filepath.Join("src", name)), os.DirFS(from)))
	}
}

// TestIndexSurvivesKills checks that an index that was killed many times ends up equal to one that
// was not, and does not start from the beginning each time.
func TestIndexSurvivesKills(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"README.md": "# Sources\n\nSome packages.\n"})
	s.goSources("encoding", "go/parser", "text")
	random := rand.New(rand.NewPCG(7, 7))
	for range 6 {
		cmd := exec.Command(remitBin, "index", "--root", s.root)
		cmd.Env = environment()
		s.check(cmd.Start())
		// Kill it at a random moment.
		time.Sleep(time.Duration(20+random.IntN(400)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	killed := s.updateIndex()
	peace := &workspace{t: t, root: s.root}
	peace.env = []string{"REMIT_DATA=" + t.TempDir()}
	if fresh := peace.updateIndex(); killed.Files != fresh.Files || killed.Pieces != fresh.Pieces {
		t.Errorf("after kills %+v, without kills %+v", killed, fresh)
	}
	if again := s.updateIndex(); again.Done != 0 {
		t.Errorf("nothing changed, but %d files were indexed", again.Done)
	}
	for _, question := range []string{"parse a function declaration", "decode base64 text", "escape html in a template"} {
		one, other := s.remit("search", "--json", question), peace.remit("search", "--json", question)
		if ids(one.out) != ids(other.out) || one.code != 0 || ids(one.out) == "" {
			t.Errorf("%s: after kills %d %s\nwithout kills %d %s", question, one.code, clip(one.out), other.code, clip(other.out))
		}
	}
}

// ids returns the ids of the results in order. Scores depend on the time of day and are not
// compared.
func ids(answer string) string {
	return strings.Join(regexp.MustCompile(`"id": "[^"]*"`).FindAllString(answer, -1), " ")
}

type indexState struct{ Files, Pieces, Done, Total, Waiting int }

// updateIndex brings the index up to date.
func (s *workspace) updateIndex() (state indexState) {
	s.t.Helper()
	out := s.remit("index", "--json")
	if err := json.Unmarshal([]byte(out.out), &state); err != nil || out.code != 0 {
		s.t.Fatalf("remit index: exit %d, %v\n%s%s", out.code, err, out.out, out.errOut)
	}
	return state
}

// fakeEmbeddings is an embedding service for tests: texts with the same words have similar vectors.
// It can be set to fail.
type fakeEmbeddings struct {
	*httptest.Server
	mode  atomic.Value // string
	asked atomic.Int64
	seen  syncBuffer // all requests
}

func newFakeEmbeddings(t *testing.T) *fakeEmbeddings {
	e := &fakeEmbeddings{}
	e.mode.Store("well")
	e.Server = httptest.NewServer(http.HandlerFunc(e.answer))
	t.Cleanup(e.Close)
	return e
}

func (e *fakeEmbeddings) answer(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Input []string }
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &asked); err != nil || r.Header.Get("Authorization") != "Bearer sesame" || r.URL.Path != "/v1/embeddings" {
		http.Error(w, "what?", http.StatusBadRequest)
		return
	}
	e.asked.Add(int64(len(asked.Input)))
	_, _ = e.seen.Write(body) // a buffer never fails
	dim := 64
	switch e.mode.Load() {
	case "down":
		http.Error(w, "secret sesame stack trace", http.StatusInternalServerError)
		return
	case "limited":
		w.Header().Set("Retry-After", "60")
		http.Error(w, "slow down", http.StatusTooManyRequests)
		return
	case "garbage":
		fmt.Fprint(w, `{"data":"<html>`)
		return
	case "slow":
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Second):
		}
		return
	case "other":
		dim = 48
	}
	type item struct {
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	}
	var data []item
	for i, text := range asked.Input {
		vector := make([]float64, dim)
		for _, word := range strings.Fields(strings.ToLower(text)) {
			n := 0
			for _, c := range word {
				n = n*31 + int(c)
			}
			vector[((n%dim)+dim)%dim]++
		}
		data = append(data, item{i, vector})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data, "model": "m"})
}

// TestEmbeddingService checks that a working embedding service is used, once for a query, and never
// gets what the secret policy denies. If it fails, the built-in
// model answers and the answer says so. With REMIT_EMBEDDINGS_ONLY the search fails instead, as the
// contract says.
func TestEmbeddingService(t *testing.T) {
	t.Parallel()
	service := newFakeEmbeddings(t)
	s := sampleProject(t)
	denied := 0
	for name := range contracttest.DeniedNames() {
		s.write(fmt.Sprintf("docs/d%d/%s", denied, name), secretWord+"\n")
		denied++
	}
	env := []string{"REMIT_EMBEDDINGS=" + service.URL + "/v1", "REMIT_EMBEDDINGS_MODEL=m", "REMIT_EMBEDDINGS_KEY=sesame"}
	server := s.stdioWith(env, "--toolsets", "context", "--rate-limits", "off")
	const question = "token refresh"
	for deadline := time.Now().Add(timeout); ; { // embedding runs in the background
		m := server.ask("tools/call", `{"name":"context_search","arguments":`+query(question)+`}`)
		if strings.Contains(string(m.raw), `"model":"remote:m:64"`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the service is not used: %s", clip(m.raw))
		}
		time.Sleep(50 * time.Millisecond)
	}
	asked := service.asked.Load()
	server.search(query(question))
	if now := service.asked.Load(); now != asked {
		t.Errorf("the same query was embedded again: %d texts, then %d", asked, now)
	}
	if strings.Contains(service.seen.String(), secretWord) {
		t.Error("a denied file was sent to the service")
	}
	for _, mode := range []string{"down", "limited", "garbage", "slow", "other"} {
		service.mode.Store(mode)
		m := server.ask("tools/call", `{"name":"context_search","arguments":`+query(question+" "+mode)+`}`)
		if !strings.Contains(string(m.raw), "Token refresh race condition") || !strings.Contains(string(m.raw), `io.remit/note`) || strings.Contains(string(m.raw), "sesame") {
			t.Errorf("%s: %s", mode, clip(m.raw))
		}
	}
	alone := s.stdioWith(append(env, "REMIT_EMBEDDINGS_ONLY=on"), "--toolsets", "context", "--rate-limits", "off")
	for _, mode := range []string{"down", "limited", "garbage", "slow"} {
		service.mode.Store(mode)
		answer := alone.search(query(question + " alone " + mode))
		if details, ok := answer.Details.(string); answer.Error != "Failed to generate query embedding" || !ok || details == "" || strings.Contains(details, "sesame") || strings.Contains(details, "http") {
			t.Errorf("%s alone: %+v", mode, answer)
		}
	}
}
