package approval

import (
	"time"

	"remit/internal/contract/jsontree"
)

// View is the JSON form of a request. The command line and the HTTP API share it; members that only
// one of them has are named so.
type View struct {
	ID        string `json:"id"`
	State     string `json:"state"`
	Tool      string `json:"tool"`
	Version   string `json:"version"`
	Digest    string `json:"digest,omitempty"` // command line
	Principal string `json:"principal"`
	Summary   string `json:"summary,omitempty"`
	Target    string `json:"target,omitempty"` // what the call changes
	Frontend  string `json:"frontend,omitempty"`
	Client    string `json:"client,omitempty"`
	Session   string `json:"session,omitempty"`
	// The caller's own words, which nobody has checked.
	CallerReason string         `json:"caller_reason,omitempty"`
	Arguments    jsontree.Value `json:"arguments"`
	CreatedAt    time.Time      `json:"created_at"`
	ExpiresAt    time.Time      `json:"expires_at"`
	DecidedAt    time.Time      `json:"decided_at,omitzero"`
	DecidedBy    string         `json:"decided_by,omitempty"`
	Reason       string         `json:"reason,omitempty"`
	SpentAt      time.Time      `json:"spent_at,omitzero"` // command line
	UsedAt       time.Time      `json:"used_at,omitzero"`  // API
	// Effect is what the call of a pending request would do now: a text at the command line, an
	// object in the API.
	Effect any `json:"effect,omitempty"`
	// Shown must be sent back with an approval. It is missing if the effect cannot be shown.
	Shown   string `json:"shown,omitempty"`   // API
	Unshown string `json:"unshown,omitempty"` // why the effect cannot be shown
	// Similar are the latest decisions about other calls of this tool by this caller.
	Similar []Precedent `json:"similar,omitempty"`
}

// Precedent is an earlier decision in a View.
type Precedent struct {
	ID        string    `json:"id"`
	State     string    `json:"state"`
	Summary   string    `json:"summary"`
	Target    string    `json:"target,omitempty"`
	DecidedAt time.Time `json:"decided_at"`
	DecidedBy string    `json:"decided_by"`
	Reason    string    `json:"reason,omitempty"`
}

// Precedents returns the JSON form of similar requests.
func Precedents(similar []Request, now time.Time) []Precedent {
	list := make([]Precedent, len(similar))
	for i, r := range similar {
		list[i] = Precedent{r.ID, r.Stage(now), r.Summary, r.Target, r.DecidedAt, r.DecidedBy, r.Reason}
	}
	return list
}

// View returns the members of a request that every View has.
func (r Request) View(now time.Time) View {
	args, err := jsontree.Parse(r.Arguments)
	if err != nil {
		args = jsontree.Str(string(r.Arguments))
	}
	return View{
		ID: r.ID, State: r.Stage(now), Tool: r.Tool, Version: r.Version, Principal: r.Principal, Summary: r.Summary, Target: r.Target,
		Frontend: r.Frontend, Client: r.Client, Session: r.Session, CallerReason: r.CallerReason, Arguments: args,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, DecidedAt: r.DecidedAt, DecidedBy: r.DecidedBy, Reason: r.Reason,
	}
}
