//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// fate is what the caller of a change knows about it.
type fate int

const (
	refused      fate = iota // certainly nothing was changed
	unknown                  // no answer came, or the answer says that the outcome is unknown
	acknowledged             // the answer says that it was done
)

func (f fate) String() string { return [...]string{"refused", "unknown", "acknowledged"}[f] }

// change is one effect that a caller asked for, by one call or by several with the same key.
type change struct {
	tool   string   // as records name it
	record string   // identifies its records among those of the tool; see auditRecord.change
	state  string   // of the object afterwards; "" if it is deleted
	fate   fate     //
	story  []string // what was sent during which fault, and what came back
}

// object is something that only one caller changes.
type object struct {
	name    string // see storedState
	changes []*change
}

// changer makes changes one after another, until it is told to end.
type changer struct {
	name    string
	rand    *rand.Rand
	servers []*faultServer
	during  *atomic.Pointer[string] // the faults at the moment
	client  http.Client
	ended   *atomic.Int64 // number of acknowledged changes of all callers
	uploads int           // how many large assets it may still upload
	made    int
	objects []*object
}

// run changes one object after another.
func (c *changer) run(stop *atomic.Bool) {
	defer c.client.CloseIdleConnections()
	for !stop.Load() {
		c.made++
		name := fmt.Sprintf("%s-%d", c.name, c.made)
		switch n := c.rand.IntN(20); {
		case n < 7:
			c.changeTask(name)
		case n < 12:
			c.appendEntry(name)
		case n < 17:
			c.changeLesson(name)
		case n < 19 || c.uploads == 0:
			c.changeAsset(name)
		default:
			c.uploads--
			c.uploadByLink(name)
		}
	}
}

// object starts the changes of a new object.
func (c *changer) object(name string) *object {
	o := &object{name: name}
	c.objects = append(c.objects, o)
	return o
}

// do makes one change by calling a tool, and returns the answer if it was acknowledged. A change
// with a key is repeated, also at the same time, until its fate is known.
func (c *changer) do(o *object, ch change, args map[string]any) (body []byte) {
	one := &ch
	o.changes = append(o.changes, one)
	_, tool, _ := strings.Cut(ch.tool, "/")
	data, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	key := ""
	if c.rand.IntN(3) == 0 {
		key = fmt.Sprintf("%s.%d", o.name, len(o.changes))
	}
	for try := 1; ; try++ {
		first := c.rand.IntN(len(c.servers))
		body = c.send(one, first, tool, data, key)
		if key != "" && c.rand.IntN(3) == 0 {
			body = c.sendTwice(one, tool, data, key, body)
		}
		if key == "" || one.fate != unknown || try == 20 {
			break
		}
		time.Sleep(rand.N(100 * time.Millisecond))
	}
	if one.fate == acknowledged {
		c.ended.Add(1)
		return body
	}
	time.Sleep(rand.N(50 * time.Millisecond)) // the server may be away
	return nil
}

// sendTwice sends a call with a key to two servers at once.
func (c *changer) sendTwice(ch *change, tool string, data []byte, key string, body []byte) []byte {
	var both sync.WaitGroup
	copies := [2]change{}
	bodies := [2][]byte{}
	for i := range copies {
		server := c.rand.IntN(len(c.servers))
		both.Go(func() { bodies[i] = c.send(&copies[i], server, tool, data, key) })
	}
	both.Wait()
	for i := range copies {
		ch.story = append(ch.story, copies[i].story...)
		if ch.fate = max(ch.fate, copies[i].fate); copies[i].fate == acknowledged {
			body = bodies[i]
		}
	}
	return body
}

// send sends a call once and notes its fate. It returns the body of an acknowledgement.
func (c *changer) send(ch *change, server int, tool string, data []byte, key string) []byte {
	header := http.Header{}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	patience := timeout
	if rand.IntN(25) == 0 {
		patience = rand.N(30 * time.Millisecond) // the client gives up
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := newPost(ctx, *c.servers[server].url.Load()+"/tools/"+tool, string(data), header)
	if err != nil {
		panic(err)
	}
	r.GetBody = nil // so that the transport does not send a call with a key again by itself
	return c.note(ch, server, key, r)
}

// note sends a request and adds its outcome to the story of the change.
func (c *changer) note(ch *change, server int, key string, r *http.Request) []byte {
	during := *c.during.Load()
	got, err := send(&c.client, r)
	now := fateOf(got, err)
	ch.fate = max(ch.fate, now)
	says := fmt.Sprintf("status %d: %s", got.status, clip(got.body))
	if err != nil {
		says = err.Error()
	}
	says = fmt.Sprintf("%s: %s", now, says)
	if last := len(ch.story) - 1; last < 0 || !strings.HasSuffix(ch.story[last], says) {
		ch.story = append(ch.story, fmt.Sprintf("%s server %d, key %q, during %q until %q: %s",
			time.Now().UTC().Format("15:04:05.000"), server, key, during, *c.during.Load(), says))
	}
	if now != acknowledged {
		return nil
	}
	return got.body
}

// Answers that say that a change was made, or may have been made, although they are errors.
var (
	saysDone    = regexp.MustCompile(`(is|was) (carried out|stored), but`)
	saysUnknown = regexp.MustCompile(`(?i)unknown|not known|not yet known|still running`)
)

// fateOf returns what an answer says about a change.
func fateOf(got httpAnswer, err error) fate {
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		return refused // nothing was sent
	case err != nil:
		return unknown
	case got.status == http.StatusOK || got.status == http.StatusCreated || saysDone.Match(got.body):
		return acknowledged
	case saysUnknown.Match(got.body):
		return unknown
	default:
		return refused
	}
}

// changeTask adds a task and changes it as long as the fate of each change is known.
func (c *changer) changeTask(name string) {
	o := c.object("task " + name)
	title := name + " v0"
	user := "user-" + c.name
	state := func(title string, completed bool) string { return fmt.Sprintf("%s completed=%v", title, completed) }
	added := c.do(o, change{tool: "tasks/add_task", record: title, state: state(title, false)}, map[string]any{"user_id": user, "title": title})
	var answer struct{ Data struct{ ID int64 } }
	if added == nil || json.Unmarshal(added, &answer) != nil || answer.Data.ID == 0 {
		return
	}
	id := fmt.Sprint(answer.Data.ID)
	args := func() map[string]any { return map[string]any{"user_id": user, "task_id": id} }
	completed := false
	for version := 1; version < 5; version++ {
		switch c.rand.IntN(4) {
		case 0, 1:
			next := fmt.Sprintf("%s v%d", name, version)
			with := args()
			with["title"] = next
			if c.do(o, change{tool: "tasks/update_task", record: next, state: state(next, completed)}, with) != nil {
				title = next
			}
		case 2:
			if completed {
				continue
			}
			done := c.do(o, change{tool: "tasks/complete_task", record: id, state: state(title, true)}, args())
			completed = done != nil
		case 3:
			c.do(o, change{tool: "tasks/delete_task", record: id}, args())
			return
		}
		if o.changes[len(o.changes)-1].fate != acknowledged {
			return
		}
	}
}

// appendEntry adds one entry to a memory file.
func (c *changer) appendEntry(name string) {
	file := []string{memoryFile, "decisions.jsonl"}[c.rand.IntN(2)]
	entry := fmt.Sprintf(`{"timestamp":"2026-01-09T10:30:00Z","type":"task","name":%q,"pad":%q}`, name, strings.Repeat("x", c.rand.IntN(500)))
	o := c.object("entry " + name)
	c.do(o, change{tool: "learning-os/write_memory_entry", record: recordDigest(entry), state: hashOf(entry)},
		map[string]any{"file": file, "entry": json.RawMessage(entry)})
}

// recordDigest returns what records hold in place of a text.
func recordDigest(text string) string { return hashOf(text)[:16] }

// changeLesson writes a lesson several times, and may delete it.
func (c *changer) changeLesson(name string) {
	book := fmt.Sprintf("book-%d", c.rand.IntN(2))
	path := "lessons/" + name + ".md"
	o := c.object("books/" + book + "/" + path)
	for version := range 1 + c.rand.IntN(3) {
		text := fmt.Sprintf("%s version %d\n%s", name, version, strings.Repeat("a line\n", c.rand.IntN(300)))
		ch := change{tool: "books/write_content", record: path + " " + recordDigest(text), state: hashOf(text)}
		if c.do(o, ch, map[string]any{"book_id": book, "path": path, "content": text}) == nil {
			return
		}
	}
	if c.rand.IntN(2) == 0 {
		c.do(o, change{tool: "books/delete_content", record: path}, map[string]any{"book_id": book, "path": path})
	}
}

// changeAsset stores a small asset, and may replace it.
func (c *changer) changeAsset(name string) {
	file := name + ".mp4"
	o := c.object("books/book-0/assets/videos/" + file)
	for version := range 1 + c.rand.IntN(2) {
		text := fmt.Sprintf("%s asset %d %s", name, version, strings.Repeat("y", c.rand.IntN(2000)))
		data := base64.StdEncoding.EncodeToString([]byte(text))
		ch := change{tool: "books/upload_asset", record: file + " " + recordDigest(data), state: hashOf(text)}
		if c.do(o, ch, map[string]any{"book_id": "book-0", "asset_type": "videos", "filename": file, "binary_data": data}) == nil {
			return
		}
	}
}

// largeSize is the size from which an asset is uploaded by a link.
const largeSize = 10 << 20

// uploadByLink asks for a link and uploads an asset: whole, cut off or with the wrong size. A link
// is used again while the fate of the upload is not known, and after it was acknowledged.
func (c *changer) uploadByLink(name string) {
	file := name + ".mp4"
	server := c.rand.IntN(len(c.servers))
	asked := c.send(&change{}, server, "upload_asset",
		fmt.Appendf(nil, `{"book_id":"book-1","asset_type":"videos","filename":%q,"file_size":%d}`, file, largeSize), "")
	var answer struct {
		Upload string `json:"upload_url"`
	}
	if asked == nil || json.Unmarshal(asked, &answer) != nil {
		return
	}
	link, err := url.Parse(answer.Upload)
	if err != nil {
		panic(err)
	}
	content := bytes.Repeat([]byte(name+" "), largeSize/len(name))[:largeSize]
	path := "books/book-1/assets/videos/" + file
	o := c.object(path)
	one := &change{tool: "links/upload", record: path, state: hashOf(string(content))}
	o.changes = append(o.changes, one)
	how := c.rand.IntN(4)
	for try := range 4 {
		body, size := io.Reader(bytes.NewReader(content)), int64(largeSize)
		switch {
		case how == 0 && try == 0:
			body = io.MultiReader(bytes.NewReader(content[:c.rand.IntN(largeSize)]), brokenReader{})
		case how == 1 && try == 0:
			body, size = bytes.NewReader(content[1:]), largeSize-1
		}
		r, err := http.NewRequest(http.MethodPut, *c.servers[server].url.Load()+link.RequestURI(), body)
		if err != nil {
			panic(err)
		}
		r.ContentLength = size
		sent := &change{}
		c.note(sent, server, "", r)
		one.story = append(one.story, sent.story...)
		if how == 0 && try == 0 && sent.fate == unknown {
			sent.fate = refused // the server did not get all of it
		}
		if one.fate = max(one.fate, sent.fate); one.fate == acknowledged {
			break
		}
		time.Sleep(rand.N(100 * time.Millisecond))
	}
	if one.fate == acknowledged {
		c.ended.Add(1)
	}
}

// brokenReader is a body that ends early.
type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the upload is cut off") }
