package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/identity"
)

// sessionView is the JSON form of a session at the console.
type sessionView struct {
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	CreatedAt time.Time `json:"created_at"`
	SeenAt    time.Time `json:"seen_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (p *Program) tokenSessions() *cobra.Command {
	return p.withJSON("print as JSON", &cobra.Command{
		Use:  "sessions",
		Args: cobra.NoArgs,
		RunE: p.withIdentity(func(ctx context.Context, who Identity, _ []string) error {
			people, err := who.SignIn().People(ctx)
			if err != nil {
				return err
			}
			views := convert(people, func(s identity.Session) sessionView {
				return sessionView{Name: s.Name, Role: s.Role.String(), CreatedAt: s.Created, SeenAt: s.Seen, ExpiresAt: s.Expires}
			})
			return p.show(views, func() { p.printSessions(people) })
		}),
	})
}

func (p *Program) printSessions(people []identity.Session) {
	t := table{empty: p.hint("Nobody is signed in at the console. \"remit token link\" creates a sign-in link.")}
	t.add("NAME", "ROLE", "SIGNED IN", "LAST SEEN", "ENDS")
	for _, s := range people {
		t.add(s.Name, s.Role.String(), p.minute(s.Created), p.minute(s.Seen), p.minute(s.Expires))
	}
	t.write(p.Stdout)
}

func (p *Program) tokenSignout() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:     "signout NAME",
		Aliases: []string{"logout"},
		Args: func(cmd *cobra.Command, args []string) error {
			if all != (len(args) == 0) {
				return usageError{errors.New("name the person to sign out: remit token signout NAME, or use --all for everybody")}
			}
			return cobra.MaximumNArgs(1)(cmd, args)
		},
		RunE: p.withIdentity(func(ctx context.Context, who Identity, args []string) error {
			name := identity.Everybody
			if !all {
				name = args[0]
			}
			recorded, effect := who.Start(ctx, action("token/signout", jsontree.M("name", jsontree.Str(name))))
			ended, err := who.SignIn().SignOut(recorded, name)
			if ended > 0 || err == nil {
				effect.Describe(jsontree.M("sessions", jsontree.Int(int64(ended))))
				err = errors.Join(err, effect.Conclude(ctx, nil))
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(p.Stdout, "Ended sessions: %d. Unused sign-in links are invalid now.\n", ended)
			if ended == 0 && !all {
				fmt.Fprintf(p.Stderr, p.hint("Nobody called %q is signed in; \"remit token sessions\" shows who is.\n"), name)
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "sign out everybody, including yourself")
	return c
}
