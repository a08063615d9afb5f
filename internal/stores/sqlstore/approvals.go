package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
)

// approvals stores approval requests. It implements approval.Store.
type approvals struct{ db *DB }

// Approvals returns the store of approval requests in this database.
func (db *DB) Approvals() approval.Store { return approvals{db} }

// approvalColumns lists the columns of an approval in the order in which scanApproval reads them.
const approvalColumns = `id, key, workspace, principal, tool, version, digest, arguments, summary, state,
	created_at, expires_at, decided_at, decided_by, reason, spent_at, seal, shown, proof,
	target, frontend, client, session, caller_reason, asked_seal`

const closeExpired = `
UPDATE approvals SET open_key = NULL
WHERE open_key = $1 AND expires_at <= $2`

// The update changes nothing. It makes RETURNING return the existing row on a conflict.
const addRequest = `
INSERT INTO approvals (id, key, open_key, workspace, principal, tool, version, digest, arguments, summary, state, created_at, expires_at,
	target, frontend, client, session, caller_reason, asked_seal, words)
VALUES ($1, $2, $2, $3, $4, $5, $6, $7, $8, $9, 'pending', $10, $11, $12, $13, $14, $15, $16, $17, $18)
ON CONFLICT (open_key) DO UPDATE SET open_key = excluded.open_key
RETURNING ` + approvalColumns

// Requests that expired a month ago are deleted; the audit log still has the calls.
const prune = `DELETE FROM approvals WHERE expires_at <= $1`

const countOthers = `
SELECT count(*) FROM approvals
WHERE state = 'pending' AND expires_at > $1 AND principal = $2 AND key <> $3`

func (s approvals) Ask(ctx context.Context, r approval.Request) (approval.Request, error) {
	return transacted(ctx, s.db, "ask for approval", func(ctx context.Context, tx runner) (asked approval.Request, err error) {
		if err := exec(ctx, tx, prune, micros(r.CreatedAt.AddDate(0, -1, 0))); err != nil {
			return asked, fmt.Errorf("delete old requests: %w", err)
		}
		if err := exec(ctx, tx, closeExpired, r.Key, micros(r.CreatedAt)); err != nil {
			return asked, fmt.Errorf("close expired request: %w", err)
		}
		others, err := findOne(ctx, tx, countOthers, scanValue[int], micros(r.CreatedAt), r.Principal, r.Key)
		if err != nil {
			return asked, fmt.Errorf("count open requests: %w", err)
		}
		if others >= approval.MaxPending {
			return asked, contract.Errorf(contract.Limited,
				"%d of your requests are already waiting for approval; call again when some are decided or have expired", others)
		}
		return findOne(ctx, tx, addRequest, scanApproval, r.ID, r.Key, r.Workspace, r.Principal, r.Tool, r.Version, r.Digest,
			r.Arguments, s.db.bytesOrText(r.Summary), micros(r.CreatedAt), micros(r.ExpiresAt),
			r.Target, r.Frontend, r.Client, r.Session, r.CallerReason, r.AskedSeal, r.Words())
	})
}

// usable selects the decision that the next call with a key may use.
const usable = ` FROM approvals
	WHERE key = $1 AND spent_at IS NULL AND state IN ('approved', 'denied') AND expires_at > $2
	ORDER BY created_at, id LIMIT 1`

const decidedRequest = `SELECT ` + approvalColumns + usable

func (s approvals) Decided(ctx context.Context, key string, now time.Time) (approval.Request, bool, error) {
	return lookUp(ctx, s.db, "find approval", decidedRequest, scanApproval, key, micros(now))
}

// spent_at and state are checked twice for PostgreSQL: a row that the inner query found may have
// been spent or withdrawn before the outer query locks it.
const spend = `
UPDATE approvals SET spent_at = $2, state = CASE WHEN state = 'approved' AND shown <> $3 THEN 'changed' ELSE state END
WHERE spent_at IS NULL AND state IN ('approved', 'denied') AND id = (SELECT id` + usable + `)
RETURNING ` + approvalColumns

func (s approvals) Take(ctx context.Context, key, shown string, now time.Time) (r approval.Request, found bool, err error) {
	err = s.db.transact(ctx, "take approval", func(ctx context.Context, tx runner) (err error) {
		r, found, err = find(ctx, tx, spend, scanApproval, key, micros(now), shown)
		return err
	})
	return r, found && err == nil, err
}

const decide = `
UPDATE approvals SET state = $2, decided_by = $3, reason = $4, decided_at = $5, expires_at = $6, seal = $7, shown = $8, proof = $9, open_key = NULL
WHERE id = $1 AND state = 'pending' AND expires_at > $5
RETURNING ` + approvalColumns

const byID = `SELECT ` + approvalColumns + ` FROM approvals WHERE id = $1`

func (s approvals) Decide(ctx context.Context, id string, v approval.Verdict, now, expires time.Time) (approval.Request, error) {
	if !isText(id) {
		return approval.Request{}, notFound(id)
	}
	state := approval.Denied
	if v.Approve {
		state = approval.Approved
	}
	return transacted(ctx, s.db, "decide request "+id, func(ctx context.Context, tx runner) (approval.Request, error) {
		r, found, err := find(ctx, tx, decide, scanApproval, id, state, v.By, s.db.bytesOrText(v.Reason),
			micros(now), micros(expires), v.Seal, v.Shown, v.Proof.String())
		if err == nil && !found {
			err = undecidable(ctx, tx, id)
		}
		if err != nil {
			return r, err
		}
		approval.DescribeRequest(ctx, &r)
		return r, s.db.record(ctx, tx)
	})
}

// undecidable returns an error that says why the request with this id cannot be decided.
func undecidable(ctx context.Context, tx runner, id string) error {
	r, found, err := find(ctx, tx, byID, scanApproval, id)
	switch {
	case err != nil:
		return err
	case !found:
		return notFound(id)
	case r.State == approval.Pending:
		return contract.Errorf(contract.Conflict, "Request %s expired at %s", id, r.ExpiresAt.Format(time.RFC3339))
	}
	return contract.Errorf(contract.Conflict, "Request %s was %s at %s by %s", id, r.State, r.DecidedAt.Format(time.RFC3339), r.DecidedBy)
}

const withdrawApproval = `
UPDATE approvals SET state = 'withdrawn', decided_by = $2, decided_at = $3
WHERE id = $1 AND state = 'approved' AND spent_at IS NULL AND expires_at > $3
RETURNING ` + approvalColumns

func (s approvals) Withdraw(ctx context.Context, id string, v approval.Verdict, now time.Time) (approval.Request, error) {
	if !isText(id) {
		return approval.Request{}, notFound(id)
	}
	return transacted(ctx, s.db, "withdraw request "+id, func(ctx context.Context, tx runner) (approval.Request, error) {
		r, found, err := find(ctx, tx, withdrawApproval, scanApproval, id, v.By, micros(now))
		if found {
			approval.DescribeRequest(ctx, &r)
			err = s.db.record(ctx, tx)
		}
		if err != nil || found {
			return r, err
		}
		r, found, err = find(ctx, tx, byID, scanApproval, id)
		switch {
		case err != nil:
			return r, err
		case !found:
			return r, notFound(id)
		}
		return r, contract.Errorf(contract.Conflict, "Request %s is %s; only an approval that no call has used can be withdrawn",
			id, r.Stage(now))
	})
}

func (s approvals) Get(ctx context.Context, id string) (approval.Request, error) {
	if id == "" {
		return approval.Request{}, contract.Errorf(contract.Invalid, "Give the id of a request, or the beginning of one")
	}
	if !isText(id) {
		return approval.Request{}, notFound(id)
	}
	r, found, err := find(ctx, s.db.reader(ctx), byID, scanApproval, id)
	if err == nil && !found {
		r, err = s.getByPrefix(ctx, id)
	}
	return r, wrap("get approval", err)
}

// LIKE would treat a % from the caller as a pattern, and it ignores case in SQLite only.
const idsByPrefix = `
SELECT id FROM approvals WHERE substr(id, 1, length($1)) = $1 ORDER BY id LIMIT $2`

func (s approvals) getByPrefix(ctx context.Context, prefix string) (approval.Request, error) {
	const maxListed = 10 // ids listed in the error, for a person to choose from
	ids, err := collect(ctx, s.db.reader(ctx), idsByPrefix, scanValue[string], prefix, maxListed)
	switch {
	case err != nil:
		return approval.Request{}, err
	case len(ids) == 0:
		return approval.Request{}, notFound(prefix)
	case len(ids) > 1:
		return approval.Request{}, contract.Errorf(contract.Invalid, "%s matches several requests: %s", prefix, strings.Join(ids, ", "))
	}
	return findOne(ctx, s.db.reader(ctx), byID, scanApproval, ids[0])
}

func notFound(id string) error {
	return contract.Errorf(contract.NotFound, "There is no request %s", id)
}

func scanApproval(row scanner) (r approval.Request, err error) {
	err = row.Scan(&r.ID, &r.Key, &r.Workspace, &r.Principal, &r.Tool, &r.Version, &r.Digest, &r.Arguments, &r.Summary, &r.State,
		(*timeColumn)(&r.CreatedAt), (*timeColumn)(&r.ExpiresAt), (*timeColumn)(&r.DecidedAt), &r.DecidedBy, &r.Reason,
		(*timeColumn)(&r.UsedAt), &r.Seal, &r.Shown, &r.Proof,
		&r.Target, &r.Frontend, &r.Client, &r.Session, &r.CallerReason, &r.AskedSeal)
	return r, err
}
