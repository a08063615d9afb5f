package learning

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"remit/internal/contract"
	"remit/internal/engine"
)

// Extent identifies text at the end of a file, as a person saw it. What others append later does
// not change it; an edit or a cut does.
type Extent struct {
	End  int64 // how many bytes of the file there were
	Size int   // how many of them, at the end, the hash covers
	Hash string
}

// ErrChanged means that a file no longer has the Extent that an entry was to follow.
var ErrChanged = errors.New("the file was edited or cut")

func extentOf(tail Tail) Extent {
	return Extent{End: tail.Before + int64(len(tail.Text)), Size: len(tail.Text), Hash: hashOf(tail.Text)}
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (e Extent) String() string { return fmt.Sprintf("%d-%d-%s", e.End, e.Size, e.Hash) }

// maxExtent is how much text an Extent covers at most, so that it is the whole of an ordinary file.
// Of a longer line at the end of a file only the length counts.
const maxExtent = 16 << 20

// parseExtent parses the string of an Extent. Only what extentOf makes is valid.
func parseExtent(text string) (e Extent, ok bool) {
	n, err := fmt.Sscanf(text, "%d-%d-%64s", &e.End, &e.Size, &e.Hash)
	ok = err == nil && n == 3 && e.Size >= 0 && e.Size <= maxExtent && int64(e.Size) <= e.End && e.String() == text
	return e, ok
}

// Check returns ErrChanged unless the file still has the extent.
func (e Extent) Check(file io.ReaderAt) error {
	if e.End == 0 {
		return nil
	}
	// One byte more than the text proves that a file without hashed text is still as long.
	from := max(0, e.End-max(1, int64(e.Size)))
	text := make([]byte, e.End-from)
	switch n, err := file.ReadAt(text, from); {
	case n < len(text) && (err == nil || errors.Is(err, io.EOF)):
		return ErrChanged
	case n < len(text):
		return err
	case hashOf(text[len(text)-e.Size:]) != e.Hash:
		return ErrChanged
	}
	return nil
}

// shownTail is how many bytes of a memory file are shown above a new entry, unless the last line is
// longer.
const shownTail = 4 << 10

// lastLines returns the lines at the end of a text that are shown.
func lastLines(text []byte) []byte {
	from := len(text) - shownTail
	if from <= 0 {
		return text
	}
	if i := bytes.IndexByte(text[from-1:], '\n'); i >= 0 && from+i < len(text) {
		return text[from+i:]
	}
	return text[bytes.LastIndexByte(text[:from], '\n')+1:]
}

// ShowWrite shows what an entry would be appended to.
func (t *Tools) ShowWrite(ctx context.Context, in WriteIn) (engine.Shown, error) {
	tail, err := t.tail(ctx, in.File, maxExtent)
	if err != nil {
		return engine.Shown{}, err
	}
	state := extentOf(tail)
	if seen, ok := parseExtent(engine.Seen(ctx)); ok && seen != state && t.still(ctx, in.File, seen, state.End) {
		state = seen
	}
	body, superseded, err := t.body(ctx, in)
	if err != nil {
		return engine.Shown{}, err
	}
	before, title := string(lastLines(tail.Text)), "Append to "+in.File
	if rule := t.hidden(ctx, in.File); rule != "" {
		before, title = "", title+", whose content is not shown because of the rule "+rule
	} else {
		title += instead(superseded)
	}
	if before != "" && before[len(before)-1] != '\n' {
		before += "\n" // the entry begins on a line of its own
	}
	return engine.Shown{
		State: state.String(), Title: title,
		Before: before, After: before + string(body) + "\n",
	}, nil
}

// hidden returns the rule of the secret policy that denies a memory file, or "". Previews leave the
// machine, for example to a webhook, so the policy applies to them too.
func (t *Tools) hidden(ctx context.Context, file string) string {
	_, err := t.Memory.Stat(ctx, file, &contract.PathPolicy{Secrets: t.Secrets})
	var denied *contract.Error
	if !errors.As(err, &denied) || denied.Kind != contract.Denied {
		return ""
	}
	rule, _ := denied.Details["rule"].(string)
	return cmp.Or(rule, denied.Message)
}

// tail returns the end of a memory file, which is empty if there is none, whatever callers may
// read: the state that a person saw must not change unseen.
func (t *Tools) tail(ctx context.Context, file string, limit int64) (Tail, error) {
	tail, err := t.Memory.Tail(ctx, file, &contract.PathPolicy{}, limit)
	var failure *contract.Error
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.As(err, &failure) && failure.Kind == contract.NotFound:
		return Tail{}, nil
	case err != nil && failure == nil && ctx.Err() == nil:
		err = contract.Errorf(contract.Unavailable, "%s cannot be read right now; try again", file).Because(err)
	}
	return tail, err
}

// maxGrowth is how far a file may grow before an earlier extent is not looked for any more.
const maxGrowth = 16 << 20

// still reports whether a file, which now ends at end, still has an extent.
func (t *Tools) still(ctx context.Context, file string, seen Extent, end int64) bool {
	grown := end - seen.End
	if grown < 0 || grown > maxGrowth {
		return false
	}
	tail, err := t.tail(ctx, file, grown+max(1, int64(seen.Size)))
	if err != nil {
		return false
	}
	// The text that was seen begins with a line, so the tail begins there too, unless it was
	// changed.
	return seen.Check(tail) == nil
}

// ReadAt implements io.ReaderAt for the part of the file that the tail has.
func (t Tail) ReadAt(p []byte, at int64) (int, error) {
	at -= t.Before
	if at < 0 || at > int64(len(t.Text)) {
		return 0, io.EOF
	}
	n := copy(p, t.Text[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
