package sqlstore

import (
	"context"
	"errors"

	"remit/internal/engine/audit"
)

const selectEnd = `SELECT lines, tip FROM logs WHERE log = $1`

const selectLine = `SELECT body FROM log_lines WHERE log = $1 AND line = $2`

// errCutRecords says that the newest records are missing.
var errCutRecords = errors.New("records are missing at the end: the table of records does not end with the one that was stored last")

// CheckEnd returns an error if audit records are missing at the end of the tables of PostgreSQL.
func (s Source) CheckEnd(ctx context.Context) error {
	db, err := s(ctx)
	if err != nil {
		return err
	}
	var lines int64
	var tip []byte
	_, found, err := lookUp(ctx, db, "read the end of the records", selectEnd, into(&lines, &tip), auditChain)
	if err != nil {
		return err
	}
	if !found || lines == 0 {
		return nil
	}
	end := tipOf(tip)
	last, found, err := lookUp(ctx, db, "read the last record", selectLine, scanValue[[]byte], auditDays+end.day, lines)
	if err == nil && (!found || audit.HashOf(last) != end.hash) {
		err = errCutRecords
	}
	return err
}
