package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

// Recovery is a way to make a workspace usable whose data is in doubt: Remit does not write to a
// database that was moved, copied, replaced or deleted until a person says what happened.
type Recovery int

// The ways to recover.
const (
	Moved       Recovery = iota + 1 // the workspace was moved here
	Copied                          // it is a copy, or the key folder was lost
	NewData                         // the old database is gone for good
	ResetTokens                     // all tokens, sessions and approvals must become invalid
	LostRecords                     // audit records are gone for good
)

// recoveries has what each recovery is called in the audit log, what the person is asked, and what
// they are told when it is done.
var recoveries = map[Recovery]struct{ action, question, done string }{
	Moved: {
		"trust/moved", "This workspace was moved here from another path. Its tokens, approvals and trusted settings stay valid. Go on?",
		"The workspace is known at this path. Its tokens and approvals are valid as before.",
	},
	Copied: {
		"trust/copied", "This workspace is a copy, or its key folder was lost. Its data is used, but no token, session or approval in it is " +
			"valid any more. Go on?",
		"The data of this workspace is in use. Create new tokens with \"remit token create\" if agents need them.",
	},
	NewData: {
		"trust/new-data", "The database that this workspace used is given up, and what is there now is used instead. Tokens, sessions and " +
			"approvals from before stay invalid. Go on?",
		"The workspace goes on with what is there now.",
	},
	LostRecords: {
		"trust/lost-records", "Audit records of this workspace are missing. Nobody will be warned about them again. Go on?",
		"The audit log goes on with the records that are there now.",
	},
	ResetTokens: {
		"token/reset", "All tokens, console sessions and requests for approval become invalid, also those of running agents. Go on?",
		"All tokens, sessions and requests for approval are invalid. Create new tokens with \"remit token create\".",
	},
}

// recover asks the person at the terminal, and then recovers the workspace.
func (p *Program) recover(how Recovery) runFunc {
	return p.with(func(cmd *cobra.Command, w Workspace, _ []string) error {
		r := recoveries[how]
		if err := w.CanRecover(cmd.Context(), how); err != nil { // so that nobody consents in vain
			refuse(cmd.Context(), w.Identity(), action(r.action), err)
			return err
		}
		if err := p.requireConsent(cmd.Context(), w.Identity(), action(r.action), r.question); err != nil {
			return err
		}
		ctx := context.WithoutCancel(cmd.Context()) // half of it would leave more doubt
		if err := w.Recover(ctx, how); err != nil {
			return err
		}
		fmt.Fprintln(p.Stdout, r.done)
		return w.Identity().Record(ctx, action(r.action))
	})
}

func (p *Program) tokenReset() *cobra.Command {
	return &cobra.Command{Use: "reset", Args: cobra.NoArgs, RunE: p.recover(ResetTokens)}
}
