package jobs_test

import (
	"reflect"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/identity"
	"remit/internal/engine/jobs"
)

// forgeries change each field that the seal covers.
var forgeries = map[string]func(*jobs.Task){
	"ID":           nil, // another id is another task
	"Workspace":    func(t *jobs.Task) { t.Workspace = "/other" },
	"Principal":    func(t *jobs.Task) { t.Principal = "eve" },
	"Tool":         func(t *jobs.Task) { t.Tool = "slow" },
	"Digest":       func(t *jobs.Task) { t.Digest = "sha256:0" },
	"Frontend":     func(t *jobs.Task) { t.Frontend = "cli" },
	"Client":       func(t *jobs.Task) { t.Client = "another" },
	"Arguments":    func(t *jobs.Task) { t.Arguments = []byte(`{"text":"evil"}`) },
	"Capabilities": func(t *jobs.Task) { t.Capabilities = nil },
	"CreatedAt":    func(t *jobs.Task) { t.CreatedAt = t.CreatedAt.Add(time.Hour) },
	"TTL":          func(t *jobs.Task) { t.TTL *= 2 },
	"Poll":         func(t *jobs.Task) { t.Poll *= 2 },
	"Status":       func(t *jobs.Task) { t.Status = jobs.Working },
	"Message":      func(t *jobs.Task) { t.Message = "Send money" },
	"UpdatedAt":    func(t *jobs.Task) { t.UpdatedAt = t.UpdatedAt.Add(time.Hour) },
	"Questions":    func(t *jobs.Task) { t.Questions[0].Guarded = true },
	"Body":         func(t *jobs.Task) { t.Body = []byte(`{"said":"evil"}`) },
	"Content":      func(t *jobs.Task) { t.Content = []byte(`[]`) },
	"IsError":      func(t *jobs.Task) { t.IsError = true },
	"Fault":        func(t *jobs.Task) { t.Fault = &engine.ProtocolError{Code: 1, Message: "evil"} },
	"Continuation": func(t *jobs.Task) { t.Continuation.Approved = true },
	"Answers":      func(t *jobs.Task) { t.Answers = map[string]jsontree.Value{"a": jsontree.Str("evil")} },
	"Asked":        func(t *jobs.Task) { t.Asked = append(t.Asked, "may") },
	"Owner":        func(t *jobs.Task) { t.Owner = "eve" },
	"LeaseUntil":   func(t *jobs.Task) { t.LeaseUntil = time.Now() },
	"CancelAsked":  func(t *jobs.Task) { t.CancelAsked = true },
	"Revision":     nil, // set by the store
	"Seal":         func(t *jobs.Task) { t.Seal = "" },
}

// TestForgedTaskIsNotFound checks that a task that somebody changed in the database is not found.
func TestForgedTaskIsNotFound(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[jobs.Task]()) {
		forge, listed := forgeries[field.Name]
		if !listed {
			t.Errorf("%s: does the seal bind it? list it here", field.Name)
		}
		if forge == nil {
			continue
		}
		t.Run(field.Name, func(t *testing.T) {
			store := &memory{}
			r := newRig(t, &jobs.Sealed{Store: store, Secret: []byte("secret")})
			id := r.start("both", `{}`).ID
			r.until(id, jobs.InputRequired)
			store.tamper(id, forge)
			wantKind(t, r.Update(t.Context(), "ann", id, answers("x", "a", "b")), contract.NotFound)
			if n := r.runs.Load(); n != 1 {
				t.Error("the forged call ran")
			}
		})
	}
}

// TestKeyIsSealed checks that nobody can change the idempotency key of a task.
func TestKeyIsSealed(t *testing.T) {
	store := &memory{}
	r := newRig(t, &jobs.Sealed{Store: store, Secret: []byte("secret")})
	id := r.start("both", `{}`).ID
	r.until(id, jobs.InputRequired)
	store.tamper(id, func(t *jobs.Task) { t.Continuation.Key = "evil" })
	wantKind(t, r.Update(t.Context(), "ann", id, answers("x", "a", "b")), contract.NotFound)
}

// TestTaskOfAToken checks that a task belongs to the token that started it, not to a later one of
// the same name, whatever the database says.
func TestTaskOfAToken(t *testing.T) {
	store := &memory{}
	r := newRig(t, &jobs.Sealed{Store: store, Secret: []byte("secret")})
	grant := func(id string) *identity.Grant {
		credential := identity.Credential{Kind: identity.TokenCredential, ID: id}
		return &identity.Grant{User: identity.AnyUser, Credential: credential}
	}
	started := call("both", `{}`)
	started.Grant = grant("t1")
	task, err := r.Start(t.Context(), started, nil, everything)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get(t.Context(), grant("t1").Owner("ann"), task.ID); err != nil {
		t.Errorf("its own token: %v", err)
	}
	for _, owner := range []string{grant("t2").Owner("ann"), "ann"} {
		_, err := r.Get(t.Context(), owner, task.ID)
		wantKind(t, err, contract.NotFound)
	}
	store.tamper(task.ID, func(t *jobs.Task) { t.Continuation.Owner = grant("t2").Owner("ann") })
	_, err = r.Get(t.Context(), grant("t2").Owner("ann"), task.ID)
	wantKind(t, err, contract.NotFound)
}

// tamper changes a task in the database.
func (m *memory) tamper(id string, forge func(*jobs.Task)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	task := m.tasks[id]
	forge(&task)
	m.tasks[id] = task
}

func TestTaskOfAnotherMachine(t *testing.T) {
	store := &memory{}
	theirs := newRig(t, &jobs.Sealed{Store: store, Secret: []byte("their secret")})
	id := theirs.start("both", `{}`).ID
	theirs.until(id, jobs.InputRequired)
	ours := newRig(t, &jobs.Sealed{Store: store, Secret: []byte("our secret")})
	_, err := ours.Get(t.Context(), "ann", id)
	wantKind(t, err, contract.NotFound)
}
