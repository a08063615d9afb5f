package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"
	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/frontends/cli/clients"
)

// choices are what a new configuration says.
type choices struct {
	settings map[string]string // those that are not left at their defaults
	client   *clients.Client   // to be connected now; nil for none
}

func (p *Program) initCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:  "init",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.initWorkspace(cmd, yes) },
	}
	c.Flags().BoolVar(&yes, "yes", false, "ask nothing: take the defaults")
	return c
}

func (p *Program) initWorkspace(cmd *cobra.Command, yes bool) error {
	file, chosen, err := p.startInit(cmd)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s is there already and is not overwritten; edit it, or move it away and run \"remit init\" again", file)
	}
	if !yes {
		if !(terminal{p}).interactive() {
			return usageError{errors.New("there is no terminal to ask at; use --yes to take the defaults")}
		}
		if err := p.askAll(chosen); err != nil {
			return err
		}
	}
	text := configText(chosen.settings)
	check := configFile{name: file, settings: map[string]string{}, places: map[string]*token.Position{}}
	if err := errors.Join(p.checkToolsets(chosen.settings["toolsets"]), check.parse(text)); err != nil {
		return usageError{err}
	}
	if err := createFile(file, text); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	fmt.Fprintf(p.Stdout, "%s is written. Every setting is explained in it.\n", file)
	if chosen.client == nil {
		fmt.Fprintf(p.Stdout, "Next: connect a client with \"remit install CLIENT\" (%s), or run \"remit serve\".\n", strings.Join(clients.Names(), ", "))
		return nil
	}
	if err := p.install(cmd, chosen.client, &installOptions{name: "remit", settled: true}); err != nil {
		return fmt.Errorf("the client is not connected: %w", err)
	}
	fmt.Fprintln(p.Stdout, "Next: \"remit doctor\" tells whether all is well.")
	return nil
}

// startInit finds out where the file goes, and what was said beforehand.
func (p *Program) startInit(cmd *cobra.Command) (string, *choices, error) {
	chosen := &choices{settings: map[string]string{}}
	r := &resolver{flags: cmd.Flags(), env: p.Env}
	for _, s := range settingsTable {
		if f := cmd.Flags().Lookup(s.flag()); f == nil || !f.Changed || s.key == "root" {
			continue
		}
		if !slices.Contains([]string{"toolsets", "approve", "read_only"}, s.key) {
			return "", nil, usageError{fmt.Errorf("init takes --root, --toolsets, --approve and --read-only; set %s in the file, or give --%s when you start Remit", s.key, s.flag())}
		}
		chosen.settings[s.key], _ = r.lookup(s.key)
	}
	if mode, ok := chosen.settings["approve"]; ok {
		if _, err := approval.ParseMode(mode); err != nil {
			return "", nil, usageError{fmt.Errorf("approve: %w", err)}
		}
	}
	root, err := r.root()
	if err != nil {
		return "", nil, usageError{err}
	}
	return filepath.Join(root, "remit.yaml"), chosen, nil
}

// checkToolsets refuses toolsets that cannot be served, in the words that serve has.
func (p *Program) checkToolsets(text string) error {
	if text == "" {
		return nil
	}
	sets, err := p.Catalog()
	if err != nil {
		return err
	}
	owners := map[string]string{}
	for _, name := range splitList(text) {
		i := slices.IndexFunc(sets, func(set *contract.Set) bool { return set.Name == name })
		if i < 0 {
			return fmt.Errorf("there is no toolset %q; there are %s", name, strings.Join(setNames(sets), ", "))
		}
		for _, c := range sets[i].Contracts {
			if other, taken := owners[c.Name]; taken && other != name {
				return fmt.Errorf("%s and %s both have a tool %s; take one of them", other, name, c.Name)
			}
			owners[c.Name] = name
		}
	}
	return nil
}

func setNames(sets []*contract.Set) []string {
	return convert(sets, func(set *contract.Set) string { return set.Name })
}

// askAll puts the questions that have no answer yet.
func (p *Program) askAll(chosen *choices) error {
	in := bufio.NewReader(p.Stdin)
	if _, known := chosen.settings["toolsets"]; !known {
		sets, err := p.Catalog()
		if err != nil {
			return err
		}
		about := "Which toolsets should be served?\n"
		for _, set := range sets {
			about += fmt.Sprintf("  %-12s %s\n", set.Name, set.Title)
		}
		if err := p.ask(in, chosen, "toolsets", about, p.checkToolsets); err != nil {
			return err
		}
	}
	if _, known := chosen.settings["approve"]; !known {
		about := "What happens to calls that need approval?\n  ask          a person decides\n  auto         they pass; whoever starts Remit is told that nobody guards\n  deny         they are refused\n"
		err := p.ask(in, chosen, "approve", about, func(text string) error { _, err := approval.ParseMode(text); return err })
		if err != nil {
			return err
		}
	}
	about := "Which client should be connected now?\n  " + strings.Join(clients.Names(), ", ") + "\n"
	answer, err := p.answer(in, about, "none", func(text string) error {
		if text != "none" && clients.Find(text) == nil {
			return fmt.Errorf("there is no client %q", text)
		}
		return nil
	})
	chosen.client = clients.Find(answer)
	return err
}

// ask asks for a setting; the default is left out of the file.
func (p *Program) ask(in *bufio.Reader, chosen *choices, key, about string, check func(string) error) error {
	fallback := settingsTable[slices.Index(settingKeys(), key)].fallback
	answer, err := p.answer(in, about, fallback, check)
	if err == nil && answer != fallback {
		chosen.settings[key] = answer
	}
	return err
}

// answer asks until it gets an answer that will do; none is the one in brackets.
func (p *Program) answer(in *bufio.Reader, about, fallback string, check func(string) error) (string, error) {
	for {
		fmt.Fprintf(p.Stderr, "%s[%s] ", about, fallback)
		line, err := in.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("read the answer: %w", err)
		}
		line = strings.TrimSpace(line)
		if line == "" {
			line = fallback
		}
		if err = check(line); err == nil {
			return line, nil
		}
		fmt.Fprintf(p.Stderr, "%s\n", message(err))
		about = ""
	}
}

// configText writes a configuration with every setting explained: those that were
// chosen as they are, the others as comments with their defaults.
func configText(chosen map[string]string) []byte {
	var b strings.Builder
	b.WriteString("# Settings of Remit for this workspace. A flag or a REMIT_... variable wins over what stands here;\n" +
		"# \"remit config print\" shows what is in force and where it came from. Restart Remit after a change.\n")
	for _, s := range settingsTable {
		if s.key == "root" || s.key == "config" || slices.Contains(operatorOnly(), s.key) {
			continue
		}
		fmt.Fprintf(&b, "\n# %s\n", s.about)
		value, isChosen := chosen[s.key]
		switch {
		case isChosen:
			fmt.Fprintf(&b, "%s: %s\n", s.key, value)
		case s.fallback == "":
			fmt.Fprintf(&b, "# %s:\n", s.key)
		default:
			fmt.Fprintf(&b, "# %s: %s\n", s.key, s.fallback)
		}
	}
	b.WriteString("\n# rules for single tools, which may only be stricter than their contracts\n" +
		"# tools:\n#   hello: {rate: 10/min}\n#   read_repo_file: {deny: [\"**/drafts/**\"], approval: true}\n")
	b.WriteString("\n# These are for whoever starts Remit, by flag or variable, and not for a file in a workspace:\n")
	for _, key := range operatorOnly() {
		s := settingsTable[slices.Index(settingKeys(), key)]
		fmt.Fprintf(&b, "#   --%s: %s\n", s.flag(), s.about)
	}
	return []byte(b.String())
}
