package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"remit/internal/contract"
	"remit/internal/frontends/cli"
)

const (
	// maxSkew is how much the clock of a replica may differ from that of the database.
	maxSkew = time.Minute
	// quickLimit is how long doctor, and a server that has started, check the tables of a database.
	quickLimit = 5 * time.Second
)

// now returns the time by the clock that replicas share.
func (d *database) now() time.Time {
	if !d.isShared() {
		return time.Now()
	}
	ctx, cancel := context.WithTimeout(context.Background(), keyTimeout)
	defer cancel()
	db, err := d.open(ctx)
	if err != nil {
		return time.Now() // nothing can be stored now
	}
	return db.Now()
}

// checkClock returns an error if the clock of this machine and that of the database differ.
func (d *database) checkClock(ctx context.Context) error {
	db, err := d.open(ctx)
	if err != nil {
		return nil //nolint:nilerr // the check of the database reports it
	}
	if skew := db.Skew(); skew.Abs() > maxSkew {
		word := "ahead of"
		if skew < 0 {
			word = "behind"
		}
		return fmt.Errorf("the clock of this machine is %s %s that of the database", skew.Abs().Round(time.Second), word)
	}
	return nil
}

// checkTables adds to a check of doctor whether the tables of a SQLite file are intact.
func (d *database) checkTables(ctx context.Context, thorough bool, c *cli.Check) {
	db, err := d.open(ctx)
	if err != nil {
		return // reported already
	}
	if !thorough {
		limited, cancel := context.WithTimeout(ctx, quickLimit)
		defer cancel()
		ctx = limited
	}
	checked, tables, err := db.CheckFile(ctx, thorough)
	switch {
	case err != nil:
		c.Status, c.Finding, c.Fix = cli.StatusFail, "the database is damaged: "+err.Error(), sentence(fixDamaged)
	case checked < tables:
		c.Finding += fmt.Sprintf("; %d of %d tables were checked in %s, \"remit doctor --thorough\" checks all", checked, tables, quickLimit)
	case tables > 0:
		c.Finding += fmt.Sprintf("; %d tables are intact", tables)
	}
}

// sentence makes a sentence of what to do.
func sentence(fix string) string {
	return string(fix[0]-'a'+'A') + fix[1:] + "."
}

// doubtOf returns what is in doubt, and what to do.
func doubtOf(err error) (e *doubtError, ok bool) {
	e, ok = errors.AsType[*doubtError](err)
	return e, ok
}

// checkStorage checks that a storage is the one that was used before.
func checkStorage(name, well string, err error) cli.Check {
	if e, ok := doubtOf(err); ok {
		return cli.Check{Name: name, Status: cli.StatusFail, Finding: e.why, Fix: "Nothing is written until this is decided: " + e.fix + "."}
	}
	if err != nil {
		return cli.Check{Name: name, Status: cli.StatusFail, Finding: contract.AsError(err).Message, Fix: "Put it back."}
	}
	return cli.Check{Name: name, Status: cli.StatusOK, Finding: well}
}
