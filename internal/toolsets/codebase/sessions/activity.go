package sessions

import (
	"strings"
	"time"

	"remit/internal/engine"
)

// doing is one thing that a client did, as far as it is worth keeping: a file that was read, what was searched for, or a task that
// was touched. It is empty if it is none of these.
type doing struct{ file, search, task string }

// longest is how many bytes of what a client did are kept.
const longest = 500

// doingOf tells what a call was about. Contents are never looked at: what is kept is which file, which question, which task.
func doingOf(s *engine.Seen) doing {
	set, name, _ := strings.Cut(s.Tool, "/")
	switch {
	case name == "read_file" || name == "read_repo_file":
		return doing{file: s.Args.Field("path").Text}
	case name == "read_content":
		return doing{file: s.Args.Field("book_id").Text + "/" + s.Args.Field("path").Text}
	case name == "context_search":
		return doing{search: s.Args.Field("query").Text}
	case name == "grep_codebase" || name == "grep_search":
		return doing{search: s.Args.Field("pattern").Text}
	case set == "tasks" && name != "list_tasks":
		return doing{task: taskOf(s)}
	}
	return doing{}
}

// items gives what is kept of something that a client did, nil for nothing.
func items(what string, at time.Time) []Item {
	if what = strings.ToValidUTF8(what, "\uFFFD"); what == "" {
		return nil
	}
	if len(what) > longest {
		what = strings.ToValidUTF8(what[:longest], "")
	}
	return []Item{{What: what, At: at}}
}

// taskOf is the number of a task: that of the arguments or, of a new one, of the answer.
func taskOf(s *engine.Seen) string {
	id := s.Args.Field("task_id")
	if id.Text == "" {
		data := s.Answer.Field("data")
		id = data.Field("id")
	}
	return id.Text
}

// doings is what one client did that is not written yet.
type doings struct {
	Noted
	left bool // the client disconnected
}

// noted begins what is to be written of a client.
func (c *client) noted() doings {
	return doings{Noted: Noted{
		Key: keyOf(c.caller), Principal: c.caller.Principal, Client: c.caller.Client, Started: c.started, At: c.last, Idle: Idle,
	}}
}

// did is one thing that a client did.
func (c *client) did(d doing, at time.Time) doings {
	all := c.noted()
	all.Files, all.Searches, all.Tasks = items(d.file, at), items(d.search, at), items(d.task, at)
	return all
}

// mergeDoings adds what a client did to what waits of it already.
func mergeDoings(waiting, added doings) doings {
	added.Files = AddItems(waiting.Files, added.Files)
	added.Searches = AddItems(waiting.Searches, added.Searches)
	added.Tasks = AddItems(waiting.Tasks, added.Tasks)
	added.left = added.left || waiting.left
	if waiting.At.After(added.At) {
		added.At = waiting.At
	}
	return added
}
