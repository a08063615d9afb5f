package sqlstore

import (
	"context"
	"fmt"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// agentTokens stores the tokens of agents. It implements identity.TokenStore.
type agentTokens struct{ db *DB }

// AgentTokens returns the store of agent tokens in this database.
func (db *DB) AgentTokens() identity.TokenStore { return agentTokens{db} }

// agentColumns lists the columns of a token in the order in which scanToken reads them.
const agentColumns = `id, name, user_id, scopes, rate_requests, rate_per, made_by, created_at, expires_at, revoked_at, used_at, hash, seal, role, elicits`

const deleteExpired = `DELETE FROM agent_tokens WHERE expires_at <= $1 OR revoked_at <= $1`

const freeNames = `UPDATE agent_tokens SET live_name = NULL WHERE live_name IS NOT NULL AND expires_at <= $1`

const countNames = `SELECT count(*) FROM agent_tokens WHERE live_name IS NOT NULL`

const addToken = `
INSERT INTO agent_tokens (` + agentColumns + `, live_name)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $2)
ON CONFLICT (live_name) DO NOTHING`

func (s agentTokens) Add(ctx context.Context, t identity.Token) error {
	return s.db.transact(ctx, "add a token", func(ctx context.Context, tx runner) error {
		if err := exec(ctx, tx, deleteExpired, micros(t.Created.AddDate(-1, 0, 0))); err != nil {
			return fmt.Errorf("delete old tokens: %w", err)
		}
		if err := exec(ctx, tx, freeNames, micros(t.Created)); err != nil {
			return fmt.Errorf("release the names of expired tokens: %w", err)
		}
		live, err := findOne(ctx, tx, countNames, scanValue[int])
		if err != nil {
			return fmt.Errorf("count tokens: %w", err)
		}
		if live >= identity.MaxTokens {
			return contract.Errorf(contract.Limited, "There are %d tokens already; revoke some of them first", live)
		}
		added, err := changesOne(tx.ExecContext(ctx, addToken, t.ID, t.Name, t.User, t.Scopes.String(), t.Rate.Requests, int64(t.Rate.Per), t.By,
			micros(t.Created), micros(t.Expires), micros(t.Revoked), micros(t.Used), t.Hash, t.Seal, roleText(t.Role), t.Elicits))
		switch {
		case err != nil:
			return err
		case !added:
			return identity.NameTaken(t.Name)
		}
		return s.db.record(ctx, tx)
	})
}

const tokenByHash = `SELECT ` + agentColumns + ` FROM agent_tokens WHERE hash = $1`

func (s agentTokens) ByHash(ctx context.Context, hash string) (identity.Token, bool, error) {
	return lookUp(ctx, s.db, "find a token", tokenByHash, scanToken, hash)
}

const listTokens = `SELECT ` + agentColumns + ` FROM agent_tokens ORDER BY created_at DESC, id DESC`

func (s agentTokens) List(ctx context.Context) ([]identity.Token, error) {
	return list(ctx, s.db, "list tokens", listTokens, scanToken)
}

// A token that was revoked before keeps the time of its first revocation.
const revokeToken = `
UPDATE agent_tokens SET live_name = NULL, revoked_at = coalesce(revoked_at, $2)
WHERE id = (
	SELECT id FROM agent_tokens WHERE id = $1 OR name = $1
	ORDER BY CASE WHEN id = $1 THEN 0 WHEN revoked_at IS NULL THEN 1 ELSE 2 END, created_at DESC, id DESC LIMIT 1)
RETURNING ` + agentColumns

func (s agentTokens) Revoke(ctx context.Context, idOrName string, now time.Time) (identity.Token, error) {
	if !isText(idOrName) {
		return identity.Token{}, identity.TokenNotFound(idOrName)
	}
	return transacted(ctx, s.db, "revoke a token", func(ctx context.Context, tx runner) (identity.Token, error) {
		t, found, err := find(ctx, tx, revokeToken, scanToken, idOrName, micros(now))
		switch {
		case err != nil:
			return t, err
		case !found:
			return t, identity.TokenNotFound(idOrName)
		}
		t.DescribeIn(ctx)
		return t, s.db.record(ctx, tx)
	})
}

const replaceToken = `
UPDATE agent_tokens SET id = $2, user_id = $3, scopes = $4, rate_requests = $5, rate_per = $6, expires_at = $7, seal = $8
WHERE id = $1 AND revoked_at IS NULL AND hash = $9`

func (s agentTokens) Replace(ctx context.Context, id string, t identity.Token) error {
	return s.db.transact(ctx, "narrow a token", func(ctx context.Context, tx runner) error {
		replaced, err := changesOne(tx.ExecContext(ctx, replaceToken, id, t.ID, t.User, t.Scopes.String(), t.Rate.Requests, int64(t.Rate.Per),
			micros(t.Expires), t.Seal, t.Hash))
		switch {
		case err != nil:
			return err
		case !replaced:
			return identity.NotLive(t.Name)
		}
		return s.db.record(ctx, tx)
	})
}

const useToken = `UPDATE agent_tokens SET used_at = $2 WHERE id = $1 AND (used_at IS NULL OR used_at < $2)`

func (s agentTokens) Use(ctx context.Context, id string, now time.Time) error {
	return s.db.execAlone(ctx, "record the use of a token", useToken, id, micros(now))
}

// scanToken reads a token. A token whose scopes cannot be parsed gets no rights, instead of an
// error that would hide the other tokens.
func scanToken(row scanner) (t identity.Token, err error) {
	var scopes, role string
	err = row.Scan(&t.ID, &t.Name, &t.User, &scopes, &t.Rate.Requests, &t.Rate.Per, &t.By,
		(*timeColumn)(&t.Created), (*timeColumn)(&t.Expires), (*timeColumn)(&t.Revoked), (*timeColumn)(&t.Used), &t.Hash, &t.Seal, &role, &t.Elicits)
	if err != nil {
		return identity.Token{}, err
	}
	if t.Scopes, err = identity.ParseScopes(scopes, nil); err != nil {
		t.Scopes = nil
	}
	if role != "" {
		if t.Role, err = identity.ParseRole(role); err != nil {
			return identity.Token{}, fmt.Errorf("token %s: %w", t.ID, err)
		}
	}
	return t, nil
}

// roleText returns what is stored of a role; "" if there is none.
func roleText(r identity.Role) string {
	if r == identity.NoRole {
		return ""
	}
	return r.String()
}
