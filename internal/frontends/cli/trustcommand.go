package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

func (p *Program) trustCommand() *cobra.Command {
	var show, revoke, moved, copied, newData, lostRecords bool
	c := &cobra.Command{
		Use:  "trust",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			for how, chosen := range map[Recovery]bool{Moved: moved, Copied: copied, NewData: newData, LostRecords: lostRecords} {
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
				return p.revokeTrust(cmd.Context(), &s)
			}
			return p.trustWorkspace(cmd.Context(), &s)
		},
	}
	c.Flags().BoolVar(&show, "show", false, "show what the configuration file asks for, and what is trusted")
	c.Flags().BoolVar(&revoke, "revoke", false, "trust nothing in this workspace any more")
	c.Flags().BoolVar(&moved, "moved", false, "the workspace was moved here: its tokens and approvals stay valid")
	c.Flags().BoolVar(&copied, "copied", false, "the workspace is a copy, or the key folder was lost: use its data, but no token or approval in it")
	c.Flags().BoolVar(&newData, "new-data", false, "the data that the workspace used is gone for good: go on with what is there now")
	c.Flags().BoolVar(&lostRecords, "lost-records", false, "audit records are gone for good: go on with those that are there now")
	c.MarkFlagsMutuallyExclusive("show", "revoke", "moved", "copied", "new-data", "lost-records")
	return p.withJSON("with --show: print as JSON", c)
}

func (p *Program) trustWorkspace(ctx context.Context, s *Settings) error {
	open := slices.Concat(s.Untrusted, s.TrustedAll) // which nobody has reviewed
	if len(open) == 0 {
		fmt.Fprintf(p.Stdout, "There is nothing to trust: %s\n", s.trustState())
		return p.forgetStale(s)
	}
	yes, err := p.confirmPerson(ctx, trustQuestion(s.Config, open))
	if err != nil {
		// The command fails for its own reason, whether that can be recorded or not.
		_ = p.withRecord(ctx, s, func(who Identity) error {
			refuse(ctx, who, action("trust/accept", s.aboutTrust(open)...), err)
			return nil
		})
		return err
	}
	if err := p.decideTrust(ctx, s, open, yes); err != nil {
		return err
	}
	if !yes {
		return errNoConsent
	}
	fmt.Fprintf(p.Stdout, "Trusted %s of %s, in force when Remit starts next.\n", contract.Count(len(open), "entry"), s.Config)
	return nil
}

func (s *Settings) trustState() string {
	if len(s.asked) == 0 {
		return "the workspace asks for nothing beyond the defaults."
	}
	return fmt.Sprintf("everything that goes beyond the defaults is trusted (%s).", contract.Count(len(s.asked), "entry"))
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
		shown := e.clipped()
		if p.asJSON {
			shown = e.shown()
		}
		view.Entries = append(view.Entries, trustEntry{Entry{e.Key, shown}, !slices.Contains(s.Untrusted, e)})
	}
	if len(s.asked) > 0 {
		view.Digest = digestOf(s.asked)
	}
	return p.show(view, func() {
		if s.trustProblem != nil {
			fmt.Fprintf(p.Stdout, p.hint("%s\nTo decide again, run \"remit trust\" in a terminal.\n\n"), unreadableTrust(s.trustProblem))
		}
		if len(view.Entries) == 0 {
			fmt.Fprintln(p.Stdout, "The workspace asks for nothing beyond the defaults.")
			return
		}
		var t table
		t.add("TRUSTED", "SETTING", "VALUE")
		for _, e := range view.Entries {
			state := map[bool]string{true: "yes", false: "no"}[e.Trusted]
			t.add(state, e.Key, e.Value)
		}
		t.write(p.Stdout)
		fmt.Fprintf(p.Stdout, "\nWhere nobody can be asked, such as in a container, REMIT_TRUST=%s trusts exactly these entries.\n", view.Digest)
	})
}

// revokeTrust removes the decisions about the workspace, even if that cannot be recorded.
func (p *Program) revokeTrust(ctx context.Context, s *Settings) error {
	store := p.trust(s)
	if store == nil {
		return errNoTrustStore
	}
	if err := store.Revoke(realPath(s.Root)); err != nil {
		return err
	}
	fmt.Fprintln(p.Stdout, "Nothing in this workspace is trusted any more. It takes effect when Remit starts next.")
	return p.withRecord(ctx, s, func(who Identity) error { return who.Record(ctx, action("trust/revoke", s.aboutTrust(nil)...)) })
}

// withRecord calls body with what records the decisions of people. The workspace is opened with the
// entries that are in force before the decision.
func (p *Program) withRecord(ctx context.Context, s *Settings, body func(who Identity) error) error {
	before := *s
	before.Watch = false
	log, err := p.Logger(p.Stderr, s.logOptions())
	if err != nil {
		return fmt.Errorf("record the decision: %w", err)
	}
	w, err := p.Open(ctx, before, log)
	if err != nil {
		return fmt.Errorf("record the decision: %w", s.locate(err))
	}
	return errors.Join(body(w.Identity()), w.Close())
}

// aboutTrust returns what a record says about a decision.
func (s *Settings) aboutTrust(entries []Entry) []jsontree.Member {
	about := []jsontree.Member{jsontree.M("file", jsontree.Str(filepath.Base(s.Config)))}
	if len(entries) > 0 {
		about = append(about, jsontree.M("entries", jsontree.List(entries, func(e Entry) jsontree.Value {
			return jsontree.Obj(jsontree.M("key", jsontree.Str(e.Key)), jsontree.M("value", jsontree.Str(e.shown())))
		})))
	}
	return about
}

// decideTrust stores and records what a person has decided about entries, and drops what the file
// no longer asks for. Nothing is trusted that cannot be recorded.
func (p *Program) decideTrust(ctx context.Context, s *Settings, entries []Entry, yes bool) error {
	store := p.trust(s)
	if store == nil {
		return errNoTrustStore
	}
	decide := func(t *Trust) {
		s.dropStale(t)
		digest := digestOf(entries)
		t.Declined = slices.DeleteFunc(t.Declined, func(known string) bool { return known == digest })
		if !yes {
			t.Declined = append(t.Declined, digest)
			return
		}
		for _, e := range entries {
			t.Trusted = append(t.Trusted, TrustedEntry{e, p.Now().UTC().Truncate(time.Second), operator()})
		}
	}
	undo := func(t *Trust) {
		t.Trusted = slices.DeleteFunc(t.Trusted, func(e TrustedEntry) bool { return slices.Contains(entries, e.Entry) })
	}
	decision := action(map[bool]string{true: "trust/accept", false: "trust/decline"}[yes], s.aboutTrust(entries)...)
	return p.withRecord(ctx, s, func(who Identity) error {
		if err := who.CanRecord(); err != nil && yes {
			return err
		}
		if err := store.Change(realPath(s.Root), decide); err != nil {
			return err
		}
		err := who.Record(ctx, decision)
		if err != nil && yes {
			err = errors.Join(err, store.Change(realPath(s.Root), undo))
		}
		return err
	})
}
