package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
	"remit/internal/frontends/cli/clients"
	"remit/internal/toolsets/books"
	"remit/internal/toolsets/tasks"
	"remit/internal/visible"
)

// Lists reads the stored data of a workspace for shell completion and the overview. It creates
// nothing: where there is no data, a list is empty.
type Lists interface {
	// Tasks returns the newest tasks of a user.
	Tasks(ctx context.Context, user string, f tasks.Filter, limit int) ([]tasks.Task, error)
	// Approvals returns requests for approval, newest first.
	Approvals(ctx context.Context, o approval.ListOptions) ([]approval.Request, error)
	// Tokens returns all tokens, newest first.
	Tokens(ctx context.Context) ([]identity.Token, error)
	// Books returns all books.
	Books(ctx context.Context) ([]books.Book, error)
	// Processes returns the running processes that use the data folder.
	Processes(ctx context.Context) ([]Process, error)
}

const (
	completionTimeout = 2 * time.Second // a person waits for the shell
	maxOffered        = 1000            // the newest ids; older ones have to be typed
	maxDescription    = 100             // columns
	anyNumber         = 0               // of arguments
)

// wordList returns the words that completion offers, each with an optional description after a tab.
type wordList func(cmd *cobra.Command, toComplete string) ([]string, error)

// values returns a completion with the words of a list. If the list cannot be read, it offers
// nothing; BASH_COMP_DEBUG_FILE shows the error.
func values(list wordList) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		words, err := list(cmd, toComplete)
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
			words = nil
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// arguments returns a completion of the first n arguments. It leaves out words that the command
// line has already.
func arguments(n int, list wordList) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if n != anyNumber && len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		words, directive := values(list)(cmd, args, toComplete)
		return slices.DeleteFunc(words, func(word string) bool {
			word, _, _ = strings.Cut(word, "\t")
			return slices.Contains(args, word)
		}), directive
	}
}

// fixed returns a list that is always the same.
func fixed(words ...string) wordList {
	return func(*cobra.Command, string) ([]string, error) { return slices.Clone(words), nil }
}

// separated returns a completion of values that are separated by commas.
func separated(list wordList) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		before := toComplete[:strings.LastIndexByte(toComplete, ',')+1]
		words, directive := arguments(anyNumber, list)(cmd, strings.Split(before, ","), "")
		return convert(words, func(word string) string { return before + word }), directive | cobra.ShellCompDirectiveNoSpace
	}
}

// files returns a completion with the names of files, after the first skipped arguments and up to
// the n-th.
func files(skipped, n int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) < skipped || n != anyNumber && len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// folders completes the first argument with the names of folders.
func folders(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// complete registers the completion of flags. Flags that are not listed here, and arguments of
// commands without a ValidArgsFunction, are not completed with the names of files.
func (p *Program) complete(root *cobra.Command) {
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	file := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	folder := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	onOff := values(fixed("on", "off"))
	byFlag := map[string]cobra.CompletionFunc{
		"root": folder, "data": folder, "dir": folder,
		"config": file, "tls-cert": file, "tls-key": file, "output": file, "set": file,
		"watch": onOff, "rate-limits": onOff, "embeddings-only": onOff,
		"identity":   values(fixed("auto", "on", "off")),
		"approve":    values(fixed("ask", "auto", "deny")),
		"log-level":  values(fixed("debug", "info", "warn", "error")),
		"embeddings": values(fixed(LocalEmbeddings)),
		"toolsets":   separated(p.toolsetNames),
		"scopes":     separated(p.scopes),
		"role":       values(fixed("viewer", "approver", "admin")),
		"tool":       values(p.toolNames),
		"outcome":    values(fixed(outcomes()...)),
		"format":     values(fixed(formatNames()...)),
		"type":       values(fixed(knownTypes()...)),
		"status":     values(fixed(string(tasks.Open), string(tasks.Completed))),
		"priority":   values(fixed("low", "medium", "high")),
		"clear":      separated(fixed("due", "description")),
		"book":       values(p.bookIDs),
	}
	for _, c := range withSubcommands(root) {
		register := func(f *pflag.Flag) {
			if complete := byFlag[f.Name]; complete != nil {
				_ = c.RegisterFlagCompletionFunc(f.Name, complete) // the flag exists
			}
		}
		c.Flags().VisitAll(register)
		c.PersistentFlags().VisitAll(register)
	}
}

// stored returns a list that is read from the data of the workspace.
func (p *Program) stored(list func(ctx context.Context, from Lists, cmd *cobra.Command, toComplete string) ([]string, error)) wordList {
	return func(cmd *cobra.Command, toComplete string) ([]string, error) {
		settings, err := p.settings(cmd)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		return list(ctx, p.Lists(settings), cmd, toComplete)
	}
}

// described returns a word with its description, both without invisible characters.
func described(word, description string) string {
	return cobra.CompletionWithDesc(visible.Line(word), cut(visible.Line(description), maxDescription))
}

// completeTask completes n ids of tasks with a status, or of all tasks.
func (t *taskCommands) completeTask(n int, status tasks.Status) cobra.CompletionFunc {
	return arguments(n, t.stored(func(ctx context.Context, from Lists, cmd *cobra.Command, _ string) ([]string, error) {
		user := t.user
		if !cmd.Flags().Changed("user") {
			user = loginName()
		}
		found, err := from.Tasks(ctx, user, tasks.Filter{Status: status}, maxOffered)
		return convert(found, func(t tasks.Task) string { return described(strconv.FormatInt(t.ID, 10), t.Title) }), err
	}))
}

// completeApproval completes the id of a request: a pending one, or any.
func (p *Program) completeApproval(all bool) cobra.CompletionFunc {
	return arguments(1, p.stored(func(ctx context.Context, from Lists, _ *cobra.Command, _ string) ([]string, error) {
		found, err := from.Approvals(ctx, approval.ListOptions{All: all, Limit: maxOffered, Now: time.Now()})
		return convert(found, func(r approval.Request) string {
			return described(r.ID, r.Tool+": "+r.Summary+" "+string(r.Arguments))
		}), err
	}))
}

// completeToken completes the name of a valid token. Its id is offered as well once something has
// been typed.
func (p *Program) completeToken() cobra.CompletionFunc {
	return arguments(1, p.stored(func(ctx context.Context, from Lists, _ *cobra.Command, toComplete string) ([]string, error) {
		found, err := from.Tokens(ctx)
		var words []string
		for _, t := range found {
			if !t.Live(p.Now()) {
				continue
			}
			words = append(words, described(t.Name, t.ID+" "+t.Scopes.String()))
			if toComplete != "" {
				words = append(words, described(t.ID, t.Name))
			}
		}
		return words, err
	}))
}

// completeBook completes the id of a book.
func (p *Program) completeBook() cobra.CompletionFunc { return arguments(1, p.bookIDs) }

func (p *Program) bookIDs(cmd *cobra.Command, toComplete string) ([]string, error) {
	return p.stored(func(ctx context.Context, from Lists, _ *cobra.Command, _ string) ([]string, error) {
		found, err := from.Books(ctx)
		return convert(found, func(b books.Book) string { return described(b.ID, b.Title) }), err
	})(cmd, toComplete)
}

// completeCall completes the name of a tool, and then the names of its arguments.
func (p *Program) completeCall(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return values(p.toolNames)(cmd, args, toComplete)
	}
	chosen, _ := p.chosenContracts(cmd) // without contracts there is nothing to offer
	var words []string
	for _, c := range chosen {
		if c.Name == args[0] {
			words = convert(c.Input.Field("properties").Members, func(m jsontree.Member) string { return m.Key + "=" })
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func (p *Program) toolNames(cmd *cobra.Command, _ string) ([]string, error) {
	chosen, err := p.chosenContracts(cmd)
	return convert(chosen, func(c *contract.Contract) string { return described(c.Name, c.Description) }), err
}

// chosenContracts returns the contracts of the toolsets in the settings.
func (p *Program) chosenContracts(cmd *cobra.Command) ([]*contract.Contract, error) {
	settings, err := p.settings(cmd)
	if err != nil {
		return nil, err
	}
	known, err := p.Catalog(settings.Toolsets...)
	if err != nil {
		return nil, err
	}
	sets, err := catalog.Select(known, settings.Toolsets)
	var contracts []*contract.Contract
	for _, set := range sets {
		contracts = append(contracts, set.Contracts...)
	}
	return contracts, err
}

func (p *Program) toolsetNames(*cobra.Command, string) ([]string, error) {
	sets, err := p.Catalog()
	return convert(sets, func(set *contract.Set) string { return described(set.Name, set.Title) }), err
}

// scopes returns the scopes that a token can have.
func (p *Program) scopes(*cobra.Command, string) ([]string, error) {
	sets, err := p.Catalog()
	words := []string{"*:read", "*:write"}
	for _, set := range sets {
		words = append(words, identity.Scope{Set: set.Name}.String(), identity.Scope{Set: set.Name, Write: true}.String())
	}
	return words, err
}

func clientNames(*cobra.Command, string) ([]string, error) {
	return convert(clients.All(), func(c *clients.Client) string { return described(c.Name, c.Title) }), nil
}

// completeCommand completes the name of a command, for help and man.
func completeCommand(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, sub := range found.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, described(sub.Name(), sub.Short))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
