package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
)

// bookChange is a change of the library by a command that calls no tool. The rules for the tools
// that could make the same change hold for it too.
type bookChange struct {
	*Program
	workspace Workspace
	settings  Settings
	record    *audit.Record
	effect    *audit.Effect
	permitted bool
	asks      bool // ask at the terminal, also if the tools need no approval
}

// recorder writes the records of a change before it is made. It implements audit.Writer.
type recorder struct{ Identity }

func (r recorder) Write(ctx context.Context, record *audit.Record, _ bool) error {
	return r.Record(ctx, record)
}

// permit returns an error unless the change may be made: the workspace can be written, the tools
// are not hidden, a person at the terminal agrees if one of the tools needs approval, and the
// change can be recorded. question describes the change.
func (c *bookChange) permit(ctx context.Context, question string, tools ...string) error {
	who := c.workspace.Identity()
	approved, err := c.check(ctx, tools)
	if err != nil {
		refuse(ctx, who, c.record, err)
		return err
	}
	if approved == audit.ByTerminal || c.asks {
		err := c.requireConsent(ctx, who, c.record, question)
		if errors.Is(err, errNoTerminal) && approved != audit.ByTerminal {
			return errors.New("there is no terminal to ask at; add --yes to go on without a question")
		}
		if err != nil {
			return err
		}
		approved = audit.ByTerminal
	}
	c.record.Approved = approved
	c.effect.SetRecord(c.record)
	err = who.CanRecord()
	c.permitted = err == nil
	return err
}

// check applies the settings, and returns how the change is to be approved; "" if it need not be.
func (c *bookChange) check(ctx context.Context, tools []string) (approved string, err error) {
	command := "remit " + strings.Replace(c.record.Tool, "/", " ", 1)
	if c.settings.ReadOnly {
		return "", fmt.Errorf("%s writes to the library, but the workspace is read-only; \"remit config get read_only --json\" says where that is set", command)
	}
	guarded := false
	for _, name := range tools {
		tool, err := c.workspace.Engine().Find(name)
		if err != nil {
			return "", fmt.Errorf("%s does what %s does, which is not available: the configuration file hides it", command, name)
		}
		guarded = guarded || tool.Approval.Required
	}
	switch {
	case !guarded:
		return "", nil
	case c.settings.Approve == approval.Auto:
		return audit.ByMode, nil
	case c.settings.Approve == approval.Deny:
		return "", contract.Errorf(contract.Denied, "This needs approval, and every such call is denied (the setting approve is deny), so nothing was written")
	}
	asked := approval.Request{Tool: c.record.Tool, Principal: LocalPrincipal}
	return audit.ByTerminal, c.workspace.Desk().CheckWay(ctx, asked, approval.Decision{Approve: true, By: operator(), Via: viaTerminal})
}

// recorded records a change that was permitted, and returns its error.
func (c *bookChange) recorded(ctx context.Context, failed error) error {
	if !c.permitted {
		return failed
	}
	if failed != nil {
		c.record.Outcome = string(contract.AsError(failed).Kind)
	}
	c.effect.AddTo(c.record)
	err := c.workspace.Identity().Record(context.WithoutCancel(ctx), c.record)
	if err != nil && failed == nil {
		return contract.Errorf(contract.Unavailable, "The library was changed, but the audit record could not be written; "+
			"do not repeat the command").Because(err)
	}
	return failed
}

// about adds members to the record.
func (c *bookChange) about(members ...jsontree.Member) {
	c.record.Arguments.Members = append(c.record.Arguments.Members, members...)
}

// toolFor returns the tool that can write a file of a book.
func toolFor(file string) string {
	switch {
	case strings.HasPrefix(file, "assets/"):
		return "upload_asset"
	case path.Base(file) == ".summary.md":
		return "write_summary"
	}
	return "write_content"
}
