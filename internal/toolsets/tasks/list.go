package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"remit/internal/contract"
)

// maxAnswered is how many tasks are read for one answer: as many as fit into it if all of them are
// as short as possible.
const maxAnswered = 330

// ListIn says which tasks to list. Empty fields do not restrict the list.
type ListIn struct {
	UserID    string   `json:"user_id"`
	Status    Status   `json:"status"`
	Priority  Priority `json:"priority"`
	DueBefore string   `json:"due_before"`
	DueAfter  string   `json:"due_after"`
	Search    string   `json:"search"`
	Ready     bool     `json:"ready"`
	Limit     int      `json:"limit"`
	Cursor    string   `json:"cursor"`
}

// ListOut is a page of tasks.
type ListOut struct {
	Tasks      []Task `json:"tasks"`
	Total      int64  `json:"total"`
	NextCursor string `json:"nextCursor,omitempty"`

	list listID
}

// Check returns an error if the cursor belongs to another list.
func (in ListIn) Check() error {
	if in.Cursor == "" {
		return nil
	}
	_, err := in.list().resume(in.Cursor)
	return err
}

// List returns the tasks of a user, newest first.
func (t *Tools) List(ctx context.Context, in ListIn) (ListOut, error) {
	if in.Limit == 0 || in.Limit > maxAnswered {
		in.Limit = maxAnswered
	}
	return t.page(ctx, in)
}

// page returns at most in.Limit tasks.
func (t *Tools) page(ctx context.Context, in ListIn) (ListOut, error) {
	part := Part{Limit: in.Limit}
	if in.Cursor != "" {
		part.Before, _ = in.list().resume(in.Cursor) // Check has validated the cursor
	}
	store, err := t.store(ctx)
	if err != nil {
		return ListOut{}, err
	}
	at, filter := store.Clock(t.Now()), in.filter()
	if in.Ready {
		filter.ReadyAt = at
	}
	page, err := store.List(ctx, in.UserID, filter, part)
	if err != nil {
		return ListOut{}, failure(ctx, err)
	}
	hideAllExpired(page.Tasks, at)
	out := ListOut{Tasks: page.Tasks, Total: page.Total, list: in.list()}
	if page.More {
		return out.upTo(len(out.Tasks)), nil
	}
	return out, nil
}

func (in *ListIn) filter() Filter {
	return Filter{Status: in.Status, Priority: in.Priority, DueBefore: in.DueBefore, DueAfter: in.DueAfter, Search: in.Search}
}

// Cut returns the page with only its first n tasks, if it is too long for an answer.
func (out ListOut) Cut(n int) any { return out.upTo(n) }

// upTo returns the page cut after the n-th task, with a cursor to the next one.
func (out ListOut) upTo(n int) ListOut {
	out.Tasks = out.Tasks[:n]
	out.NextCursor = out.list.cursor(out.Tasks[n-1].ID)
	return out
}

// listID identifies a list, so that a cursor is valid only with the filters it was issued for. It
// is not a secret: a cursor gives access to nothing that its caller could not list anyway.
type listID [6]byte

func (in *ListIn) list() listID {
	about := fmt.Appendf(nil, "%q %q %q %q %q %q", in.UserID, in.Status, in.Priority, in.DueBefore, in.DueAfter, in.Search)
	if in.Ready {
		about = append(about, " ready"...)
	}
	sum := sha256.Sum256(about)
	return listID(sum[:len(listID{})])
}

// cursor returns the cursor to the tasks after the one with this id.
func (l listID) cursor(after int64) string {
	return base64.RawURLEncoding.EncodeToString(binary.AppendUvarint(l[:], uint64(after)))
}

// resume returns the id after which a cursor continues.
func (l listID) resume(cursor string) (after int64, err error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil && len(data) > len(l) {
		id, _ := binary.Uvarint(data[len(l):])
		if after = int64(id); after > 0 && l.cursor(after) == cursor {
			return after, nil
		}
	}
	return 0, contract.Errorf(contract.Invalid, "The cursor is not valid for this list; start again without it").With("field", "cursor").Because(err)
}
