package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/frontends/cli"
	"remit/internal/stores/sqlstore"
)

var _ cli.Checker = (*App)(nil)

// Checks checks the stores and services of the workspace. It opens what calls would open, and sends
// one short text to the embedding service, if one is configured.
func (a *App) Checks(ctx context.Context, thorough bool) []cli.Check {
	checks := []cli.Check{
		a.checkData(), checkStorage("memory", "the folder of the memory files is that of this workspace", a.storage.checkMemory()),
		a.checkDatabase(ctx, thorough), a.checkAudit(ctx, thorough), a.checkBooks(ctx), a.checkEmbeddings(ctx), a.checkKeys(),
	}
	if a.database.isShared() {
		checks = append(checks, a.checkSkew(ctx))
	} else if behind := time.Until(a.clock.now()); behind > maxSkew {
		checks = append(checks, cli.Check{
			Name: "clock", Status: cli.StatusWarn,
			Finding: fmt.Sprintf("the clock of this machine is %s behind a time that it has shown before", behind.Round(time.Second)),
			Fix: "Set the clock. If it was ahead before and is right now, what has expired by then stays expired: create new tokens with " +
				"\"remit token create\".",
		})
	}
	return append(checks, a.checkTokens(ctx)...)
}

// checkData reports a data folder that is missing or not the one of this workspace. Then it has the
// name of the check of its path, and takes its place.
func (a *App) checkData() cli.Check {
	err := a.data.check()
	if _, missing := os.Lstat(a.settings.Data); err == nil && a.data.mayCreate != nil && errors.Is(missing, fs.ErrNotExist) {
		err = a.data.mayCreate()
	}
	c := checkStorage("storage", "the data folder is that of this workspace", err)
	if err != nil {
		c.Name = "data"
	}
	return c
}

// checkSkew compares the clocks of this machine and of the database.
func (a *App) checkSkew(ctx context.Context) cli.Check {
	c := cli.Check{Name: "database clock", Status: cli.StatusOK, Finding: "it agrees with the clock of this machine"}
	if err := a.database.checkClock(ctx); err != nil {
		c.Status, c.Finding = cli.StatusFail, err.Error()
		c.Fix = "Set both clocks, such as with chrony: expiry, rate limits and the order of records depend on them."
	}
	return c
}

func (a *App) checkDatabase(ctx context.Context, thorough bool) cli.Check {
	c := cli.Check{Name: "database", Status: cli.StatusOK, Finding: "none yet; it is created when something is first stored"}
	if !a.database.exists() {
		return c
	}
	kind := "SQLite"
	if a.database.isShared() {
		kind = "PostgreSQL"
	}
	err := a.database.answers(ctx)
	var newer *sqlstore.SchemaTooNewError
	if _, inDoubt := doubtOf(err); inDoubt {
		return checkStorage(c.Name, "", err)
	}
	switch {
	case errors.As(err, &newer):
		c.Status, c.Finding, c.Fix = cli.StatusFail, err.Error(), "A newer Remit has used it. Use that Remit, or "+
			"choose another database with --database."
	case err != nil:
		c.Status, c.Finding, c.Fix = cli.StatusFail, err.Error(), "Check that the file is readable and writable, or "+
			"that the server runs, or choose another database with --database."
	default:
		c.Finding = kind + " answers, and its schema is up to date"
		a.database.checkTables(ctx, thorough, &c)
	}
	return c
}

// maxVerify is the maximum size of audit records that are verified here, because verifying more
// takes long.
const maxVerify = 64 << 20

// checkAudit verifies the chain of audit records up to the newest day.
func (a *App) checkAudit(ctx context.Context, thorough bool) cli.Check {
	c := cli.Check{Name: "audit", Status: cli.StatusOK}
	days, err := a.AuditRecords().Days(ctx)
	if err == nil && sizeOf(days) > maxVerify && !thorough {
		c.Finding = contract.Count(len(days), "day") + " of records, too large to verify here; run \"remit audit verify\""
		return c
	}
	count := 0
	if err == nil {
		count, err = audit.Verify(ctx, a.AuditRecords())
	}
	if cutErr := a.CheckTip(ctx); err == nil && cutErr != nil {
		c.Status, c.Finding, c.Fix = cli.StatusFail, cutErr.Error(), "Someone has removed records, or they were "+
			"lost when power failed. Put them back from a backup, or a person runs \"remit trust --lost-records\" at a terminal."
		return c
	}
	var broken *audit.BrokenError
	switch {
	case errors.As(err, &broken):
		c.Status, c.Finding = cli.StatusFail, fmt.Sprintf("the audit log is broken at %v (intact before it: %s)", broken, contract.Count(count, "record"))
		c.Fix = "Someone, or a failing disk, has changed it. Keep the files unchanged for an investigation, and " +
			"move them away to start a new log, and end the warning with \"remit trust --lost-records\"."
	case err != nil:
		c.Status, c.Finding, c.Fix = cli.StatusFail, err.Error(), "Check that the data folder or the database is "+
			"readable: Remit runs no call that writes if it cannot record it."
	default:
		c.Finding = fmt.Sprintf("%s of %s: the hash chain is intact", contract.Count(count, "record"), contract.Count(len(days), "day"))
	}
	return c
}

func sizeOf(days []audit.Day) (size int64) {
	for _, day := range days {
		size += day.Size
	}
	return size
}

func (a *App) checkBooks(ctx context.Context) cli.Check {
	c := cli.Check{Name: "books", Status: cli.StatusOK, Finding: "not served"}
	if !a.hasBooks() {
		return c
	}
	c.Finding = "reached"
	err := a.stores.ping(ctx)
	if _, inDoubt := doubtOf(err); inDoubt {
		return checkStorage(c.Name, "", err)
	}
	if err != nil {
		c.Status, c.Finding = cli.StatusFail, err.Error()
		c.Fix = "Check that the folder or the bucket of --books exists, and that the S3 credentials are set in the environment."
		return c
	}
	if _, err := a.books.Books(ctx); err != nil {
		c.Status, c.Finding = cli.StatusFail, err.Error()
		c.Fix = "Correct registry.yaml in the library, or restore it from a backup; books are used again at once."
	}
	return c
}

// checkLibrary returns an error if the library cannot be reached, or lists no books because its
// registry is damaged.
func (a *App) checkLibrary(ctx context.Context) error {
	if err := a.stores.ping(ctx); err != nil {
		return err
	}
	_, err := a.books.Books(ctx)
	return err
}

func (a *App) checkEmbeddings(ctx context.Context) cli.Check {
	c := cli.Check{Name: "embeddings", Status: cli.StatusOK, Finding: "the built-in model"}
	remote, err := a.remoteModel()
	if err == nil && remote == nil {
		return c
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, embeddingsTimeout)
		defer cancel()
		_, err = remote.Embed(ctx, []string{"hello"})
	}
	c.Finding = a.settings.EmbeddingsModel + " at " + a.settings.Embeddings + " answers"
	if err != nil {
		c.Status, c.Finding = cli.StatusWarn, err.Error()
		c.Fix = "The built-in model is used meanwhile. Check that the service runs, and that " + embeddingsKey + " is correct."
	}
	if err != nil && a.settings.EmbeddingsOnly {
		c.Status, c.Fix = cli.StatusFail, "With --embeddings-only, every search fails until the service works. "+
			"Check that it runs, and that "+embeddingsKey+" is correct."
	}
	return c
}

// embeddingsTimeout is the timeout of an embedding service for one word.
const embeddingsTimeout = 10 * time.Second

// checkKeys checks that the key folder can be used, and belongs to the user alone: anyone who can
// read the key can approve.
func (a *App) checkKeys() cli.Check {
	if a.database.isShared() {
		return cli.Check{Name: "keys", Status: cli.StatusOK, Finding: "the database holds the key that its replicas share"}
	}
	if err := a.keys.Check(); err != nil {
		return cli.Check{
			Name: "keys", Status: cli.StatusFail, Finding: err.Error(),
			Fix: "Until then, nothing that needs approval can run, and no token is accepted.",
		}
	}
	return cli.Check{Name: "keys", Status: cli.StatusOK, Finding: a.keys.Path() + " is accessible only to you"}
}

// checkTokens warns about tokens that never expire, and if callers need a token but none is valid.
func (a *App) checkTokens(ctx context.Context) []cli.Check {
	c := cli.Check{Name: "tokens", Status: cli.StatusOK}
	all, err := a.identities.tokens.List(ctx)
	if err != nil {
		return nil // the database does not work, which its own check reports
	}
	var endless []string
	live := 0
	for _, t := range all {
		if !t.Live(time.Now()) {
			continue
		}
		live++
		if t.Expires.IsZero() {
			endless = append(endless, t.Name)
		}
	}
	c.Finding = fmt.Sprintf("%d in use", live)
	optional := a.settings.Identity == "off" || a.settings.OIDCIssuer != ""
	if needed, err := a.identities.tokens.AnyCreated(ctx); err == nil && needed && live == 0 && !optional {
		c.Status, c.Finding = cli.StatusWarn, "none is valid, and serve requires a token from every caller over HTTP"
		c.Fix = "Create one with \"remit token create --name NAME\", or set --identity off if only this machine connects."
	}
	if len(endless) > 0 {
		c.Status, c.Finding = cli.StatusWarn, strings.Join(endless, ", ")+": no expiry is set"
		c.Fix = "Such a token stays valid for ever if it is stolen. Create another one with \"remit token " +
			"create --expires 90d\", and revoke it with \"remit token revoke NAME\"."
	}
	return []cli.Check{c}
}
