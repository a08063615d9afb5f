package mcp

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// subscription is what a client wants to hear of, in either era. What it has not
// been told yet waits here, each thing once: a client that reads slowly misses
// no change and fills no memory.
type subscription struct {
	server    *Server
	principal string
	id        []byte // of the request that opened it; nil in the legacy era

	mu    sync.Mutex
	lists [len(listChanged)]bool // which lists it wants to hear of, by the kind of change
	uris  map[string]func()      // each with what ends its watch; "" is the list of resources
	tasks map[string]func()

	pending []event
	wake    chan struct{} // holds one token while something is pending
	stop    func()
	closed  bool
}

// listChanged are the notifications of lists, by the kind of change.
var listChanged = [...]string{
	engine.ToolsChanged:     "notifications/tools/list_changed",
	engine.PromptsChanged:   "notifications/prompts/list_changed",
	engine.ResourcesChanged: "notifications/resources/list_changed",
}

// event is a change that a client is to be told of.
type event struct {
	change engine.Change
	task   string // not empty if it is about a task
}

const (
	mostURIs  = 1000 // that one client may watch
	mostTasks = 200

	longestURI = 8 << 10 // bytes
)

func newSubscription(s *Server, principal string, id []byte) *subscription {
	sub := &subscription{
		server: s, principal: principal, id: id,
		uris: map[string]func(){}, tasks: map[string]func(){}, wake: make(chan struct{}, 1),
	}
	sub.stop = s.Engine.Listen(sub.hear)
	return sub
}

// hear takes a change in, if the client wants to hear of it.
func (s *subscription) hear(c engine.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, wanted := s.uris[c.URI]
	if c.Kind != engine.ResourceUpdated {
		wanted = s.lists[c.Kind]
	}
	if wanted {
		s.add(event{change: c})
	}
}

// add is called with the lock held.
func (s *subscription) add(e event) {
	if slices.Contains(s.pending, e) {
		return
	}
	s.pending = append(s.pending, e)
	select {
	case s.wake <- struct{}{}:
	default: // it is awake already
	}
}

// watch begins to watch a resource.
func (s *subscription) watch(uri string) error {
	if len(uri) > longestURI {
		return faultf(codeInvalidParams, "Invalid params: a uri may have at most %d bytes", longestURI)
	}
	uri = strings.Clone(uri) // without the message around it
	return s.begin(s.uris, uri, mostURIs, "resources", func() func() { return s.server.Engine.Watch(uri) })
}

// begin starts a watch, unless there is one already.
func (s *subscription) begin(watches map[string]func(), name string, most int, what string, watch func() func()) error {
	s.mu.Lock()
	_, known := watches[name]
	full := len(watches) >= most
	s.mu.Unlock()
	if known {
		return nil
	}
	if full {
		return faultf(codeInvalidParams, "Invalid params: at most %d %s can be watched at once", most, what)
	}
	end := watch() // with no lock held: it may look at the disk, and may tell of a change at once
	s.mu.Lock()
	_, known = watches[name]
	if keep := !known && !s.closed; keep {
		watches[name], end = end, func() {}
	}
	s.mu.Unlock()
	end()
	return nil
}

func (s *subscription) unwatch(uri string) {
	s.mu.Lock()
	end := s.uris[uri]
	delete(s.uris, uri)
	s.mu.Unlock()
	if end != nil {
		end()
	}
}

// watchLists begins to watch lists; that of the resources costs looks at the disk.
func (s *subscription) watchLists(tools, prompts, resources bool) {
	s.mu.Lock()
	s.lists = [...]bool{engine.ToolsChanged: tools, engine.PromptsChanged: prompts, engine.ResourcesChanged: resources}
	s.mu.Unlock()
	if resources {
		_ = s.watch("") // one more is never too many
	}
}

// watchTask begins to watch a task of the same principal; false if there is none.
func (s *subscription) watchTask(ctx context.Context, id string) bool {
	if s.server.Tasks == nil {
		return false
	}
	if _, err := s.server.Tasks.Get(ctx, s.principal, id); err != nil {
		return false
	}
	id = strings.Clone(id) // without the message around it
	return nil == s.begin(s.tasks, id, mostTasks, "tasks", func() func() {
		return s.server.Tasks.Watch(id, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.add(event{task: id})
		})
	})
}

// next gives the notifications that are due, and forgets them.
func (s *subscription) next(ctx context.Context) [][]byte {
	s.mu.Lock()
	due := s.pending
	s.pending = nil
	s.mu.Unlock()
	var all [][]byte
	for _, e := range due {
		if line := s.notification(ctx, e); line != nil {
			all = append(all, line)
		}
	}
	return all
}

func (s *subscription) notification(ctx context.Context, e event) []byte {
	if e.task != "" {
		return s.taskNotification(ctx, e.task)
	}
	if e.change.Kind == engine.ResourceUpdated {
		return s.message("notifications/resources/updated", jsontree.AppendString([]byte(`"uri":`), e.change.URI))
	}
	return s.message(listChanged[e.change.Kind], nil)
}

func (s *subscription) taskNotification(ctx context.Context, id string) []byte {
	task, err := s.server.Tasks.Get(ctx, s.principal, id)
	if err != nil {
		return nil // it has expired meanwhile
	}
	return s.message("notifications/tasks", appendWholeTask(nil, &task))
}

// message is a notification that says, in the modern era, which request it is for.
func (s *subscription) message(method string, members []byte) []byte {
	b := []byte{'{'}
	if s.id != nil {
		b = append(append(append(b, `"_meta":{"`+metaSubscription+`":`...), s.id...), '}')
		if len(members) > 0 {
			b = append(b, ',')
		}
	}
	return notification(method, append(append(b, members...), '}'))
}

// close ends all watches.
func (s *subscription) close() {
	s.stop()
	s.mu.Lock()
	s.closed = true
	ends := slices.AppendSeq(slices.Collect(maps.Values(s.uris)), maps.Values(s.tasks))
	clear(s.uris)
	clear(s.tasks)
	s.mu.Unlock()
	for _, end := range ends {
		end()
	}
}

// listen opens the subscription that a subscriptions/listen asks for, and gives
// the acknowledgement, which is the first that the client hears.
func (q *request) listen(ctx context.Context) (*subscription, []byte, error) {
	if err := q.known(); err != nil {
		return nil, nil, err
	}
	filter := q.params.Field("notifications")
	if filter.Kind != jsontree.Object {
		return nil, nil, faultf(codeInvalidParams, "Invalid params: notifications must say what to listen to")
	}
	if _, tasks := filter.Get("taskIds"); tasks && !q.from.tasks {
		return nil, nil, &engine.IncapableError{Needs: engine.Tasks}
	}
	q.id = bytes.Clone(q.id)
	sub := newSubscription(q.server, q.from.Principal, q.id)
	tools, prompts, resources := filter.Field("toolsListChanged"), filter.Field("promptsListChanged"), filter.Field("resourcesListChanged")
	sub.watchLists(tools.True(), prompts.True(), resources.True())
	honoured := jsontree.Obj()
	for _, name := range []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged"} {
		if wanted := filter.Field(name); wanted.True() {
			honoured.Members = append(honoured.Members, jsontree.M(name, wanted))
		}
	}
	if uris, ok := filter.Get("resourceSubscriptions"); ok {
		honoured.Members = append(honoured.Members, jsontree.M("resourceSubscriptions", honour(&uris, mostURIs, func(uri string) bool {
			return q.server.Engine.MayRead(q.from.Grant, uri) == nil && sub.watch(uri) == nil
		})))
	}
	if ids, ok := filter.Get("taskIds"); ok {
		honoured.Members = append(honoured.Members, jsontree.M("taskIds", honour(&ids, mostTasks, func(id string) bool {
			return sub.watchTask(ctx, id)
		})))
	}
	acknowledged := honoured.Append([]byte(`"notifications":`))
	q.params, q.method = jsontree.Value{}, strings.Clone(q.method) // the message may be large, and the subscription lasts
	return sub, sub.message("notifications/subscriptions/acknowledged", acknowledged), nil
}

// honour keeps the strings of a list that can be watched. It does not even look at
// more than one client may watch: each may cost a look into a store.
func honour(list *jsontree.Value, most int, watch func(string) bool) jsontree.Value {
	kept := jsontree.Arr()
	for _, m := range list.Members[:min(len(list.Members), most)] {
		if m.Value.Kind == jsontree.String && watch(m.Value.Text) {
			kept.Members = append(kept.Members, jsontree.Member{Value: m.Value})
		}
	}
	return kept
}

// listened is the answer to a subscriptions/listen that we end ourselves.
func (q *request) listened() []byte {
	b := append(q.begin(128), `"resultType":"complete","_meta":{"`+metaSubscription+`":`...)
	return append(append(b, q.id...), `}}}`...)
}
