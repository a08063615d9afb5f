package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/visible"
)

func (p *Program) trustCommand() *cobra.Command {
	var show, revoke, moved, copied, newData bool
	c := &cobra.Command{
		Use:  "trust",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			for how, chosen := range map[Recovery]bool{Moved: moved, Copied: copied, NewData: newData} {
				if chosen {
					return p.recover(how)(cmd, args)
				}
			}
			s, err := p.settings(cmd)
			if err != nil {
				return usageError{err}
			}
			switch {
			case show:
				return p.showTrust(&s)
			case revoke:
				return p.revokeTrust(&s)
			}
			return p.trustWorkspace(cmd.Context(), &s)
		},
	}
	c.Flags().BoolVar(&show, "show", false, "show what the configuration file asks for, and what is trusted")
	c.Flags().BoolVar(&revoke, "revoke", false, "trust nothing in this workspace any more")
	c.Flags().BoolVar(&moved, "moved", false, "the workspace was moved here: its tokens and approvals stay valid")
	c.Flags().BoolVar(&copied, "copied", false, "the workspace is a copy, or the key folder was lost: use its data, but no token or approval in it")
	c.Flags().BoolVar(&newData, "new-data", false, "the database that the workspace used is gone for good: go on with what is there now")
	c.MarkFlagsMutuallyExclusive("show", "revoke", "moved", "copied", "new-data")
	return p.withJSON("with --show: print as JSON", c)
}

func (p *Program) trustWorkspace(ctx context.Context, s *Settings) error {
	open := slices.Concat(s.Untrusted, s.TrustedAll) // which nobody has reviewed
	if len(open) == 0 {
		fmt.Fprintf(p.Stdout, "There is nothing to trust: %s\n", s.trustState())
		return p.forgetStale(s)
	}
	if err := p.requireConsent(ctx, trustQuestion(s.Config, open)); err != nil {
		return err
	}
	if err := p.decideTrust(s, open, true); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "Trusted %d entries of %s. They are in force when Remit starts next.\n", len(open), s.Config)
	return nil
}

func (s *Settings) trustState() string {
	if len(s.asked) == 0 {
		return "the workspace asks for nothing beyond the defaults."
	}
	return fmt.Sprintf("all %d entries that go beyond the defaults are trusted.", len(s.asked))
}

// trustView is the JSON form of trust --show.
type trustView struct {
	File    string       `json:"file"`
	Digest  string       `json:"digest,omitempty"` // for REMIT_TRUST
	Entries []trustEntry `json:"entries"`
}

type trustEntry struct {
	Entry
	Trusted bool `json:"trusted"`
}

func (p *Program) showTrust(s *Settings) error {
	view := trustView{File: s.Config, Entries: []trustEntry{}}
	for _, e := range s.asked {
		shown := Entry{e.Key, strings.TrimPrefix(e.String(), e.Key+": ")} // without passwords
		view.Entries = append(view.Entries, trustEntry{shown, !slices.Contains(s.Untrusted, e)})
	}
	if len(s.asked) > 0 {
		view.Digest = digestOf(s.asked)
	}
	return p.show(view, func() {
		if s.trustProblem != nil {
			fmt.Fprintf(p.Stdout, "%s\nTo decide again, run \"remit trust\" in a terminal.\n\n", unreadableTrust(s.trustProblem))
		}
		if len(view.Entries) == 0 {
			fmt.Fprintln(p.Stdout, "The workspace asks for nothing beyond the defaults.")
			return
		}
		var t table
		t.add("TRUSTED", "SETTING", "VALUE")
		for _, e := range view.Entries {
			state := map[bool]string{true: "yes", false: "no"}[e.Trusted]
			t.add(state, e.Key, visible.Line(e.Value))
		}
		t.write(p.Stdout)
		fmt.Fprintf(p.Stdout, "\nWhere nobody can be asked, such as in a container, REMIT_TRUST=%s trusts exactly these entries.\n", view.Digest)
	})
}

func (p *Program) revokeTrust(s *Settings) error {
	store := p.trust(s)
	if store == nil {
		return errNoTrustStore
	}
	err := store.Revoke(realPath(s.Root))
	if err == nil {
		fmt.Fprintln(p.Stdout, "Nothing in this workspace is trusted any more. It takes effect when Remit starts next.")
	}
	return err
}
