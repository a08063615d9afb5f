package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/frontends/cli"
	"remit/internal/stores/sqlstore"
)

var _ cli.Checker = (*App)(nil)

// Checks looks at what is kept and served. It opens what calls would open, and sends
// one short text to a service for embeddings if there is one.
func (a *App) Checks(ctx context.Context) []cli.Check {
	checks := []cli.Check{a.checkDatabase(ctx), a.checkAudit(ctx), a.checkBooks(ctx), a.checkEmbeddings(ctx)}
	if key, ok := checkKey(); ok {
		checks = append(checks, key)
	}
	return append(checks, a.checkTokens(ctx)...)
}

func (a *App) checkDatabase(ctx context.Context) cli.Check {
	c := cli.Check{Name: "database", Status: cli.Well, Found: "none yet; it is made when something is first kept"}
	if !a.database.exists() {
		return c
	}
	kind := "SQLite"
	if a.database.isShared() {
		kind = "PostgreSQL"
	}
	err := a.database.answers(ctx)
	var newer *sqlstore.NewerError
	switch {
	case errors.As(err, &newer):
		c.Status, c.Found, c.Fix = cli.Failed, err.Error(), "A newer Remit has used it. Use that one, or keep another database with --database."
	case err != nil:
		c.Status, c.Found, c.Fix = cli.Failed, err.Error(), "See that the file can be read and written, or that the server runs; --database names another."
	default:
		c.Found = kind + " answers, and its schema is that of this version"
	}
	return c
}

// auditAtOnce is how much of a record is verified on the way; more takes its time.
const auditAtOnce = 64 << 20

// checkAudit follows the chain of records up to the newest day.
func (a *App) checkAudit(ctx context.Context) cli.Check {
	c := cli.Check{Name: "audit", Status: cli.Well}
	days, err := a.Records().Days(ctx)
	if err == nil && sizeOf(days) > auditAtOnce {
		c.Found = fmt.Sprintf("%d days of records, too large to be verified here; \"remit audit verify\" does it", len(days))
		return c
	}
	count := 0
	if err == nil {
		count, err = audit.Verify(ctx, a.Records())
	}
	var broken *audit.BrokenError
	switch {
	case errors.As(err, &broken):
		c.Status, c.Found = cli.Failed, fmt.Sprintf("the record is broken at %v (%d records before it hold)", broken, count)
		c.Fix = "Somebody changed it, or a disk did. Keep the files as they are for who looks into it, and move them away to begin anew."
	case err != nil:
		c.Status, c.Found, c.Fix = cli.Failed, err.Error(), "See that the data folder or the database can be read: no call is carried out that cannot be put on record."
	default:
		c.Found = fmt.Sprintf("%d records of %d days: the chain holds", count, len(days))
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
	c := cli.Check{Name: "books", Status: cli.Well, Found: "not served"}
	if !a.hasBooks() {
		return c
	}
	c.Found = "reached"
	if err := a.stores.ping(ctx); err != nil {
		c.Status, c.Found = cli.Failed, err.Error()
		c.Fix = "See that the folder or the bucket of --books is there, and that the credentials of S3 are in the environment."
	}
	return c
}

func (a *App) checkEmbeddings(ctx context.Context) cli.Check {
	c := cli.Check{Name: "embeddings", Status: cli.Well, Found: "the model in the program"}
	remote, err := a.remoteModel()
	if err == nil && remote == nil {
		return c
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, embeddingsPatience)
		defer cancel()
		_, err = remote.Embed(ctx, []string{"hello"})
	}
	c.Found = a.settings.EmbeddingsModel + " at " + a.settings.Embeddings + " answers"
	if err != nil {
		c.Status, c.Found = cli.Warned, err.Error()
		c.Fix = "The model in the program answers meanwhile. See that the service runs, and that " + embeddingsKey + " is right."
	}
	if err != nil && a.settings.EmbeddingsOnly {
		c.Status, c.Fix = cli.Failed, "With --embeddings-only no search works until the service does. See that it runs, and that "+embeddingsKey+" is right."
	}
	return c
}

// embeddingsPatience is how long a service may take for one word.
const embeddingsPatience = 10 * time.Second

// checkKey looks at the key of approvals, if there is one: whoever can read it can
// approve.
func checkKey() (cli.Check, bool) {
	name := filepath.Join(secretFolders()[0], secretName)
	info, err := os.Stat(name)
	if err != nil {
		return cli.Check{}, false // it is made with the first request
	}
	c := cli.Check{Name: "key", Status: cli.Well, Found: name + " is for you alone"}
	switch {
	case info.Size() != secretSize:
		c.Status, c.Found = cli.Failed, fmt.Sprintf("%s has %d bytes, not %d", name, info.Size(), secretSize)
		c.Fix = "Remove it. A new one is made; approvals have to be asked for, and tokens and links made, again. Serve with --identity on until then."
	case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		c.Status, c.Found = cli.Failed, fmt.Sprintf("%s has mode %o: whoever reads it can approve in your name", name, info.Mode().Perm())
		c.Fix = "chmod 600 " + name
	}
	return c, true
}

// checkTokens warns of tokens that nothing ever ends.
func (a *App) checkTokens(ctx context.Context) []cli.Check {
	c := cli.Check{Name: "tokens", Status: cli.Well}
	all, err := a.who.tokens.List(ctx)
	if err != nil {
		return nil // the database does not work, which its own check tells
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
	c.Found = fmt.Sprintf("%d in use", live)
	if len(endless) > 0 {
		c.Status, c.Found = cli.Warned, strings.Join(endless, ", ")+": no end is set"
		c.Fix = "A token that is lost is good for ever then. Make another with \"remit token create --expires 90d\", and revoke it with \"remit token revoke NAME\"."
	}
	return []cli.Check{c}
}
