package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"
	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
	"remit/internal/filelock"
	"remit/internal/visible"
)

func (p *Program) configPrint() *cobra.Command {
	return p.withJSON("print as JSON", &cobra.Command{
		Use:     "print",
		Aliases: []string{"show", "list", "ls"},
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := p.settings(cmd)
			if err != nil {
				return usageError{err}
			}
			p.trustNotice(&settings, false)
			return p.show(settings.values, func() {
				var t table
				t.add("SETTING", "FROM", "VALUE")
				for _, v := range settings.values {
					t.add(v.Key, string(v.Origin), v.Value)
				}
				t.write(p.Stdout)
			})
		},
	})
}

func (p *Program) configGet() *cobra.Command {
	return p.withJSON("print the value with its origin, as JSON", &cobra.Command{
		Use:               "get KEY",
		Args:              exactArgs(1),
		ValidArgsFunction: arguments(1, settingNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := p.settings(cmd)
			if err != nil {
				return usageError{err}
			}
			p.trustNotice(&settings, false)
			key := configKey(args[0])
			found := slices.IndexFunc(settings.values, func(v Value) bool { return v.Key == key })
			value := Value{Key: key, Origin: FromFile, Value: settings.file.leaves()[key]}
			switch {
			case found >= 0:
				value = settings.values[found]
			case value.Value == "":
				return unknownKey(key)
			}
			return p.show(value, func() { fmt.Fprintln(p.Stdout, visible.Line(value.Value)) })
		},
	})
}

func settingNames(*cobra.Command, string) ([]string, error) {
	return convert(settingsTable, func(s setting) string { return described(s.key, s.about) }), nil
}

// configKey returns a key in the spelling of the file.
func configKey(given string) string {
	if toolKey(given) != "" {
		return given
	}
	return strings.ReplaceAll(given, "-", "_")
}

// unknownKey returns an error for a key that no setting has, or for a rule of a tool that is not
// set.
func unknownKey(key string) error {
	if toolKey(key) != "" {
		return fmt.Errorf("%s is not set; a rule for a tool is tools.TOOL.KEY, with one of the keys %s", quoted(key), strings.Join(ruleKeys(), ", "))
	}
	return unknownValue("setting", key, settingKeys())
}

func (p *Program) configSet() *cobra.Command {
	return &cobra.Command{
		Use:               "set KEY VALUE",
		Args:              exactArgs(2),
		ValidArgsFunction: arguments(1, settingNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := p.openConfig(cmd)
			if err != nil {
				return err
			}
			key, value := configKey(args[0]), args[1]
			if err := checkFileKey(key); err != nil {
				return err
			}
			before := e.file.leaves()
			if before[key] == value {
				fmt.Fprintf(p.Stdout, "%s is already %s in %s.\n", key, visible.Line(withoutPassword(value)), e.name)
				return nil
			}
			after, err := e.file.with(e.text, key, value)
			if err != nil {
				return usageError{err}
			}
			return e.change(cmd, after, key, cmp.Or(before[key], notSet), value)
		},
	}
}

// notSet stands for the value of a key that the file does not have.
const notSet = "not set"

func (p *Program) configUnset() *cobra.Command {
	return &cobra.Command{
		Use:               "unset KEY",
		SuggestFor:        []string{"rm", "remove", "delete"},
		Args:              exactArgs(1),
		ValidArgsFunction: arguments(1, settingNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := p.openConfig(cmd)
			if err != nil {
				return err
			}
			key := configKey(args[0])
			if err := checkFileKey(key); err != nil {
				return err
			}
			old, given := e.file.leaves()[key]
			if !given {
				fmt.Fprintf(p.Stdout, "%s is not set in %s.\n", key, e.name)
				return nil
			}
			after, err := e.file.removing(e.text, key)
			if err != nil {
				return usageError{err}
			}
			return e.change(cmd, after, key, old, notSet)
		},
	}
}

// checkFileKey returns an error for a key that the file cannot have.
func checkFileKey(key string) error {
	parts := strings.Split(key, ".")
	isRule := len(parts) == 3 && parts[0] == "tools" && slices.Contains(ruleKeys(), parts[2])
	switch {
	case key == "root" || key == "config":
		return usageError{fmt.Errorf("%s cannot be set in the file itself; use --%s", key, key)}
	case !isRule && !slices.Contains(settingKeys(), key):
		return usageError{unknownKey(key)}
	}
	return nil
}

func (p *Program) configCheck() *cobra.Command {
	return &cobra.Command{
		Use:        "check",
		SuggestFor: []string{"validate", "lint"},
		Args:       cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := p.settings(cmd)
			if err == nil {
				err = p.checkTools(&settings)
			}
			if err != nil {
				return usageError{err}
			}
			p.trustNotice(&settings, false)
			if !isFile(settings.Config) {
				fmt.Fprintf(p.Stdout, "There is no %s; defaults, flags and environment variables apply.\n", settings.Config)
				return nil
			}
			fmt.Fprintf(p.Stdout, "%s is valid.\n", settings.Config)
			return nil
		},
	}
}

// checkTools checks the names of toolsets and tools and the rules for tools, as opening the
// workspace does.
func (p *Program) checkTools(s *Settings) error {
	known, err := p.Catalog(s.Toolsets...)
	if err != nil {
		return err
	}
	sets, err := catalog.Select(known, s.Toolsets)
	if err != nil {
		return s.locate(&contract.SettingError{Key: "toolsets", Err: err})
	}
	if err := contract.CheckTools(known, s.Tools); err != nil {
		return s.locate(err)
	}
	_, err = contract.Tighten(sets, s.Tools)
	return s.locate(err)
}

func (p *Program) configEdit() *cobra.Command {
	return &cobra.Command{
		Use:  "edit",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := p.openConfig(cmd)
			if e == nil {
				return err // a file that is not valid can be corrected
			}
			before := e.text
			if e.isNew {
				before = configText(nil)
			}
			copied, err := writeDraft(before)
			if err != nil {
				return err
			}
			if err := p.runEditor(cmd, copied); err != nil {
				return errors.Join(err, os.Remove(copied))
			}
			after, err := os.ReadFile(copied)
			if err != nil {
				return fmt.Errorf("read the edited text: %w", err)
			}
			if bytes.Equal(before, after) {
				fmt.Fprintf(p.Stdout, "Nothing was changed.\n")
				return os.Remove(copied)
			}
			if err := e.save(cmd, after); err != nil {
				return fmt.Errorf("%w; %s was not changed, and your text is in %s", err, e.name, copied)
			}
			fmt.Fprintf(p.Stdout, "%s was changed.\n", e.name)
			return errors.Join(e.afterwards(cmd), os.Remove(copied))
		},
	}
}

// writeDraft writes a text to a temporary file for an editor.
func writeDraft(text []byte) (string, error) {
	draft, err := os.CreateTemp("", "remit-*.yaml")
	if err != nil {
		return "", fmt.Errorf("write the text for the editor: %w", err)
	}
	_, err = draft.Write(text)
	return draft.Name(), errors.Join(err, draft.Close())
}

// runEditor runs the editor of the user.
func (p *Program) runEditor(cmd *cobra.Command, file string) error {
	editor := map[bool]string{true: "notepad", false: "vi"}[runtime.GOOS == "windows"]
	for _, name := range []string{"EDITOR", "VISUAL"} {
		if value, _ := p.Env(name); strings.TrimSpace(value) != "" {
			editor = value
		}
	}
	words := append(strings.Fields(editor), file)
	run := exec.CommandContext(cmd.Context(), words[0], words[1:]...)
	run.Stdin, run.Stdout, run.Stderr = p.Stdin, unescaped(p.Stdout), unescaped(p.Stderr)
	if err := run.Run(); err != nil {
		return fmt.Errorf("run the editor %s: %w; set EDITOR to another one", editor, err)
	}
	return nil
}

// configEditing is the configuration file that a command changes.
type configEditing struct {
	*Program
	name  string
	asked bool // the operator named it
	isNew bool
	text  []byte
	file  configFile
}

// openConfig reads the configuration file. With an error about its content, it also returns the
// text.
func (p *Program) openConfig(cmd *cobra.Command) (*configEditing, error) {
	r := p.resolver(cmd)
	root, err := r.root()
	if err != nil {
		return nil, usageError{err}
	}
	_, origin := r.lookup("config")
	s := &Settings{Root: root, here: r.here}
	p.rootNotice(s)
	e := &configEditing{Program: p, name: r.path(s, "config"), asked: origin != FromDefault}
	if e.asked { // change what a link leads to
		e.name = realPath(e.name)
	}
	e.text, err = readFile(e.name, e.asked)
	if e.isNew = errors.Is(err, fs.ErrNotExist); err != nil && !e.isNew {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	e.file = newConfigFile(e.name)
	if err := e.file.parse(e.text); err != nil {
		return e, usageError{fmt.Errorf("%w; correct it with \"remit config edit\"", err)}
	}
	return e, nil
}

func newConfigFile(name string) configFile {
	return configFile{name: name, settings: map[string]string{}, positions: map[string]*token.Position{}}
}

// save checks a new text of the file, as a start of Remit does, and writes it.
func (e *configEditing) save(cmd *cobra.Command, text []byte) error {
	file := newConfigFile(e.name)
	if err := file.parse(text); err != nil {
		return usageError{err}
	}
	if !e.asked {
		if err := file.checkOperatorOnly(); err != nil {
			return usageError{err}
		}
	}
	r := e.resolver(cmd)
	s := Settings{Env: e.Env}
	var err error
	if s.Root, err = r.root(); err != nil {
		return usageError{err}
	}
	r.file = file
	if err := r.values(&s); err != nil {
		return usageError{err}
	}
	if !e.asked {
		if err := file.checkWithin(s.Root); err != nil {
			return usageError{err}
		}
	}
	if err := e.checkTools(&s); err != nil {
		return usageError{err}
	}
	return e.write(text)
}

// write replaces the file, atomically. It fails if the file was changed since it was read.
func (e *configEditing) write(text []byte) (err error) {
	draft, err := os.CreateTemp(filepath.Dir(e.name), "."+filepath.Base(e.name)+".*")
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	defer func() { _ = os.Remove(draft.Name()) }() // after a rename there is nothing to remove
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(e.name); err == nil {
		mode = info.Mode().Perm()
	}
	_, err = draft.Write(text)
	if err = errors.Join(err, draft.Chmod(mode), draft.Sync(), draft.Close()); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	now, err := readFile(e.name, e.asked)
	if errors.Is(err, fs.ErrNotExist) != e.isNew || err == nil && !bytes.Equal(now, e.text) {
		return fmt.Errorf("%s was changed by another program at the same time; try again", e.name)
	}
	if err := os.Rename(draft.Name(), e.name); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return filelock.SyncFolder(filepath.Dir(e.name))
}

// change saves the file with another value of a key, and says so.
func (e *configEditing) change(cmd *cobra.Command, after []byte, key, old, value string) error {
	if err := e.save(cmd, after); err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "%s: %s -> %s in %s\n", key, visible.Line(withoutPassword(old)), visible.Line(withoutPassword(value)), e.name)
	return e.afterwards(cmd)
}

// afterwards says which entries are not in force, and when a running server takes the others.
func (e *configEditing) afterwards(cmd *cobra.Command) error {
	s, err := e.settings(cmd)
	if err != nil {
		return usageError{err}
	}
	e.trustNotice(&s, false)
	fmt.Fprintln(e.Stdout, "A server that runs takes a new log_level on SIGHUP or by \"Reload\" in its console; restart it for other changes.")
	return nil
}
