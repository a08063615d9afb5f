package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// Backups backs up, restores and moves the data of workspaces.
type Backups interface {
	// Create writes an archive of a workspace.
	Create(ctx context.Context, s Settings, log *slog.Logger, r BackupRequest) (BackupReport, error)
	// Verify checks every byte of an archive.
	Verify(ctx context.Context, archive string, report func(Progress)) (BackupReport, error)
	// Restore restores a workspace from an archive.
	Restore(ctx context.Context, s Settings, log *slog.Logger, r RestoreRequest) (BackupReport, error)
	// Migrate moves the data of a workspace to another database or library.
	Migrate(ctx context.Context, r MigrateRequest, log *slog.Logger) (MigrateReport, error)
}

// BackupRequest says what to back up.
type BackupRequest struct {
	Archive string
	// Passphrase returns the passphrase for the keys; nil leaves the keys out.
	Passphrase func() (string, error)
	Report     func(Progress)
}

// RestoreRequest says how to restore.
type RestoreRequest struct {
	Archive    string
	KeepTokens bool                   // tokens and open requests stay valid
	Passphrase func() (string, error) // returns the passphrase of the keys; nil leaves the keys out
	// Confirm shows what will be there, and returns an error if it shall not be done.
	Confirm func(BackupReport) error
	Report  func(Progress)
}

// BackupReport says what an archive holds.
type BackupReport struct {
	Archive   string           `json:"archive"`
	Created   time.Time        `json:"created"`
	Program   string           `json:"program"`
	Engine    string           `json:"engine"`
	Workspace string           `json:"workspace"`
	Into      string           `json:"into,omitempty"` // the restored workspace
	Tables    map[string]int64 `json:"tables"`         // rows
	Memory    int64            `json:"memory_lines"`
	Records   int64            `json:"audit_records"`
	Books     int64            `json:"book_objects"`
	Bytes     int64            `json:"bytes"`
	Tip       string           `json:"audit_tip"`
	Keys      bool             `json:"keys"`
}

func (p *Program) backupCommand() *cobra.Command {
	var withKeys, verify bool
	var passphrase string
	c := &cobra.Command{Use: "backup FILE|FOLDER", Args: exactArgs(1)}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		bar := p.bar("Backing up")
		if verify {
			bar = p.bar("Verifying")
			report, err := p.Backups.Verify(cmd.Context(), args[0], bar.update)
			bar.end()
			return p.reportBackup(report, err, "The archive is intact.")
		}
		s, err := p.settings(cmd)
		if err != nil {
			return usageError{err}
		}
		p.trustNotice(&s, false)
		s.Watch = false
		r := BackupRequest{Archive: args[0], Report: bar.update}
		if withKeys {
			r.Passphrase = p.passphrase(cmd.Context(), passphrase, true)
		}
		log, err := p.Logger(p.Stderr, s.logOptions())
		if err != nil {
			return err
		}
		report, err := p.Backups.Create(cmd.Context(), s, log, r)
		bar.end()
		if err != nil {
			return err
		}
		about := action("backup/create", jsontree.M("archive", jsontree.Str(report.Archive)), jsontree.M("keys", jsontree.Boolean(report.Keys)))
		err = p.withRecord(cmd.Context(), &s, func(who Identity) error {
			if !who.HasRecords() {
				return nil
			}
			return who.Record(cmd.Context(), about)
		})
		return p.reportBackup(report, err, "")
	}
	c.Flags().BoolVar(&verify, "verify", false, "check every byte of an existing archive, and change nothing")
	c.Flags().BoolVar(&withKeys, "with-keys", false, "include the keys, encrypted with a passphrase")
	c.Flags().StringVar(&passphrase, "passphrase-file", "", "read the passphrase from the first line of this file, such as /dev/fd/3")
	c.MarkFlagsMutuallyExclusive("verify", "with-keys")
	return p.withJSON("print what the archive holds as JSON", c)
}

// reportBackup prints what an archive holds.
func (p *Program) reportBackup(r BackupReport, err error, done string) error {
	if err != nil {
		return err
	}
	return p.show(r, func() {
		fmt.Fprint(p.Stdout, r.text())
		if done != "" {
			fmt.Fprintln(p.Stdout, done)
		}
	})
}

// text describes an archive for people.
func (r *BackupReport) text() string {
	var t table
	t.add("archive:", r.Archive)
	t.add("of:", fmt.Sprintf("%s (%s, Remit %s)", r.Workspace, r.Engine, r.Program))
	t.add("made:", r.Created.Format(time.RFC3339))
	rows := []string{}
	for _, name := range slices.Sorted(maps.Keys(r.Tables)) {
		if n := r.Tables[name]; n > 0 && name != "task_ids" {
			rows = append(rows, fmt.Sprintf("%s (%d)", strings.ReplaceAll(name, "_", " "), n))
		}
	}
	if len(rows) == 0 {
		rows = []string{"nothing"}
	}
	t.add("database:", strings.Join(rows, ", "))
	t.add("memory:", contract.Count(r.Memory, "line"))
	t.add("audit:", contract.Count(r.Records, "record"))
	t.add("books:", contract.Count(r.Books, "file")+", with versions")
	t.add("keys:", map[bool]string{true: "included, encrypted", false: "not included"}[r.Keys])
	t.add("size:", size(r.Bytes))
	var out strings.Builder
	t.write(&out)
	return out.String()
}

func (p *Program) restoreCommand() *cobra.Command {
	var into, passphrase string
	var yes, keepTokens, withKeys bool
	c := &cobra.Command{Use: "restore FILE|FOLDER", Args: exactArgs(1)}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := os.Stat(args[0]); err != nil { // before the workspace is created
			return fmt.Errorf("open the archive: %w", err)
		}
		if into != "" {
			if err := os.MkdirAll(into, 0o755); err != nil {
				return fmt.Errorf("create the workspace: %w", err)
			}
			if err := cmd.Flags().Set("root", into); err != nil {
				return usageError{err}
			}
		}
		s, err := p.settings(cmd)
		if err != nil {
			return usageError{err}
		}
		p.trustNotice(&s, false)
		s.Watch = false
		bar := p.bar("Restoring")
		r := RestoreRequest{Archive: args[0], KeepTokens: keepTokens, Report: bar.update}
		r.Confirm = func(report BackupReport) error {
			bar.end()
			return p.confirmRestore(cmd.Context(), &report, yes, keepTokens)
		}
		if withKeys {
			r.Passphrase = p.passphrase(cmd.Context(), passphrase, false)
		}
		log, err := p.Logger(p.Stderr, s.logOptions())
		if err != nil {
			return err
		}
		report, err := p.Backups.Restore(cmd.Context(), s, log, r)
		bar.end()
		if err != nil {
			return err
		}
		err = p.withRecord(cmd.Context(), &s, func(who Identity) error {
			return who.Record(cmd.Context(), action("backup/restore", jsontree.M("created", jsontree.Str(report.Created.Format(time.RFC3339)))))
		})
		return errors.Join(p.show(report, func() {
			fmt.Fprintf(p.Stdout, "Restored to %s.\n", report.Into)
			if !keepTokens {
				fmt.Fprintln(p.Stdout, p.hint("No token, session or request from before is valid. Create new tokens with \"remit token create\" if agents need them."))
			}
		}), err)
	}
	c.Flags().StringVar(&into, "into", "", "workspace folder to restore to; by default --root")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&keepTokens, "keep-tokens", false, "tokens, sessions and open requests stay valid; asks at the terminal")
	c.Flags().BoolVar(&withKeys, "with-keys", false, "restore the keys too, into an empty key folder")
	c.Flags().StringVar(&passphrase, "passphrase-file", "", "read the passphrase from the first line of this file, such as /dev/fd/3")
	return p.withJSON("print what was restored as JSON", c)
}

// confirmRestore shows what will be there and asks, unless yes is set. Keeping tokens needs a
// person in any case: what was revoked since the backup would be valid again.
func (p *Program) confirmRestore(ctx context.Context, r *BackupReport, yes, keepTokens bool) error {
	question := r.text() + "into:      " + r.Into + "\n"
	switch {
	case keepTokens:
		question += "Tokens, sessions and requests in the archive stay valid, also those that were revoked after it was made.\n"
	case yes:
		return nil
	}
	agreed, err := p.confirmPerson(ctx, question+"Restore this?")
	if errors.Is(err, errNoTerminal) && !keepTokens {
		return errors.New("there is no terminal to ask at; add --yes to restore without a question")
	}
	if err == nil && !agreed {
		err = errNoConsent
	}
	return err
}

// passphrase returns a function that reads a passphrase from a file, or asks for it at the
// terminal, twice if it is a new one.
func (p *Program) passphrase(ctx context.Context, file string, isNew bool) func() (string, error) {
	return func() (string, error) {
		if file != "" {
			return passphraseIn(file)
		}
		if p.AskPerson != nil {
			return p.AskPerson(ctx, "Passphrase: ")
		}
		tty, err := openTTY()
		if err != nil {
			return "", fmt.Errorf("there is no terminal to ask for the passphrase; use --passphrase-file (%w)", err)
		}
		defer func() { _ = tty.Close() }()
		typed, err := askHidden(tty, "Passphrase for the keys: ")
		if err != nil || !isNew {
			return typed, err
		}
		again, err := askHidden(tty, "The same once more: ")
		if err == nil && again != typed {
			err = errors.New("the two passphrases differ, so nothing was done")
		}
		return typed, err
	}
}

// askHidden reads a line at the terminal without showing it.
func askHidden(tty io.ReadWriter, prompt string) (string, error) {
	fmt.Fprint(tty, prompt)
	input := os.Stdin // where the terminal has separate files for reading and writing
	if file, ok := tty.(*os.File); ok {
		input = file
	}
	typed, err := term.ReadPassword(int(input.Fd()))
	fmt.Fprintln(tty)
	if err != nil {
		return "", fmt.Errorf("read the passphrase: %w", err)
	}
	return string(typed), nil
}

func passphraseIn(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("read the passphrase: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 4096))
	if err != nil {
		return "", fmt.Errorf("read the passphrase: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", fmt.Errorf("the first line of %s is empty; write the passphrase there", name)
	}
	return line, nil
}
