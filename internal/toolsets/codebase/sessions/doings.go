package sessions

import (
	"strings"
	"time"

	"remit/internal/engine"
)

// kind is what a client did, as far as it is worth keeping.
type kind int

const (
	nothing kind = iota
	readFile
	searched
	touchedTask
)

// doing is one thing that a client did.
type doing struct {
	kind kind
	what string
}

// longest is how many bytes of what a client did are kept.
const longest = 500

// doingOf tells what a call was about. Contents are never looked at: what is kept is which file, which question, which task.
func doingOf(s *engine.Seen) doing {
	set, name, _ := strings.Cut(s.Tool, "/")
	switch {
	case name == "read_file" || name == "read_repo_file":
		return of(readFile, s.Args.Field("path").Text)
	case name == "read_content":
		return of(readFile, s.Args.Field("book_id").Text+"/"+s.Args.Field("path").Text)
	case name == "context_search":
		return of(searched, s.Args.Field("query").Text)
	case name == "grep_codebase" || name == "grep_search":
		return of(searched, s.Args.Field("pattern").Text)
	case set == "tasks" && name != "list_tasks":
		return of(touchedTask, taskOf(s))
	}
	return doing{}
}

func of(k kind, what string) doing {
	what = strings.ToValidUTF8(what, "\uFFFD")
	if what == "" {
		return doing{}
	}
	if len(what) > longest {
		what = strings.ToValidUTF8(what[:longest], "")
	}
	return doing{k, what}
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

// add keeps a doing until it is written.
func (c *client) add(d doing, at time.Time) {
	list := map[kind]*[]Item{readFile: &c.files, searched: &c.searches, touchedTask: &c.tasks}[d.kind]
	*list = AddItems(*list, []Item{{What: d.what, At: at}})
}
