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

// subscription holds what a client of either era is notified of. Pending notifications wait here,
// each only once, so a client that reads slowly misses no change and uses little memory.
type subscription struct {
	server *Server
	owner  string // see engine.Call.Owner
	id     []byte // of the request that opened it; nil in the legacy era

	mu    sync.Mutex
	lists [len(listChanged)]bool // which lists to notify of, by kind of change
	uris  map[string]func()      // functions that end each watch; "" is the list of resources
	tasks map[string]func()

	pending []event
	wake    chan struct{} // holds a token while events are pending
	stop    func()
	closed  bool
}

// listChanged are the notifications of list changes, by kind of change.
var listChanged = [...]string{
	engine.ToolsChanged:     "notifications/tools/list_changed",
	engine.PromptsChanged:   "notifications/prompts/list_changed",
	engine.ResourcesChanged: "notifications/resources/list_changed",
}

// event is a change that the client must be notified of.
type event struct {
	change engine.Change
	task   string // the task, if the event is about one
}

const (
	maxURIs  = 1000 // that one client may watch
	maxTasks = 200

	maxURIBytes = 8 << 10 // bytes
)

func newSubscription(s *Server, owner string, id []byte) *subscription {
	sub := &subscription{
		server: s, owner: owner, id: id,
		uris: map[string]func(){}, tasks: map[string]func(){}, wake: make(chan struct{}, 1),
	}
	sub.stop = s.Engine.Listen(sub.onChange)
	return sub
}

// onChange adds a change to the pending events if the client watches it.
func (s *subscription) onChange(c engine.Change) {
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

// add queues an event, unless it is pending already. The caller must hold the lock.
func (s *subscription) add(e event) {
	if slices.Contains(s.pending, e) {
		return
	}
	s.pending = append(s.pending, e)
	select {
	case s.wake <- struct{}{}:
	default: // a token is there already
	}
}

// watch starts to watch a resource.
func (s *subscription) watch(uri string) error {
	if len(uri) > maxURIBytes {
		return rpcErrorf(codeInvalidParams, "Invalid params: a uri may have at most %d bytes", maxURIBytes)
	}
	uri = strings.Clone(uri) // a copy, which does not keep the message in memory
	return s.begin(s.uris, uri, maxURIs, "resources", func() func() { return s.server.Engine.Watch(uri) })
}

// begin starts a watch unless it exists already.
func (s *subscription) begin(watches map[string]func(), name string, limit int, what string, watch func() func()) error {
	s.mu.Lock()
	_, known := watches[name]
	full := len(watches) >= limit
	s.mu.Unlock()
	if known {
		return nil
	}
	if full {
		return rpcErrorf(codeInvalidParams, "Invalid params: at most %d %s can be watched at once", limit, what)
	}
	end := watch() // without the lock: it may read the disk and report a change at once
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

// watchLists starts to watch lists. Watching the resources requires disk reads.
func (s *subscription) watchLists(tools, prompts, resources bool) {
	s.mu.Lock()
	s.lists = [...]bool{engine.ToolsChanged: tools, engine.PromptsChanged: prompts, engine.ResourcesChanged: resources}
	s.mu.Unlock()
	if resources {
		_ = s.watch("") // one more never exceeds the limit
	}
}

// watchTask starts to watch a task of the same owner. It returns false if there is none.
func (s *subscription) watchTask(ctx context.Context, id string) bool {
	if s.server.Tasks == nil {
		return false
	}
	if _, err := s.server.Tasks.Get(ctx, s.owner, id); err != nil {
		return false
	}
	id = strings.Clone(id) // a copy, which does not keep the message in memory
	return nil == s.begin(s.tasks, id, maxTasks, "tasks", func() func() {
		return s.server.Tasks.Watch(id, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.add(event{task: id})
		})
	})
}

// next returns and removes the pending notifications.
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
	task, err := s.server.Tasks.Get(ctx, s.owner, id)
	if err != nil {
		return nil // it has expired meanwhile
	}
	return s.message("notifications/tasks", appendWholeTask(nil, &task))
}

// message returns a notification. In the modern era it contains the id of the subscription.
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

// listen opens the subscription of a subscriptions/listen request. It also returns the
// acknowledgement, which must be sent first.
func (q *request) listen(ctx context.Context) (*subscription, []byte, error) {
	if err := q.requireIdentity(); err != nil {
		return nil, nil, err
	}
	filter := q.params.Field("notifications")
	if filter.Kind != jsontree.Object {
		return nil, nil, rpcErrorf(codeInvalidParams, "Invalid params: notifications must be an object that names what to listen to")
	}
	if _, tasks := filter.Get("taskIds"); tasks && !q.from.tasks {
		return nil, nil, &engine.MissingCapabilityError{Needs: engine.Tasks}
	}
	q.id = bytes.Clone(q.id)
	sub := newSubscription(q.server, q.from.Owner(), q.id)
	tools, prompts, resources := filter.Field("toolsListChanged"), filter.Field("promptsListChanged"), filter.Field("resourcesListChanged")
	sub.watchLists(tools.True(), prompts.True(), resources.True())
	watched := jsontree.Obj()
	for _, name := range []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged"} {
		if wanted := filter.Field(name); wanted.True() {
			watched.Members = append(watched.Members, jsontree.M(name, wanted))
		}
	}
	if uris, ok := filter.Get("resourceSubscriptions"); ok {
		watched.Members = append(watched.Members, jsontree.M("resourceSubscriptions", watchable(&uris, maxURIs, func(uri string) bool {
			return q.server.Engine.CheckRead(q.from.Grant, uri) == nil && sub.watch(uri) == nil
		})))
	}
	if ids, ok := filter.Get("taskIds"); ok {
		watched.Members = append(watched.Members, jsontree.M("taskIds", watchable(&ids, maxTasks, func(id string) bool {
			return sub.watchTask(ctx, id)
		})))
	}
	acknowledged := watched.Append([]byte(`"notifications":`))
	// Do not keep a large message in memory as long as the subscription.
	q.params, q.method = jsontree.Value{}, strings.Clone(q.method)
	return sub, sub.message("notifications/subscriptions/acknowledged", acknowledged), nil
}

// watchable returns the strings of a list that can be watched. It ignores entries beyond the limit,
// because each may require a store access.
func watchable(list *jsontree.Value, limit int, watch func(string) bool) jsontree.Value {
	kept := jsontree.Arr()
	for _, m := range list.Members[:min(len(list.Members), limit)] {
		if m.Value.Kind == jsontree.String && watch(m.Value.Text) {
			kept.Members = append(kept.Members, jsontree.Member{Value: m.Value})
		}
	}
	return kept
}

// listenResult returns the result of a subscriptions/listen that the server ends.
func (q *request) listenResult() []byte {
	b := append(q.begin(128), `"resultType":"complete","_meta":{"`+metaSubscription+`":`...)
	return append(append(b, q.id...), `}}}`...)
}
