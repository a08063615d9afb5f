package sqlstore

import (
	"context"
	"fmt"
)

// refuseWrites lets PostgreSQL refuse changes of the data that was moved elsewhere, also by servers
// that have opened it before. An empty location allows changes again. A SQLite file needs no such
// rule: who moves its data has excluded everybody else, and who opens it sees the mark.
func (db *DB) refuseWrites(ctx context.Context, tx runner, location string) error {
	if !db.shared {
		return nil
	}
	names, err := exportedTables(ctx, db, tx)
	if err != nil {
		return err
	}
	names[len(names)-1] = "logs" // instead of the sequence
	const refuse = `
CREATE OR REPLACE FUNCTION remit_moved() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the data was moved to another database' USING ERRCODE = 'read_only_sql_transaction'; END $$`
	if err := exec(ctx, tx, refuse); err != nil {
		return err
	}
	for _, name := range names {
		if err := exec(ctx, tx, fmt.Sprintf(`DROP TRIGGER IF EXISTS remit_moved ON %s`, name)); err != nil {
			return err
		}
		if location == "" {
			continue
		}
		err := exec(ctx, tx, fmt.Sprintf(
			`CREATE TRIGGER remit_moved BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH STATEMENT EXECUTE FUNCTION remit_moved()`, name))
		if err != nil {
			return err
		}
	}
	return nil
}
