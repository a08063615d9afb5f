package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/visible"
)

// state is what the header of a page and its lists depend on. If it changes, open pages are
// notified. Each mark changes with whatever it stands for; pages only compare it with the last one.
type state struct {
	Waiting   int    // number of waiting requests
	Approvals string // the mark of the set of waiting requests; "" if they cannot be read
	Notices   string // the newest waiting requests, as JSON; see notice
	Calls     string
	topics
}

// topics are the marks of the data that tools change. A mark is the position of the newest call
// that changed the data, so it is the same in all processes, and after a restart.
type topics struct{ Tasks, Books, Memory string }

// maxCounted limits the number that pages show.
const maxCounted = 1000

// Count returns the number of waiting requests as pages show it.
func (s state) Count() string {
	switch {
	case s.Approvals == "":
		return "?"
	case s.Waiting >= maxCounted:
		return strconv.Itoa(maxCounted-1) + "+"
	}
	return strconv.Itoa(s.Waiting)
}

// events returns the marks by the name of their event, in the order in which they are sent.
func (s state) events() [5][2]string {
	return [...][2]string{
		{"approvals", s.Approvals}, {"calls", s.Calls}, {"tasks", s.Tasks}, {"books", s.Books}, {"memory", s.Memory},
	}
}

// currentState reads the current state without the notices. It must stay cheap with any number of
// requests and calls, because it runs twice a second, and for every page. Other processes may have
// changed the state. It recovers from panics, because it also runs outside of any request, where a
// panic would end the server.
func (c *Console) currentState(ctx context.Context) (now state) {
	defer func() {
		if p := recover(); p != nil {
			c.Log.Error("reading the console state panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if c.Calls != nil {
		if err := c.Calls.Refresh(ctx); err != nil {
			c.Log.Debug("refreshing the index of calls failed", "error", err)
		}
		version := c.Calls.Version()
		// The version begins at 0 in every process.
		now.Calls = c.started + "." + strconv.FormatUint(version, 10)
		now.topics = c.topics.at(version, func() (topics, error) { return c.readTopics(ctx) })
	}
	store, err := c.openApprovals(ctx)
	if err != nil {
		c.Log.Debug("opening the approvals failed", "error", err)
		return now
	}
	ids, err := store.WaitingIDs(ctx, c.Now())
	if err != nil {
		// /health and the overview report it too.
		c.Log.Debug("counting the waiting approvals failed", "error", err)
		return now
	}
	slices.Sort(ids)
	h := sha256.New()
	for _, id := range ids {
		_, _ = io.WriteString(h, id+"\n")
	}
	now.Waiting, now.Approvals = len(ids), hex.EncodeToString(h.Sum(nil)[:8])
	return now
}

// nextState is currentState with the notices, which it takes from the last state if the same
// requests wait.
func (c *Console) nextState(ctx context.Context, last state) state {
	now := c.currentState(ctx)
	if now.Notices = last.Notices; now.Approvals != last.Approvals {
		now.Notices = c.notices(ctx)
	}
	return now
}

// topicCache keeps the topics for a version of the index of calls.
type topicCache struct {
	mu      sync.Mutex
	known   bool
	version uint64
	now     topics
}

// at returns the topics for a version, which read reads if they are not known. If it fails, at
// returns the last topics, and reads them again the next time.
func (t *topicCache) at(version uint64, read func() (topics, error)) topics {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known && t.version == version {
		return t.now
	}
	if now, err := read(); err == nil {
		t.now, t.version, t.known = now, version, true
	}
	return t.now
}

// readTopics finds the newest calls that changed tasks, books and memory.
func (c *Console) readTopics(ctx context.Context) (now topics, err error) {
	newest, err := c.Calls.Newest(ctx)
	if err != nil {
		c.Log.Debug("finding the newest changes failed", "error", err)
		return now, err
	}
	var last struct{ tasks, books, memory auditindex.Position }
	for tool, at := range newest {
		set, _, _ := strings.Cut(tool, "/")
		if t := c.toolOf(tool); t != nil && t.Hints.ReadOnly {
			continue
		}
		switch set {
		case "tasks", "tasks-undo":
			last.tasks = later(last.tasks, at)
		case "books":
			last.books = later(last.books, at)
		case "learning-os", "booster", "memory":
			last.memory = later(last.memory, at)
		}
	}
	return topics{markOf(last.tasks), markOf(last.books), markOf(last.memory)}, nil
}

func later(a, b auditindex.Position) auditindex.Position {
	if b.Day > a.Day || b.Day == a.Day && b.Offset > a.Offset {
		return b
	}
	return a
}

func markOf(p auditindex.Position) string {
	if p.Day == "" {
		return "none"
	}
	return p.Day + "." + strconv.FormatInt(p.Offset, 10)
}

// toolOf returns the served tool with an id, or nil.
func (c *Console) toolOf(id string) *engine.Tool {
	for _, tool := range c.Engine.Tools() {
		if tool.ID == id {
			return tool
		}
	}
	return nil
}

// notice is what a notification says about a waiting request. It contains nothing that the caller
// wrote but the name of a file.
type notice struct {
	ID    string `json:"id"`
	At    int64  `json:"at"` // when it was created, in microseconds
	Agent string `json:"agent"`
	Title string `json:"title"` // of the tool
	File  string `json:"file,omitempty"`
}

const (
	maxNotices = 5
	// maxNoticeText is the length of each text in a notice, in characters.
	maxNoticeText = 80
)

// notices returns the newest waiting requests as JSON; "" if they cannot be read.
func (c *Console) notices(ctx context.Context) string {
	requests, err := c.waiting(ctx, maxNotices)
	if err != nil {
		c.Log.Debug("reading the newest requests failed", "error", err)
		return ""
	}
	list := []notice{}
	for _, r := range requests {
		list = append(list, c.noticeOf(r))
	}
	text, _ := json.Marshal(list) // structs of strings never fail
	return string(text)
}

func (c *Console) noticeOf(r approval.Request) notice {
	n := notice{
		ID: r.ID, At: r.CreatedAt.UnixMicro(),
		Agent: clip(visible.Line(r.Principal), maxNoticeText), Title: clip(visible.Line(r.Tool), maxNoticeText),
	}
	names := []string{"path", "file"}
	if tool := c.toolOf(r.Tool); tool != nil {
		n.Title = tool.Title
		for i := range tool.Paths {
			names = append(names, tool.Paths[i].Arg)
		}
	}
	args, err := jsontree.Parse(r.Arguments)
	if err != nil {
		return n
	}
	for _, m := range args.Members {
		if slices.Contains(names, m.Key) && m.Value.Kind == jsontree.String {
			n.File = clip(visible.Line(m.Value.Text), maxNoticeText)
		}
	}
	return n
}
