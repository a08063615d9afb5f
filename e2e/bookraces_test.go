package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// bookAnswer has the fields of book tool answers that the tests use.
type bookAnswer struct {
	Error        string
	Message      string
	Path         string
	Status       string
	Mode         string
	Content      string
	FileHash     string  `json:"file_hash"`
	HashOfRead   string  `json:"file_hash_sha256"`
	ExpectedHash string  `json:"expected_hash"`
	ActualHash   *string `json:"actual_hash"`
	CDN          string  `json:"cdn_url"`
	UploadURL    string  `json:"upload_url"`
	Headers      map[string]string
	Archive      string `json:"archive_url"`
	FileSize     int64  `json:"file_size"`
	MIME         string `json:"mime_type"`
	By           string `json:"uploaded_by_agent_id"`
	FileCount    int    `json:"file_count"`
}

// parseBookAnswer decodes the answer of a book tool.
func parseBookAnswer(t *testing.T, body []byte) (a bookAnswer) {
	t.Helper()
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatalf("cannot decode the answer: %v: %s", err, clip(body))
	}
	return a
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

const racedLesson = "lessons/part-1/chapter-01/lesson-01.md"

// TestOneOfManyWritersWins lets 16 callers on four servers replace the same version of a lesson.
// One succeeds, and the others get an error with the hash that it wrote.
func TestOneOfManyWritersWins(t *testing.T) {
	t.Parallel()
	onEachLibrary(t, func(t *testing.T, s *workspace) {
		var servers []*httpServer
		for range 4 {
			servers = append(servers, s.serve("--toolsets", "books"))
		}
		write := func(i int, content, hash string) httpAnswer {
			body, err := json.Marshal(map[string]string{"book_id": "raced-book", "path": racedLesson, "content": content, "file_hash": hash})
			if err != nil {
				t.Error(err)
			}
			return postTo(t, servers[i%len(servers)].url+"/tools/write_content", string(body), nil)
		}
		first := servers[0].post("/tools/write_content", `{"book_id":"raced-book","path":"`+racedLesson+`","content":"round 0"}`, nil)
		known := parseBookAnswer(t, first.body).FileHash
		for round := range 5 {
			answers := make([]httpAnswer, 16)
			var racers sync.WaitGroup
			for i := range answers {
				racers.Go(func() { answers[i] = write(i, fmt.Sprintf("round %d, caller %d", round+1, i), known) })
			}
			racers.Wait()
			known = checkOneWinner(t, answers, known, servers[round%4])
		}
		for _, w := range servers {
			w.end()
		}
	})
}

// checkOneWinner checks that exactly one call succeeded, and returns the hash of the stored lesson.
func checkOneWinner(t *testing.T, answers []httpAnswer, before string, w *httpServer) string {
	t.Helper()
	var winner string
	for i, got := range answers {
		a := parseBookAnswer(t, got.body)
		switch {
		case got.status == http.StatusOK && winner == "":
			winner = a.FileHash
		case got.status == http.StatusOK:
			t.Errorf("caller %d succeeded as well", i)
		case got.status != http.StatusConflict || a.Error != "ConflictError" || a.ExpectedHash != before || a.ActualHash == nil || *a.ActualHash == before:
			t.Errorf("caller %d: status %d: %s", i, got.status, got.body)
		}
	}
	now := parseBookAnswer(t, w.post("/tools/read_content", `{"book_id":"raced-book","path":"`+racedLesson+`"}`, nil).body)
	if winner == "" || now.HashOfRead != winner || hashOf(now.Content) != winner {
		t.Fatalf("the winner wrote %s, but %s is stored", winner, now.HashOfRead)
	}
	return winner
}

// checksummedText returns a text that starts with its number and the hash of the rest.
func checksummedText(number, size int) string {
	rest := strings.Repeat(fmt.Sprintf("line of version %d\n", number), 1+size/20)
	return fmt.Sprintf("%d %s\n%s", number, hashOf(rest), rest)
}

// parseChecksummed returns the number of such a text, or an error if the hash does not match.
func parseChecksummed(text string) (int, error) {
	head, rest, _ := strings.Cut(text, "\n")
	number, hash, _ := strings.Cut(head, " ")
	if hashOf(rest) != hash {
		return 0, fmt.Errorf("the hash does not match: %s", clip(text))
	}
	return strconv.Atoi(number)
}

// writesDuringKills is the number of writes while servers are killed.
var writesDuringKills = func() int64 {
	if os.Getenv("REMIT_FULL") == "true" {
		return 1000
	}
	return 400
}()

// lessonWriter writes one lesson repeatedly and records what was acknowledged.
type lessonWriter struct {
	path         string
	acknowledged int
	tried        int
}

func (l *lessonWriter) run(url *atomic.Pointer[string], done *atomic.Int64) {
	client := http.Client{Timeout: timeout, Transport: &http.Transport{}}
	for done.Load() < writesDuringKills {
		l.tried++
		body, err := json.Marshal(map[string]string{"book_id": "killed-book", "path": l.path, "content": checksummedText(l.tried, rand.IntN(200_000))})
		if err != nil {
			panic(err)
		}
		r, err := newPost(context.Background(), *url.Load()+"/tools/write_content", string(body), nil)
		if err != nil {
			panic(err)
		}
		if got, err := send(&client, r); err == nil && got.status == http.StatusOK {
			l.acknowledged = l.tried
			done.Add(1)
			continue
		}
		time.Sleep(10 * time.Millisecond) // wait for the next server
	}
}

// TestKilledServersLeaveCompleteBooks kills servers while they write. Every lesson is complete and
// at least as new as the last acknowledged write, and no leftover lock blocks later writes.
func TestKilledServersLeaveCompleteBooks(t *testing.T) {
	t.Parallel()
	onEachLibrary(t, func(t *testing.T, s *workspace) {
		w := s.serve("--toolsets", "books")
		var url atomic.Pointer[string]
		url.Store(&w.url)
		var done atomic.Int64
		var writers sync.WaitGroup
		lessons := make([]*lessonWriter, 8)
		for i := range lessons {
			lessons[i] = &lessonWriter{path: fmt.Sprintf("lessons/lesson-%d.md", i)}
			writers.Go(func() { lessons[i].run(&url, &done) })
		}
		for part := range int64(5) {
			for end := time.Now().Add(2 * timeout); done.Load() < (part+1)*writesDuringKills/6; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("only %d writes were acknowledged", done.Load())
				}
			}
			w.kill()
			w = s.serve("--toolsets", "books")
			url.Store(&w.url)
		}
		writers.Wait()
		for _, l := range lessons {
			got := parseBookAnswer(t, w.post("/tools/read_content", `{"book_id":"killed-book","path":"`+l.path+`"}`, nil).body)
			number, err := parseChecksummed(got.Content)
			if err != nil || number < l.acknowledged || number > l.tried {
				t.Errorf("%s: %v; version %d is stored, %d was acknowledged, %d was sent", l.path, err, number, l.acknowledged, l.tried)
			}
		}
		w.end()
	})
}
