package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/identity"
	"remit/internal/visible"
)

// trial is the result of a call from the page of a tool.
type trial struct {
	Outcome  string
	Took     time.Duration
	Bytes    int
	Body     string
	Message  string   // of an error
	Notes    []string // about the response
	Approval string   // the id of the approval request, if the call waits for one
}

// mayUse returns an error if the role of the person does not allow calls to the tool.
func (v *visit) mayUse(t *engine.Tool) error {
	if t.Hints.ReadOnly || v.person.Role >= identity.Approver {
		return nil
	}
	return contract.Errorf(contract.Denied, "%s writes, so you need the role %s to try it, and you are signed in as %s",
		t.Name, identity.Approver, v.person.Role)
}

// tryTool calls a tool as the person, with the arguments of the form. The contract is enforced as
// for every caller, and the call is recorded.
func (v *visit) tryTool() error {
	t, err := v.Engine.Find(v.r.PathValue("name"))
	if err != nil {
		return err
	}
	if err := v.mayUse(t); err != nil {
		v.recordRefusal("role", v.person.Principal())
		return err
	}
	view := v.toolView(t)
	args, ok := view.Form.read(v.r.PostForm)
	if !ok {
		return v.pageWith(http.StatusBadRequest, "tool", "tools", t.Title, view)
	}
	args, err = jsontree.Parse(args.Append(nil)) // as every front end does: parsed from bytes
	if err != nil {
		return contract.Errorf(contract.Invalid, "The arguments are not valid JSON: %v", err)
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
		Tool: t.Name, Args: args, Principal: v.person.Principal(), Frontend: frontendConsole,
	})
	if err != nil {
		return nil, err
	}
	tried := &trial{Outcome: "ok", Took: v.Now().Sub(started), Bytes: len(result.Body), Body: shownBytes(result.Body)}
	tried.addNotes(&result)
	switch {
	case result.Suspended != nil:
		tried.Outcome = "asked"
		tried.Message = "The tool needs more input or continues as a task, which this page does not support; use an MCP client."
	case result.Err != nil:
		tried.Outcome, tried.Message = string(result.Err.Kind), result.Err.Message
		if f.showError(result.Err) {
			tried.Message = ""
		}
		if tried.Approval = pendingApproval(result.Err); tried.Approval != "" {
			tried.Message = "" // the page shows a link to the request instead
		}
	}
	return tried, nil
}

// addNotes adds the notes of the engine about the response.
func (t *trial) addNotes(result *engine.Result) {
	if note := result.Metadata.Field("note"); note.Text != "" {
		t.Notes = append(t.Notes, note.Text)
	}
	if result.Truncation.Truncated {
		t.Notes = append(t.Notes, "The response was truncated to the size that the contract allows.")
	}
}

// shownJSON formats JSON for people. Invisible characters, such as those that change the direction
// of text, are escaped; the result is still the same JSON.
func shownJSON(v *jsontree.Value) string { return shownBytes(v.Append(nil)) }

func shownBytes(source []byte) string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, source, "", "  ") != nil {
		return visible.Line(string(source))
	}
	return visible.Text(pretty.String())
}
