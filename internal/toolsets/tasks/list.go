package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"remit/internal/contract"
)

// mostAnswered is how many tasks are read for one answer: as many as would be in it if
// all of them were as short as can be.
const mostAnswered = 330

// ListIn says which tasks to list. What is empty chooses all.
type ListIn struct {
	UserID    string   `json:"user_id"`
	Status    Status   `json:"status"`
	Priority  Priority `json:"priority"`
	DueBefore string   `json:"due_before"`
	DueAfter  string   `json:"due_after"`
	Search    string   `json:"search"`
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

// Check refuses a cursor of another list.
func (in ListIn) Check() error {
	if in.Cursor == "" {
		return nil
	}
	_, err := in.list().resume(in.Cursor)
	return err
}

// List gives the tasks of a user, newest first.
func (t *Tools) List(ctx context.Context, in ListIn) (ListOut, error) {
	if in.Limit == 0 || in.Limit > mostAnswered {
		in.Limit = mostAnswered
	}
	return t.page(ctx, in)
}

// page gives as many tasks as the limit says, if there are so many.
func (t *Tools) page(ctx context.Context, in ListIn) (ListOut, error) {
	part := Part{Limit: in.Limit}
	if in.Cursor != "" {
		part.Before, _ = in.list().resume(in.Cursor) // Check has seen that it is one of ours
	}
	store, err := t.store(ctx)
	if err != nil {
		return ListOut{}, err
	}
	page, err := store.List(ctx, in.UserID, in.filter(), part)
	if err != nil {
		return ListOut{}, failure(ctx, err)
	}
	out := ListOut{Tasks: page.Tasks, Total: page.Total, list: in.list()}
	if page.More {
		return out.upTo(len(out.Tasks)), nil
	}
	return out, nil
}

func (in *ListIn) filter() Filter {
	return Filter{Status: in.Status, Priority: in.Priority, DueBefore: in.DueBefore, DueAfter: in.DueAfter, Search: in.Search}
}

// Cut leaves the first n tasks of a page that is too long for an answer.
func (out ListOut) Cut(n int) any { return out.upTo(n) }

// upTo is the page that ends with the n-th task while others follow it.
func (out ListOut) upTo(n int) ListOut {
	out.Tasks = out.Tasks[:n]
	out.NextCursor = out.list.cursor(out.Tasks[n-1].ID)
	return out
}

// listID tells one list from another, so that a cursor is used only with the filters
// it was given for. It is no secret: a cursor leads to nothing that its caller could
// not list anyway.
type listID [6]byte

func (in *ListIn) list() listID {
	about := fmt.Appendf(nil, "%q %q %q %q %q %q", in.UserID, in.Status, in.Priority, in.DueBefore, in.DueAfter, in.Search)
	sum := sha256.Sum256(about)
	return listID(sum[:len(listID{})])
}

// cursor leads to the tasks after one with this id.
func (l listID) cursor(after int64) string {
	return base64.RawURLEncoding.EncodeToString(binary.AppendUvarint(l[:], uint64(after)))
}

// resume gives the id that a cursor leads on from.
func (l listID) resume(cursor string) (after int64, err error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil && len(data) > len(l) {
		id, _ := binary.Uvarint(data[len(l):])
		if after = int64(id); after > 0 && l.cursor(after) == cursor {
			return after, nil
		}
	}
	return 0, contract.Errorf(contract.Invalid, "The cursor is not one of this list; start without it").With("field", "cursor").Because(err)
}
