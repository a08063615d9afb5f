package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
	"unicode"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
)

// trial is what trying a tool came to.
type trial struct {
	Outcome  string
	Took     time.Duration
	Bytes    int
	Body     string
	Message  string   // of a failure
	Notes    []string // on an answer
	Approval string   // the request that waits for a person
}

// mayUse refuses people whose role is not enough for what a tool does.
func (v *visit) mayUse(t *engine.Tool) error {
	if t.Hints.ReadOnly || v.person.Role >= identity.Approver {
		return nil
	}
	return contract.Errorf(contract.Denied, "%s writes, so to try it needs the role %s, and you are signed in as %s", t.Name, identity.Approver, v.person.Role)
}

// tryTool calls a tool as the person, with the arguments of the form. The contract is
// kept as for every caller, and the call is recorded like any other.
func (v *visit) tryTool() error {
	t, err := v.Engine.Find(v.r.PathValue("name"))
	if err != nil {
		return err
	}
	if err := v.mayUse(t); err != nil {
		v.refused("role", v.person.Principal())
		return err
	}
	view := v.toolView(t)
	args, ok := view.Form.read(v.r.PostForm)
	if !ok {
		return v.pageWith(http.StatusBadRequest, "tool", "tools", t.Title, view)
	}
	args, err = jsontree.Parse(args.Append(nil)) // as any face reads them: with their bytes
	if err != nil {
		return contract.Errorf(contract.Invalid, "The arguments are no JSON: %v", err)
	}
	view.Tried, err = v.try(t, args, &view.Form)
	if err != nil {
		return err
	}
	return v.page("tool", "tools", t.Title, view)
}

func (v *visit) try(t *engine.Tool, args jsontree.Value, f *form) (*trial, error) {
	started := v.Now()
	result, err := v.Engine.Call(v.r.Context(), engine.Call{
		Tool: t.Name, Args: args, Principal: v.person.Principal(), Face: faceConsole,
	})
	if err != nil {
		return nil, err
	}
	tried := &trial{Outcome: "ok", Took: v.Now().Sub(started), Bytes: len(result.Body), Body: shownBytes(result.Body)}
	tried.note(&result)
	switch {
	case result.Need != nil:
		tried.Outcome, tried.Message = "asked", "The tool asks something, or goes on as a task, which this page cannot; a client of MCP can."
	case result.Err != nil:
		tried.Outcome, tried.Message = string(result.Err.Kind), result.Err.Message
		if f.blame(result.Err) {
			tried.Message = ""
		}
		if tried.Approval = waiting(result.Err); tried.Approval != "" {
			tried.Message = "" // the page says it with a link
		}
	}
	return tried, nil
}

// note keeps what the engine has to say beside the answer.
func (t *trial) note(result *engine.Result) {
	if note := result.Remarks.Field("note"); note.Text != "" {
		t.Notes = append(t.Notes, note.Text)
	}
	if result.Notes.Truncated {
		t.Notes = append(t.Notes, "The answer was cut: it would have been longer than the contract allows.")
	}
}

// shownJSON lays JSON out for people. What does not show itself, such as marks that turn
// the direction of writing, is spelt out, and it is the same JSON still.
func shownJSON(v *jsontree.Value) string { return shownBytes(v.Append(nil)) }

func shownBytes(source []byte) string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, source, "", "  ") != nil {
		return approval.Plain(string(source))
	}
	return jsontree.Spell(pretty.String(), func(r rune) bool { return unicode.IsGraphic(r) || r == '\n' })
}
