package sqlstore

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"remit/internal/engine/approval"
)

// inState holds the conditions that select the requests in a state; see approval.Request.Stage. A ?
// is the current time.
var inState = map[string]string{
	string(approval.Pending):   `state = 'pending' AND expires_at > ?`,
	string(approval.Approved):  `state = 'approved' AND spent_at IS NULL AND expires_at > ?`,
	string(approval.Denied):    `state = 'denied' AND (spent_at IS NOT NULL OR expires_at > ?)`,
	string(approval.Changed):   `state = 'changed' AND (spent_at IS NOT NULL OR expires_at > ?)`,
	string(approval.Withdrawn): `state = 'withdrawn'`,
	approval.UsedState:         `state = 'approved' AND spent_at IS NOT NULL`,
	approval.ExpiredState:      `state <> 'withdrawn' AND spent_at IS NULL AND expires_at <= ?`,
	approval.DecidedState:      `decided_at IS NOT NULL`,
}

// condition collects the conditions of a query and their parameters.
type condition struct {
	where strings.Builder
	args  []any
}

// and adds a condition, in which each ? is a parameter.
func (c *condition) and(text string, args ...any) {
	if c.where.Len() == 0 {
		c.where.WriteString(" WHERE ")
	} else {
		c.where.WriteString(" AND ")
	}
	c.where.WriteString(c.numbered(text, args...))
}

// numbered returns a part of a query with its parameters numbered.
func (c *condition) numbered(text string, args ...any) string {
	for _, arg := range args {
		c.args = append(c.args, arg)
		text = strings.Replace(text, "?", "$"+strconv.Itoa(len(c.args)), 1)
	}
	return text
}

// withoutArguments reads requests whose arguments may be large and are not needed.
var withoutArguments = strings.Replace(approvalColumns, "arguments", "'' AS arguments", 1)

func (s approvals) List(ctx context.Context, o approval.ListOptions) ([]approval.Request, error) {
	c, err := s.selected(&o)
	if err != nil {
		return nil, err
	}
	columns := approvalColumns
	if o.Brief {
		columns = withoutArguments
	}
	query := `SELECT ` + columns + ` FROM approvals` + c.where.String() +
		c.numbered(` ORDER BY created_at DESC, id DESC LIMIT ?`, cmp.Or(max(o.Limit, 0), 100))
	return list(ctx, s.db, "list approvals", query, scanApproval, c.args...)
}

// selected returns the conditions of a list.
func (s approvals) selected(o *approval.ListOptions) (*condition, error) {
	c := &condition{}
	if err := approval.CheckState(o.State); err != nil {
		return c, err
	}
	if !isText(o.Agent + o.Tool + o.Text + o.After) {
		c.and(`1 = 0`) // no column can hold it
		return c, nil
	}
	if o.State != "" || !o.All {
		text := inState[cmp.Or(o.State, string(approval.Pending))]
		if strings.Contains(text, "?") {
			c.and(text, micros(o.Now))
		} else {
			c.and(text)
		}
	}
	if o.Agent != "" {
		c.and(`principal = ?`, o.Agent)
	}
	switch {
	case strings.Contains(o.Tool, "/"):
		c.and(`tool = ?`, o.Tool)
	case o.Tool != "":
		c.and(`substr(tool, length(tool) - length(?)) = ?`, o.Tool, "/"+o.Tool)
	}
	if o.Text != "" {
		text := strings.ToLower(o.Text)
		if s.db.shared {
			c.and(`strpos(words, ?) > 0`, text)
		} else {
			c.and(`instr(words, ?) > 0`, text)
		}
	}
	if o.After != "" {
		at, id, err := approval.ParseCursor(o.After)
		if err != nil {
			return c, err
		}
		c.and(`(created_at, id) < (?, ?)`, micros(at), id)
	}
	return c, nil
}

const countWaiting = `
SELECT principal, tool, target, count(*) FROM approvals WHERE state = 'pending' AND expires_at > $1
GROUP BY principal, tool, target ORDER BY count(*) DESC, principal, tool, target`

func (s approvals) Waiting(ctx context.Context, now time.Time) ([]approval.Group, error) {
	return list(ctx, s.db, "count approvals", countWaiting, func(row scanner) (g approval.Group, err error) {
		err = row.Scan(&g.Principal, &g.Tool, &g.Target, &g.Count)
		return g, err
	}, micros(now))
}

// A withdrawn approval is left out: whoever took it back changed the decision.
var similarRequests = `
SELECT ` + withoutArguments + ` FROM approvals
WHERE principal = $1 AND tool = $2 AND decided_at IS NOT NULL AND decided_at >= $3 AND state <> 'withdrawn'
ORDER BY decided_at DESC, id DESC LIMIT $4`

func (s approvals) Similar(ctx context.Context, o approval.SimilarOptions) ([]approval.Request, error) {
	limit := cmp.Or(max(o.Limit, 0), approval.MaxSimilar)
	return list(ctx, s.db, "list similar approvals", similarRequests, scanApproval, o.Principal, o.Tool, micros(o.Since), limit)
}
