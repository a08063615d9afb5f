package books

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"remit/internal/contract"
)

// Proposal is what a file of a book holds, and what it would hold after a call.
type Proposal struct {
	Book, Path    string
	Before, After string
}

// Propose tells what a call would make of a file, for whoever has to approve it; false
// if its tool writes no text.
func (l *Library) Propose(ctx context.Context, tool string, arguments []byte) (p Proposal, ok bool, err error) {
	var in struct {
		WriteContentIn
		ChapterID string `json:"chapter_id"`
	}
	switch tool {
	case "write_content", "delete_content", "write_summary", "delete_summary":
	default:
		return p, false, nil
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return p, false, fmt.Errorf("read the arguments of %s: %w", tool, err)
	}
	if in.ChapterID != "" {
		in.Path = summaryPath(in.ChapterID)
	}
	p = Proposal{Book: in.BookID, Path: in.Path, After: in.Content}
	document, err := l.read(ctx, in.BookID, in.Path)
	if missing, ok := errors.AsType[*contract.Error](err); ok && missing.Kind == contract.NotFound {
		err = nil
	}
	p.Before = document.text
	return p, err == nil, err
}
