package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/enginetest"
	"remit/internal/engine/identity"
)

// grantOf returns the grant of a token of ada with these scopes.
func grantOf(t *testing.T, scopes string) *identity.Grant {
	t.Helper()
	parsed, err := identity.ParseScopes(scopes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &identity.Grant{User: "ada", Scopes: parsed}
}

// TestScopes checks that a token may call the tools of its scopes, and that the error names the
// missing scope before any other check of the call.
func TestScopes(t *testing.T) {
	for _, tc := range []struct{ scopes, needs string }{
		{"demo:write", ""},
		{"*:write", ""},
		{"*", ""},
		{"demo:read", "demo:write"},
		{"*:read", "demo:write"},
		{"other:write demo:read", "demo:write"},
		{"demonstration:write", "demo:write"},
	} {
		r := newRig(t, nil)
		args, _ := jsontree.Parse([]byte(good))
		result, err := r.engine.Call(t.Context(), engine.Call{Tool: "note", Args: args, Principal: "agent:x", Grant: grantOf(t, tc.scopes)})
		if err != nil {
			t.Fatal(err)
		}
		var missing *identity.ScopeError
		switch {
		case tc.needs == "" && result.Err != nil:
			t.Errorf("%s: %v", tc.scopes, result.Err)
		case tc.needs != "" && (!errors.As(result.Err, &missing) || missing.Needs.String() != tc.needs ||
			result.Err.Kind != contract.Denied):
			t.Errorf("%s: %v, want the scope %s to be missing", tc.scopes, result.Err, tc.needs)
		case tc.needs != "" && (len(r.trail) > 0 || r.records[0].Outcome != "denied"):
			t.Errorf("%s: %v happened before the refusal, recorded as %v", tc.scopes, r.trail, r.records)
		}
	}
}

// ownedYAML is a tool whose arguments name the user whose data it uses.
const ownedYAML = `
name: mine
title: Mine
description: Reads what belongs to a user.
owner: user_id
hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}
input:
  type: object
  properties:
    user_id: {type: string, description: Whose}
  required: [user_id]
  additionalProperties: false
output:
  type: object
  properties:
    of: {type: string, description: Whose it was}
  required: [of]
  additionalProperties: false
examples:
  - {title: Hers, arguments: {user_id: ada}, result: {of: ada}}
`

type ownedIn struct {
	UserID string `json:"user_id"`
}

type ownedOut struct {
	Of string `json:"of"`
}

// TestOwner checks that a token may access only the data of its own user, which is also the default
// user.
func TestOwner(t *testing.T) {
	set, err := contract.Load(fstest.MapFS{"_set.yaml": {Data: []byte(setYAML)}, "mine.yaml": {Data: []byte(ownedYAML)}}, ".")
	if err != nil {
		t.Fatal(err)
	}
	if findings := set.Contracts[0].Lint(); len(findings) > 0 {
		t.Fatal(findings)
	}
	var asked []string
	r := &rig{}
	e := enginetest.New(t, set, map[string]engine.Handler{"mine": engine.Handle(func(_ context.Context, in ownedIn) (ownedOut, error) {
		asked = append(asked, in.UserID)
		return ownedOut{in.UserID}, nil
	})}, engine.Options{Approvals: r, Audit: r, Observer: r})
	everything := grantOf(t, "*")
	for _, tc := range []struct {
		name  string
		grant *identity.Grant
		args  string
		of    string // whose data it accessed; "" for none
		kind  contract.Kind
	}{
		{"a person at this machine", nil, `{"user_id":"bob"}`, "bob", ""},
		{"its own", everything, `{"user_id":"ada"}`, "ada", ""},
		{"without a user", everything, `{}`, "ada", ""},
		{"another's", everything, `{"user_id":"bob"}`, "", contract.Denied},
		{"another's, spelt almost the same", everything, `{"user_id":"ada "}`, "", contract.Denied},
		{"null", everything, `{"user_id":null}`, "", contract.Invalid},
		{"any", &identity.Grant{User: identity.AnyUser, Scopes: everything.Scopes}, `{"user_id":"bob"}`, "bob", ""},
		{"any user, without a user", &identity.Grant{User: identity.AnyUser, Scopes: everything.Scopes}, `{}`, "", contract.Invalid},
		{"of no user", &identity.Grant{Scopes: everything.Scopes}, `{"user_id":"bob"}`, "", contract.Denied},
		{"token without user, empty user", &identity.Grant{Scopes: everything.Scopes}, `{"user_id":""}`, "", contract.Denied},
	} {
		asked = nil
		args, _ := jsontree.Parse([]byte(tc.args))
		result, err := e.Call(t.Context(), engine.Call{Tool: "mine", Args: args, Principal: "agent:x", Grant: tc.grant})
		if err != nil {
			t.Fatal(err)
		}
		if tc.of == "" && (result.Err == nil || result.Err.Kind != tc.kind || len(asked) > 0) {
			t.Errorf("%s: %v after it reached %v, want %s", tc.name, result.Err, asked, tc.kind)
		}
		if tc.of != "" && (result.Err != nil || len(asked) != 1 || asked[0] != tc.of) {
			t.Errorf("%s: %v, reached %v, want %s", tc.name, result.Err, asked, tc.of)
		}
	}
}

// userPages provides a page for each user.
type userPages struct{ textProvider }

func (*userPages) Templates() []engine.Template {
	return []engine.Template{{URI: "fake://{user}", Name: "user"}}
}

func (*userPages) Owner(uri string) (string, bool) { return strings.CutPrefix(uri, "fake://") }

// TestResourcesRespectGrants checks lists, reads and watches against grants.
func TestResourcesRespectGrants(t *testing.T) {
	provider := &userPages{}
	provider.put(map[string]string{"fake://ada": "hers", "fake://bob": "his"})
	r := &rig{}
	if err := r.build(t, false, []engine.ResourceProvider{provider}, []engine.Prompt{{Name: "greet", Render: saying("hello")}}); err != nil {
		t.Fatal(err)
	}
	readGrant, other := grantOf(t, "demo:read"), grantOf(t, "other:read")
	all, err := r.engine.Resources(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range all {
		if !strings.HasPrefix(resource.URI, "remit://contracts/") {
			t.Errorf("%s is listed for a token that cannot read it", resource.URI)
		}
	}
	for _, tc := range []struct {
		grant  *identity.Grant
		uri    string
		denied bool
	}{{nil, "fake://bob", false}, {readGrant, "fake://ada", false}, {readGrant, "fake://bob", true}, {
		other, "fake://ada",
		true,
	}, {other, "remit://contracts/note", false}} {
		_, err := r.engine.Read(t.Context(), engine.Requester{Principal: "agent:x", Grant: tc.grant}, tc.uri)
		if (kindOf(err) == contract.Denied) != tc.denied || (r.engine.CheckRead(tc.grant, tc.uri) != nil) != tc.denied {
			t.Errorf("%s with %v: %v", tc.uri, tc.grant, err)
		}
	}
	for grant, denied := range map[*identity.Grant]bool{nil: false, readGrant: false, other: true} {
		_, _, err := r.engine.StartPrompt(t.Context(), engine.Requester{Principal: "agent:x", Grant: grant}, "greet", nil)
		if (kindOf(err) == contract.Denied) != denied {
			t.Errorf("the prompt with %v: %v", grant, err)
		}
	}
}

// linkPeer is a client that supports forms and pages, and accepts everything.
type linkPeer struct {
	engine.Peer
	asked []engine.Question
}

func (*linkPeer) Can(engine.Capability) bool { return true }

func (p *linkPeer) Ask(_ context.Context, questions []engine.Question) (map[string]jsontree.Value, error) {
	p.asked = append(p.asked, questions...)
	return map[string]jsontree.Value{questions[0].Key: jsontree.Obj(jsontree.M("action", jsontree.Str("accept")))}, nil
}

// approver asks with the given Asker and stores the answers.
type approver struct{ answers []approval.Answer }

func (a *approver) Pass(ctx context.Context, s approval.Subject, ask approval.Asker) (approval.Passed, error) {
	if ask == nil {
		a.answers = append(a.answers, approval.NotShown)
		return approval.Passed{}, nil
	}
	answer, _ := ask(ctx, approval.Request{ID: "r1", Tool: s.Tool, ExpiresAt: time.Now().Add(time.Hour)}, approval.Shown{})
	a.answers = append(a.answers, answer)
	return approval.Passed{}, nil
}

// TestTokensNeverApprove checks that the answer of a client with a token at most opens the page of
// the request, whatever the client declares.
func TestTokensNeverApprove(t *testing.T) {
	page := func(id string) string { return "https://remit.example/console/approvals/" + id }
	for _, tc := range []struct {
		name     string
		grant    *identity.Grant
		dialogue bool
		passkey  bool
		page     func(string) string
		want     approval.Answer
		mode     string
	}{
		{"a person's client", nil, true, false, page, approval.Accepted, ""},
		{"nobody's client", nil, false, false, page, approval.Opened, "url"},
		{"nobody's client, and no console", nil, false, false, nil, approval.NotShown, ""},
		{"a token", grantOf(t, "*"), false, false, page, approval.Opened, "url"},
		{"a token, and no console", grantOf(t, "*"), false, false, nil, approval.NotShown, ""},
		{"a person's client, and a passkey", nil, true, true, page, approval.Opened, "url"},
		{"a person's client, a passkey, and no console", nil, true, true, nil, approval.NotShown, ""},
		{"a token for dialogs", grantOf(t, "*"), true, false, page, approval.Accepted, ""},
	} {
		gate, peer := &approver{}, &linkPeer{}
		r := newRig(t, func(o *engine.Options) {
			o.Approvals, o.ApprovalPage, o.NeedsPasskey = gate, tc.page, func(context.Context) bool { return tc.passkey }
		})
		args, _ := jsontree.Parse([]byte(good))
		if _, err := r.engine.Call(t.Context(), engine.Call{
			Tool: "note", Args: args, Principal: "x", Grant: tc.grant, Dialogue: tc.dialogue,
			Peer: peer,
		}); err != nil {
			t.Fatal(err)
		}
		if len(gate.answers) != 1 || gate.answers[0] != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, gate.answers, tc.want)
		}
		if len(peer.asked) > 0 && peer.asked[0].Params.Field("mode").Text != tc.mode {
			t.Errorf("%s was asked by %q, want %q", tc.name, peer.asked[0].Params.Field("mode").Text, tc.mode)
		}
	}
}
