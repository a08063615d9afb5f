package sqlstore

import (
	"context"
	"fmt"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
)

// approvalRules stores standing permissions and denials. It implements approval.RuleStore.
type approvalRules struct{ db *DB }

// ApprovalRules returns the store of standing rules in this database.
func (db *DB) ApprovalRules() approval.RuleStore { return approvalRules{db} }

// ruleColumns lists the columns of a rule in the order in which scanRule reads them.
const ruleColumns = `id, allow, request, workspace, principal, tool, version, digest, scope, calls, reason, made_by,
	created_at, expires_at, seal, proof, used, used_at, revoked_at, revoked_by`

const pruneRules = `DELETE FROM approval_rules WHERE expires_at <= $1`

const countRules = `SELECT count(*) FROM approval_rules WHERE expires_at > $1 AND revoked_at IS NULL AND (NOT allow OR used < calls)`

const addRule = `
INSERT INTO approval_rules (id, allow, request, workspace, principal, tool, version, digest, scope, calls, reason, made_by,
	created_at, expires_at, seal, proof)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`

const coverRequest = `
UPDATE approvals SET expires_at = $3, decided_by = $2, decided_at = $3, reason = $4, open_key = NULL
WHERE id = $1 AND state = 'pending' AND expires_at > $3`

func (s approvalRules) Add(ctx context.Context, r approval.Rule, covered []string) error {
	return s.db.transact(ctx, "add a rule", func(ctx context.Context, tx runner) error {
		if err := exec(ctx, tx, pruneRules, micros(r.CreatedAt.AddDate(0, -1, 0))); err != nil {
			return fmt.Errorf("delete old rules: %w", err)
		}
		inForce, err := findOne(ctx, tx, countRules, scanValue[int], micros(r.CreatedAt))
		if err != nil {
			return fmt.Errorf("count rules: %w", err)
		}
		if inForce >= approval.MaxRules {
			return contract.Errorf(contract.Limited, "There are %d rules in force already; revoke some of them first", inForce)
		}
		err = exec(ctx, tx, addRule, r.ID, r.Allow, r.Request, r.Workspace, r.Principal, r.Tool, r.Version,
			r.Digest, s.db.bytesOrText(r.Scope), r.Calls, s.db.bytesOrText(r.Reason), r.By, micros(r.CreatedAt), micros(r.ExpiresAt),
			r.Seal, r.Proof)
		if err != nil {
			return err
		}
		for _, id := range covered {
			if err := exec(ctx, tx, coverRequest, id, r.By, micros(r.CreatedAt), s.db.bytesOrText("Rule "+r.ID)); err != nil {
				return fmt.Errorf("cover request %s: %w", id, err)
			}
		}
		approval.DescribeRule(ctx, &r)
		return s.db.record(ctx, tx)
	})
}

const rulesOf = `
SELECT ` + ruleColumns + ` FROM approval_rules
WHERE principal = $1 AND tool = $2 AND workspace = $3 AND expires_at > $4 AND revoked_at IS NULL
ORDER BY created_at, id`

func (s approvalRules) For(ctx context.Context, workspace, principal, tool string, now time.Time) ([]approval.Rule, error) {
	return list(ctx, s.db, "find rules", rulesOf, scanRule, principal, tool, workspace, micros(now))
}

const useRule = `
UPDATE approval_rules SET used = used + 1, used_at = $2
WHERE id = $1 AND allow AND used < calls AND revoked_at IS NULL AND expires_at > $2
RETURNING ` + ruleColumns

func (s approvalRules) Use(ctx context.Context, id string, now time.Time) (r approval.Rule, found bool, err error) {
	err = s.db.transact(ctx, "use a rule", func(ctx context.Context, tx runner) (err error) {
		r, found, err = find(ctx, tx, useRule, scanRule, id, micros(now))
		return err
	})
	return r, found && err == nil, err
}

const revokeRule = `
UPDATE approval_rules SET revoked_at = $3, revoked_by = $2
WHERE id = $1 AND revoked_at IS NULL
RETURNING ` + ruleColumns

const ruleByID = `SELECT ` + ruleColumns + ` FROM approval_rules WHERE id = $1`

func (s approvalRules) Revoke(ctx context.Context, id, by string, now time.Time) (approval.Rule, error) {
	if !isText(id) {
		return approval.Rule{}, approval.RuleNotFound(id)
	}
	return transacted(ctx, s.db, "revoke rule "+id, func(ctx context.Context, tx runner) (approval.Rule, error) {
		r, found, err := find(ctx, tx, revokeRule, scanRule, id, by, micros(now))
		if found {
			approval.DescribeRule(ctx, &r)
			err = s.db.record(ctx, tx)
		}
		if err != nil || found {
			return r, err
		}
		r, found, err = find(ctx, tx, ruleByID, scanRule, id)
		switch {
		case err != nil:
			return r, err
		case !found:
			return r, approval.RuleNotFound(id)
		}
		return r, contract.Errorf(contract.Conflict, "Rule %s was revoked at %s by %s", id, r.RevokedAt.Format(time.RFC3339), r.RevokedBy)
	})
}

func (s approvalRules) Get(ctx context.Context, id string) (approval.Rule, error) {
	if !isText(id) {
		return approval.Rule{}, approval.RuleNotFound(id)
	}
	r, found, err := lookUp(ctx, s.db, "get rule", ruleByID, scanRule, id)
	if err == nil && !found {
		err = approval.RuleNotFound(id)
	}
	return r, err
}

const listRules = `SELECT ` + ruleColumns + ` FROM approval_rules ORDER BY created_at DESC, id DESC LIMIT $1`

func (s approvalRules) List(ctx context.Context, limit int) ([]approval.Rule, error) {
	return list(ctx, s.db, "list rules", listRules, scanRule, limit)
}

func scanRule(row scanner) (r approval.Rule, err error) {
	err = row.Scan(&r.ID, &r.Allow, &r.Request, &r.Workspace, &r.Principal, &r.Tool, &r.Version, &r.Digest, &r.Scope, &r.Calls, &r.Reason, &r.By,
		(*timeColumn)(&r.CreatedAt), (*timeColumn)(&r.ExpiresAt), &r.Seal, &r.Proof, &r.Used, (*timeColumn)(&r.UsedAt),
		(*timeColumn)(&r.RevokedAt), &r.RevokedBy)
	return r, err
}
