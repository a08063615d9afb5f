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

// bookAnswer is what the tests look at in the answers of the book tools.
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

// asBook reads an answer of a book tool.
func asBook(t *testing.T, body []byte) (a bookAnswer) {
	t.Helper()
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatalf("not an answer: %v: %s", err, clip(body))
	}
	return a
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

const racedLesson = "lessons/part-1/chapter-01/lesson-01.md"

// Sixteen callers on four servers know the same version of a lesson: one of them
// replaces it, and the others are told by which.
func TestOneOfManyWritersWins(t *testing.T) {
	t.Parallel()
	onEachLibrary(t, func(t *testing.T, s *space) {
		var servers []*web
		for range 4 {
			servers = append(servers, s.serve("--toolsets", "books"))
		}
		write := func(i int, content, hash string) httpAnswer {
			body, err := json.Marshal(map[string]string{"book_id": "raced-book", "path": racedLesson, "content": content, "file_hash": hash})
			if err != nil {
				t.Error(err)
			}
			return posted(t, servers[i%len(servers)].url+"/tools/write_content", string(body), nil)
		}
		first := servers[0].post("/tools/write_content", `{"book_id":"raced-book","path":"`+racedLesson+`","content":"round 0"}`, nil)
		known := asBook(t, first.body).FileHash
		for round := range 5 {
			answers := make([]httpAnswer, 16)
			var racers sync.WaitGroup
			for i := range answers {
				racers.Go(func() { answers[i] = write(i, fmt.Sprintf("round %d, caller %d", round+1, i), known) })
			}
			racers.Wait()
			known = theWinner(t, answers, known, servers[round%4])
		}
		for _, w := range servers {
			w.end()
		}
	})
}

// theWinner checks that exactly one answer is a success and gives the hash that the
// lesson has by now.
func theWinner(t *testing.T, answers []httpAnswer, before string, w *web) string {
	t.Helper()
	var winner string
	for i, got := range answers {
		a := asBook(t, got.body)
		switch {
		case got.status == http.StatusOK && winner == "":
			winner = a.FileHash
		case got.status == http.StatusOK:
			t.Errorf("caller %d won as well", i)
		case got.status != http.StatusConflict || a.Error != "ConflictError" || a.ExpectedHash != before || a.ActualHash == nil || *a.ActualHash == before:
			t.Errorf("caller %d: status %d: %s", i, got.status, got.body)
		}
	}
	now := asBook(t, w.post("/tools/read_content", `{"book_id":"raced-book","path":"`+racedLesson+`"}`, nil).body)
	if winner == "" || now.HashOfRead != winner || hashOf(now.Content) != winner {
		t.Fatalf("the winner wrote %s, and %s is there", winner, now.HashOfRead)
	}
	return winner
}

// wholeText is a text that tells whether it is whole: its number, and the hash of
// the rest.
func wholeText(number, size int) string {
	rest := strings.Repeat(fmt.Sprintf("line of version %d\n", number), 1+size/20)
	return fmt.Sprintf("%d %s\n%s", number, hashOf(rest), rest)
}

// numberOf reads it back; an error if it is not whole.
func numberOf(text string) (int, error) {
	head, rest, _ := strings.Cut(text, "\n")
	number, hash, _ := strings.Cut(head, " ")
	if hashOf(rest) != hash {
		return 0, fmt.Errorf("it is not whole: %s", clip(text))
	}
	return strconv.Atoi(number)
}

// killedWrites is how many writes are made while servers are killed.
var killedWrites = func() int64 {
	if os.Getenv("REMIT_FULL") == "true" {
		return 1000
	}
	return 400
}()

// lessonWriter writes one lesson again and again, and knows what was acknowledged.
type lessonWriter struct {
	path         string
	acknowledged int
	tried        int
}

func (l *lessonWriter) run(url *atomic.Pointer[string], done *atomic.Int64) {
	client := http.Client{Timeout: patience, Transport: &http.Transport{}}
	for done.Load() < killedWrites {
		l.tried++
		body, err := json.Marshal(map[string]string{"book_id": "killed-book", "path": l.path, "content": wholeText(l.tried, rand.IntN(200_000))})
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
		time.Sleep(10 * time.Millisecond) // the server is dead, another comes
	}
}

// Servers are killed while they write: every lesson is whole, none is older than what
// was acknowledged, and nothing stays behind that keeps others from writing.
func TestKilledServersLeaveWholeBooks(t *testing.T) {
	t.Parallel()
	onEachLibrary(t, func(t *testing.T, s *space) {
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
			for end := time.Now().Add(2 * patience); done.Load() < (part+1)*killedWrites/6; time.Sleep(time.Millisecond) {
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
			got := asBook(t, w.post("/tools/read_content", `{"book_id":"killed-book","path":"`+l.path+`"}`, nil).body)
			number, err := numberOf(got.Content)
			if err != nil || number < l.acknowledged || number > l.tried {
				t.Errorf("%s: %v; version %d is there, %d was acknowledged, %d tried", l.path, err, number, l.acknowledged, l.tried)
			}
		}
		w.end()
	})
}
