package sessions

import (
	"strings"
	"time"

	"remit/internal/engine"
)

// activity is one recorded thing that a client did: a file read, a query, or a task touched. It is
// empty if the call was none of these.
type activity struct{ file, search, task string }

// maxWhat is the maximum number of bytes recorded of a path, query or task.
const maxWhat = 500

// activityOf returns what a call was about. It records which file, query or task, never contents.
func activityOf(s *engine.Activity) activity {
	set, name, _ := strings.Cut(s.Tool, "/")
	switch {
	case name == "read_file" || name == "read_repo_file":
		return activity{file: s.Args.Field("path").Text}
	case name == "read_content":
		return activity{file: s.Args.Field("book_id").Text + "/" + s.Args.Field("path").Text}
	case name == "context_search":
		return activity{search: s.Args.Field("query").Text}
	case name == "grep_codebase" || name == "grep_search":
		return activity{search: s.Args.Field("pattern").Text}
	case set == "tasks" && name != "list_tasks":
		return activity{task: taskOf(s)}
	}
	return activity{}
}

// items returns the list to record for one path, query or task; nil for "".
func items(what string, at time.Time) []Item {
	if what = strings.ToValidUTF8(what, "\uFFFD"); what == "" {
		return nil
	}
	if len(what) > maxWhat {
		what = strings.ToValidUTF8(what[:maxWhat], "")
	}
	return []Item{{What: what, At: at}}
}

// taskOf returns the number of a task, from the arguments or, for a new task, from the answer.
func taskOf(s *engine.Activity) string {
	id := s.Args.Field("task_id")
	if id.Text == "" {
		data := s.Answer.Field("data")
		id = data.Field("id")
	}
	return id.Text
}

// pendingNote is what one client did that is not written yet.
type pendingNote struct {
	Note
	left bool // whether the client disconnected
}

// noted returns an empty note for a client.
func (c *client) noted() pendingNote {
	return pendingNote{Note: Note{
		Key: keyOf(c.caller), Principal: c.caller.Principal, Client: c.caller.Client, Started: c.started, At: c.last, Idle: Idle,
	}}
}

// did returns the note for one activity of a client.
func (c *client) did(d activity, at time.Time) pendingNote {
	all := c.noted()
	all.Files, all.Searches, all.Tasks = items(d.file, at), items(d.search, at), items(d.task, at)
	return all
}

// mergeNotes adds a note to one of the same client that is already waiting.
func mergeNotes(waiting, added pendingNote) pendingNote {
	added.Files = AddItems(waiting.Files, added.Files)
	added.Searches = AddItems(waiting.Searches, added.Searches)
	added.Tasks = AddItems(waiting.Tasks, added.Tasks)
	added.left = added.left || waiting.left
	if waiting.At.After(added.At) {
		added.At = waiting.At
	}
	return added
}
