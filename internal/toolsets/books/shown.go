package books

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"remit/internal/engine"
)

// Absent is the state of a file that does not exist; see engine.Call.Seen. The state of any other
// is the hash of its content.
const Absent = "absent"

// stateOf returns the state that a person is shown of a file with this hash; "" is that of no file.
func stateOf(hash string) string {
	if hash == "" {
		return Absent
	}
	return hash
}

// ShowWriteContent shows the old and the new text of a file.
func (t *Tools) ShowWriteContent(ctx context.Context, in WriteContentIn) (engine.Shown, error) {
	return t.Library.shown(ctx, "Write", in.BookID, in.Path, in.Content)
}

// ShowDeleteContent shows the file that would be deleted.
func (t *Tools) ShowDeleteContent(ctx context.Context, in ReadContentIn) (engine.Shown, error) {
	return t.Library.shown(ctx, "Delete", in.BookID, in.Path, "")
}

// ShowWriteSummary shows the old and the new text of a summary.
func (t *Tools) ShowWriteSummary(ctx context.Context, in WriteSummaryIn) (engine.Shown, error) {
	return t.Library.shown(ctx, "Write", in.BookID, summaryPath(in.ChapterID), in.Content)
}

// ShowDeleteSummary shows the summary that would be deleted.
func (t *Tools) ShowDeleteSummary(ctx context.Context, in ReadSummaryIn) (engine.Shown, error) {
	return t.Library.shown(ctx, "Delete", in.BookID, summaryPath(in.ChapterID), "")
}

// ShowUploadAsset shows the asset that would be replaced, and what is known of the new one.
func (t *Tools) ShowUploadAsset(ctx context.Context, in UploadAssetIn) (engine.Shown, error) {
	name, err := fileName(in.Filename)
	if err != nil {
		return engine.Shown{}, err
	}
	var after string
	if in.BinaryData == nil {
		after = fmt.Sprintf("%d bytes, which the agent sends to an upload URL\n", *in.FileSize)
	} else {
		data, err := decoded(*in.BinaryData)
		if err != nil {
			return engine.Shown{}, err
		}
		after = describe(int64(len(data)), hashOf(data), mimeOf(data[:min(len(data), headSize)], name))
	}
	shown, err := t.Library.shown(ctx, "Upload", in.BookID, assetPath(in.AssetType, name), "")
	shown.After = after
	return shown, err
}

// describe describes content that is not text.
func describe(size int64, hash, kind string) string {
	return fmt.Sprintf("%d bytes, %s, SHA-256 %s\n", size, kind, hash)
}

// shown shows a file of a book before and after a change. Content that is not text, or too long, is
// described.
func (l *Library) shown(ctx context.Context, verb, bookID, path, after string) (engine.Shown, error) {
	h, err := l.locate(ctx, bookID)
	if err != nil {
		return engine.Shown{}, err
	}
	key := h.key(path)
	now, err := current(ctx, h.store, key)
	if err != nil && !errors.Is(err, ErrPathConflict) {
		return engine.Shown{}, failureAt(ctx, key, err)
	}
	shown := engine.Shown{State: stateOf(now.Hash), Title: verb + " " + key, After: after}
	if now.Hash == "" {
		return shown, nil
	}
	if now.Size <= maxRead && !isAsset(key) {
		data, _, err := readAll(ctx, h.store, key, maxRead)
		if err != nil || hashOf(data) != now.Hash {
			return engine.Shown{}, failureAt(ctx, key, errors.Join(err, &ConflictError{}))
		}
		if utf8.Valid(data) {
			shown.Before = string(data)
			return shown, nil
		}
	}
	shown.Before = describe(now.Size, now.Hash, mimeOf(nil, key))
	return shown, nil
}

// checkSeen returns an error if a file is not in the state that a person saw when they approved the
// call.
func (l *Library) checkSeen(ctx context.Context, h location, path string) error {
	e := edit{seen: engine.Seen(ctx)}
	if e.seen == "" {
		return nil
	}
	now, err := current(ctx, h.store, h.key(path))
	if err != nil {
		return failureAt(ctx, h.key(path), err)
	}
	return e.check(h.key(path), now.Hash)
}
