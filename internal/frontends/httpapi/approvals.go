package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
)

// viaAPI is how people who use these routes decide, for records.
const viaAPI = "api"

// registerApprovals adds the routes with which the bot of a team decides: only the token of a
// person is accepted, never that of an agent.
func (a *API) registerApprovals(mux *http.ServeMux) {
	route(mux, "/approvals", methods{http.MethodGet: a.decider(a.listRequests)})
	route(mux, "/approvals/{id}", methods{http.MethodGet: a.decider(a.showRequest)})
	route(mux, "/approvals/{id}/approve", methods{http.MethodPost: a.decider(a.approve)})
	route(mux, "/approvals/{id}/deny", methods{http.MethodPost: a.decider(a.deny)})
	route(mux, "/approvals/{id}/withdraw", methods{http.MethodPost: a.decider(a.withdraw)})
	route(mux, "/approvals/{id}/scopes", methods{http.MethodGet: a.decider(a.listScopes)})
	route(mux, "/approvals/{id}/rule", methods{http.MethodPost: a.decider(a.makeRule)})
	// The route of "/approvals/{id}" answers all other methods here.
	mux.HandleFunc("GET /approvals/rules", a.decider(a.listRules))
	route(mux, "/approvals/rules/{rule}/revoke", methods{http.MethodPost: a.decider(a.revokeRule)})
}

// decider serves a person whose token may decide, and answers everybody else.
func (a *API) decider(serve func(r *http.Request, who identity.Identity) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		leave, ok := a.admit(w)
		if !ok {
			return
		}
		defer leave()
		who := a.who(r)
		switch {
		case r.Header["Authorization"] == nil:
			a.Rejected(r, "a decision without a person's token")
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, http.StatusUnauthorized, "Only people decide here; send a person's token as the header Authorization: Bearer TOKEN")
			return
		case who.Role < identity.Approver:
			a.Rejected(r, "a decision with the token of "+who.Principal)
			writeError(w, http.StatusForbidden, "Only a person's token is accepted here, never an agent's")
			return
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // as in call
		answer, err := serve(r, who)
		if err != nil {
			writeToolError(w, err)
			return
		}
		body, err := json.Marshal(answer)
		if err != nil {
			writeToolError(w, err)
			return
		}
		writeJSON(w, http.StatusOK, body)
	}
}

// effectView is what a call would do now.
type effectView struct {
	Title  string `json:"title"`
	Before string `json:"before"`
	After  string `json:"after"`
}

func (a *API) viewOf(r approval.Request) approval.View {
	view := r.View(a.Desk.Now())
	view.UsedAt = r.UsedAt
	return view
}

// maxListedRequests is how many requests a list has at most.
const maxListedRequests = 100

// listRequests lists the requests that wait, newest first; with ?all=true also the decided ones.
// The parameters state, agent, tool and text select some of them, and after continues a list.
func (a *API) listRequests(r *http.Request, _ identity.Identity) (any, error) {
	store, err := a.Desk.Open(r.Context())
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	list, err := store.List(r.Context(), approval.ListOptions{
		All: query.Get("all") == "true", State: query.Get("state"), Agent: query.Get("agent"), Tool: query.Get("tool"),
		Text: query.Get("text"), After: query.Get("after"), Limit: maxListedRequests, Now: a.Desk.Now(),
	})
	if err != nil {
		return nil, err
	}
	views := make([]approval.View, len(list))
	for i := range list {
		views[i] = a.viewOf(list[i])
	}
	answer := map[string]any{"approvals": views}
	if len(list) == maxListedRequests {
		answer["after"] = list[len(list)-1].Cursor()
	}
	return answer, nil
}

// request returns the request that the URL names. The beginning of an id is not enough here.
func (a *API) request(r *http.Request) (approval.Request, error) {
	id := r.PathValue("id")
	store, err := a.Desk.Open(r.Context())
	if err != nil {
		return approval.Request{}, err
	}
	found, err := store.Get(r.Context(), id)
	if err == nil && found.ID != id {
		err = contract.Errorf(contract.NotFound, "There is no request %s", id)
	}
	return found, err
}

// showRequest shows a request, and what its call would do if it waits.
func (a *API) showRequest(r *http.Request, _ identity.Identity) (any, error) {
	found, err := a.request(r)
	if err != nil {
		return nil, err
	}
	view := a.viewOf(found)
	if view.State != string(approval.Pending) {
		return view, nil
	}
	shown, err := a.Desk.Show(r.Context(), found, "")
	if err != nil {
		view.Unshown = contract.AsError(err).Message
		return view, nil
	}
	view.Effect, view.Shown = effectView{shown.Title, shown.Before, shown.After}, found.PageMark(shown.State)
	return view, nil
}

func (a *API) approve(r *http.Request, who identity.Identity) (any, error) {
	return a.decide(r, who, true)
}

func (a *API) deny(r *http.Request, who identity.Identity) (any, error) {
	return a.decide(r, who, false)
}

// decide stores a decision.
func (a *API) decide(r *http.Request, who identity.Identity, approve bool) (any, error) {
	var body struct {
		Shown  string `json:"shown"`
		Reason string `json:"reason"`
	}
	found, err := a.request(r)
	if err == nil {
		err = decodeDecision(a, r, &body)
	}
	switch {
	case err != nil:
		return nil, err
	case utf8.RuneCountInString(body.Reason) > maxReason:
		return nil, contract.Errorf(contract.Invalid, "reason has more than %d characters", maxReason)
	case approve && body.Shown == "":
		return nil, contract.Errorf(contract.Invalid, "shown is missing; send the shown of GET /approvals/%s back, "+
			"so that the approval is for what you saw", found.ID)
	}
	decided, err := a.Desk.Decide(r.Context(), found.ID, approval.Decision{
		Approve: approve, By: who.Principal, Via: viaAPI, Address: a.Address(r),
		Reason: strings.Join(strings.Fields(body.Reason), " "), Mark: body.Shown,
	})
	return a.viewOf(decided), err
}

// withdraw takes back an approval that no call has used.
func (a *API) withdraw(r *http.Request, who identity.Identity) (any, error) {
	found, err := a.request(r)
	if err == nil {
		err = decodeDecision(a, r, &struct{}{})
	}
	if err != nil {
		return nil, err
	}
	taken, err := a.Desk.Withdraw(r.Context(), found.ID, approval.Decision{By: who.Principal, Via: viaAPI, Address: a.Address(r)})
	return a.viewOf(taken), err
}

const (
	maxDecisionBytes = 64 << 10
	maxReason        = 1000 // characters
)

// decodeDecision reads the body of a decision, which may be empty.
func decodeDecision[Body any](a *API, r *http.Request, body *Body) error {
	if rejected := checkContentType(r); rejected != nil {
		return rejected.err
	}
	text, memory, err := a.Bodies.Read(r, maxDecisionBytes)
	defer memory.Release()
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return contract.Errorf(contract.TooLarge, "The body is larger than %d bytes", maxDecisionBytes)
	case err != nil:
		return unreadable(err).err
	case len(text) == 0:
		return nil
	}
	tree, err := jsontree.Parse(text)
	if err != nil {
		return contract.Errorf(contract.Invalid, "The body is not valid JSON: %s", err)
	}
	// encoding/json would take a member in another letter case as well, and so twice.
	if !slices.ContainsFunc(tree.Members, func(m jsontree.Member) bool { return strings.ToLower(m.Key) != m.Key }) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err = decoder.Decode(body); err == nil {
			return nil
		}
	}
	return contract.Errorf(contract.Invalid, `The body must be JSON such as {"shown": "...", "reason": "..."}`).Because(err)
}
