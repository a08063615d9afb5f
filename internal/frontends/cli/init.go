package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/frontends/cli/clients"
)

// choices holds the answers for a new configuration.
type choices struct {
	settings map[string]string // without those left at their defaults
	client   *clients.Client   // to be connected now; nil for none
}

func (p *Program) initCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:  "init",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.initWorkspace(cmd, yes) },
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask; take the defaults")
	return c
}

func (p *Program) initWorkspace(cmd *cobra.Command, yes bool) error {
	file, chosen, err := p.startInit(cmd)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s already exists; edit it, or move it away and run \"remit init\" again", file)
	}
	if !yes {
		if !(terminal{p}).interactive() {
			return usageError{errors.New("cannot ask questions without a terminal; use --yes to take the defaults")}
		}
		if err := p.askAll(chosen); err != nil {
			return err
		}
	}
	text := configText(chosen.settings)
	check := newConfigFile(file)
	if err := errors.Join(p.checkToolsets(chosen.settings["toolsets"]), check.parse(text)); err != nil {
		return usageError{err}
	}
	if err := createFile(file, text); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	fmt.Fprintf(p.Stdout, "Wrote %s. It explains every setting.\n", file)
	if err := p.trustNew(cmd); err != nil {
		return err
	}
	if chosen.client == nil {
		fmt.Fprintf(p.Stdout, p.hint("Next: connect a client with \"remit install CLIENT\" (%s), or run \"remit serve\".\n"),
			strings.Join(clients.Names(), ", "))
		return nil
	}
	if err := p.install(cmd, chosen.client, &installOptions{name: "remit", settled: true}); err != nil {
		return fmt.Errorf("connect the client: %w", err)
	}
	fmt.Fprintln(p.Stdout, p.hint("Next: run \"remit doctor\" to check the setup."))
	return nil
}

// trustNew asks about the entries of a new file that go beyond the defaults, or says that they are
// not in force yet.
func (p *Program) trustNew(cmd *cobra.Command) error {
	s, err := p.settings(cmd)
	if err != nil {
		return err
	}
	if trusted, err := p.askTrust(cmd.Context(), &s); err != nil || trusted {
		return err
	}
	p.trustNotice(&s, false)
	return nil
}

// startInit returns the path of the file to write, and the choices that flags already make.
func (p *Program) startInit(cmd *cobra.Command) (string, *choices, error) {
	chosen := &choices{settings: map[string]string{}}
	r := p.resolver(cmd)
	for _, s := range settingsTable {
		if f := cmd.Flags().Lookup(s.flag()); f == nil || !f.Changed || s.key == "root" {
			continue
		}
		if !slices.Contains([]string{"toolsets", "approve", "read_only"}, s.key) {
			return "", nil, usageError{fmt.Errorf("init accepts only --root, --toolsets, --approve and --read-only; "+
				"set %s in the file, or give --%s when you start Remit",
				s.key, s.flag())}
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
	return filepath.Join(root, configName), chosen, nil
}

// checkToolsets rejects toolsets that cannot be served, with the same messages as serve.
func (p *Program) checkToolsets(text string) error {
	if text == "" {
		return nil
	}
	sets, err := p.Catalog()
	if err != nil {
		return err
	}
	for _, name := range splitList(text) {
		if !slices.ContainsFunc(sets, func(set *contract.Set) bool { return set.IsNamed(name) }) {
			return fmt.Errorf("there is no toolset %q; known: %s", name, strings.Join(setNames(sets), ", "))
		}
	}
	return nil
}

func setNames(sets []*contract.Set) []string {
	return convert(sets, func(set *contract.Set) string { return set.Name })
}

// askAll asks the questions that no flag has answered.
func (p *Program) askAll(chosen *choices) error {
	in := bufio.NewReader(p.Stdin)
	if _, known := chosen.settings["toolsets"]; !known {
		sets, err := p.Catalog()
		if err != nil {
			return err
		}
		about := "Which toolsets should Remit serve?\n"
		for _, set := range sets {
			about += fmt.Sprintf("  %-12s %s\n", set.Name, set.Title)
		}
		if err := p.ask(in, chosen, "toolsets", about, p.checkToolsets); err != nil {
			return err
		}
	}
	if _, known := chosen.settings["approve"]; !known {
		about := "How should Remit handle calls that need approval?\n" +
			"  ask          a person decides\n" +
			"  auto         they are allowed; a warning is logged at every start\n" +
			"  deny         they are denied\n"
		err := p.ask(in, chosen, "approve", about, func(text string) error { _, err := approval.ParseMode(text); return err })
		if err != nil {
			return err
		}
	}
	about := "Which client do you want to connect now?\n  " + strings.Join(clients.Names(), ", ") + "\n"
	answer, err := p.answer(in, about, "none", func(text string) error {
		if text != "none" && clients.Find(text) == nil {
			return fmt.Errorf("unknown client %q", text)
		}
		return nil
	})
	chosen.client = clients.Find(answer)
	return err
}

// ask asks for a setting. It stores the answer unless it is the default.
func (p *Program) ask(in *bufio.Reader, chosen *choices, key, about string, check func(string) error) error {
	fallback := settingNamed(key).fallback
	answer, err := p.answer(in, about, fallback, check)
	if err == nil && answer != fallback {
		chosen.settings[key] = answer
	}
	return err
}

// answer asks until check accepts the answer. An empty answer means fallback.
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

// configText returns a configuration file that explains every setting. Chosen settings are set; the
// others are comments with their defaults.
func configText(chosen map[string]string) []byte {
	var b strings.Builder
	b.WriteString("# Settings of Remit for this workspace. Flags and REMIT_... variables override this file.\n" +
		"# \"remit config print\" shows the effective values and their origins. Restart Remit after a change.\n")
	for _, s := range settingsTable {
		if s.key == "root" || s.key == "config" || slices.Contains(operatorKeys(), s.key) {
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
	b.WriteString("\n# rules for single tools; they can only make contracts stricter\n" +
		"# tools:\n#   hello: {rate: 10/min}\n#   read_repo_file: {deny: [\"**/drafts/**\"], approval: true}\n")
	b.WriteString("\n# These settings cannot be set in this file. Set them by flag or environment variable:\n")
	for _, key := range operatorKeys() {
		s := settingNamed(key)
		fmt.Fprintf(&b, "#   --%s: %s\n", s.flag(), s.about)
	}
	return []byte(b.String())
}
