package books

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"remit/internal/contract"
)

// Asset is an asset to be sent to somebody.
type Asset struct {
	*Body
	MIME string
}

// Asset opens the asset at a key. Nothing but assets can be had that way.
func (l *Library) Asset(ctx context.Context, key string) (*Asset, error) {
	bookID, path, ok := splitKey(key)
	if !ok || !strings.HasPrefix(path, assetsPrefix) || checkPath(path) != nil {
		return nil, notFound(key)
	}
	h, err := l.place(ctx, bookID)
	if err != nil {
		return nil, err
	}
	body, err := h.store.Open(ctx, key)
	if err != nil {
		return nil, failureAt(ctx, key, err)
	}
	kind, err := l.kindOf(body)
	if err != nil {
		_ = body.Close()
		return nil, failure(ctx, err)
	}
	return &Asset{Body: body, MIME: kind}, nil
}

// Receive stores an upload that somebody was given an address for. r must give just
// the bytes that were announced.
func (l *Library) Receive(ctx context.Context, u Upload, r io.Reader) error {
	bookID, path, ok := splitKey(u.Key)
	if !ok || !isAsset(u.Key) || checkPath(path) != nil {
		return notFound(u.Key)
	}
	h, err := l.writable(ctx, bookID)
	if err != nil {
		return err
	}
	sent := false
	_, err = l.write(ctx, h, path, content{size: u.Size, open: func() (io.ReadCloser, error) {
		if sent {
			return nil, contract.Errorf(contract.Conflict, "Somebody else stored %s meanwhile; send it again", u.Key).With("path", u.Key)
		}
		sent = true
		return io.NopCloser(&exactly{r, u.Size}), nil
	}}, edit{by: u.By, op: opUpload})
	return err
}

// exactly gives the bytes of a reader, and an error if there are more or less than so
// many.
type exactly struct {
	io.Reader
	left int64
}

func (e *exactly) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	e.left -= int64(n)
	switch {
	case e.left < 0:
		return 0, contract.Errorf(contract.Invalid, "More bytes came than were announced with file_size").With("field", "file_size")
	case e.left > 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return n, contract.Errorf(contract.Invalid, "%d bytes less came than were announced with file_size", e.left).With("field", "file_size") // not because of an EOF, which readers take for the end
	default:
		return n, err
	}
}

// announce keeps what is at a path and puts down that somebody may upload to it. The
// bytes will come without us.
func (l *Library) announce(ctx context.Context, h home, path string, size int64, by string) error {
	err := l.retry(ctx, h.key(path), func() error {
		old, err := current(ctx, h.store, h.key(path))
		if err != nil {
			return err
		}
		now := l.Now().UTC()
		return l.note(ctx, h, path, logKey(h.book.ID, path, l.ids.next(now), by), &entry{At: now, By: by, Op: opUploadURL, Old: old.Hash, Size: size})
	})
	if err != nil {
		return err
	}
	return l.register(ctx, h)
}

// described tells what is known of assets. The lines of their history are beneath a path.
func (t *Tools) described(ctx context.Context, h home, history string, objects []Object) ([]ListedAsset, error) {
	uploaders, err := t.Library.uploaders(ctx, h, history)
	if err != nil {
		return nil, err
	}
	kinds, err := t.Library.kindsOf(ctx, h.store, objects)
	if err != nil {
		return nil, failure(ctx, err)
	}
	found := make([]ListedAsset, 0, len(objects))
	for i := range objects {
		if kinds[i] == "" {
			continue // it is gone by now
		}
		url, err := t.Links.Asset(ctx, objects[i].Key)
		if err != nil {
			return nil, failure(ctx, err)
		}
		_, path, _ := splitKey(objects[i].Key)
		assetType, name, _ := splitAsset(path)
		found = append(found, ListedAsset{
			CDNURL: url, FileSize: objects[i].Size, MIME: kinds[i], Uploaded: objects[i].Modified,
			UploadedBy: cmp.Or(uploaders[path], nobody), AssetType: assetType, Filename: name,
		})
	}
	return found, nil
}

// uploaders tells who changed each file beneath a path last.
func (l *Library) uploaders(ctx context.Context, h home, beneath string) (map[string]string, error) {
	lines, err := l.lines(ctx, h, beneath)
	if err != nil {
		return nil, err
	}
	last := map[string]line{}
	for _, one := range lines {
		if one.id > last[one.path].id {
			last[one.path] = one
		}
	}
	names := make(map[string]string, len(last))
	for path, one := range last {
		if names[path] = one.by; one.by != "" {
			continue
		}
		e, err := l.entryAt(ctx, h, one)
		if err != nil {
			return nil, err
		}
		names[path] = e.By
	}
	return names, nil
}

// kindOf tells what a file is, and leaves it at its beginning.
func (l *Library) kindOf(body *Body) (string, error) {
	known := l.facts.find(&body.Object)
	if known.mime != "" {
		return known.mime, nil
	}
	looked := l.Now()
	head := make([]byte, min(headSize, body.Size))
	if _, err := io.ReadFull(body, head); err != nil {
		return "", fmt.Errorf("read the beginning of %s: %w", body.Key, err)
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("go back in %s: %w", body.Key, err)
	}
	known.mime = mimeOf(head, body.Key)
	l.facts.put(&body.Object, known, looked)
	return known.mime, nil
}

// kindsOf tells what files are. It is "" for one that is gone by now.
func (l *Library) kindsOf(ctx context.Context, store Store, objects []Object) ([]string, error) {
	found := make([]string, len(objects))
	err := inParallel(ctx, searchers, len(objects), func(ctx context.Context, i int) (err error) {
		if found[i] = l.facts.find(&objects[i]).mime; found[i] == "" {
			found[i], err = l.lookInto(ctx, store, objects[i].Key)
		}
		return err
	})
	return found, err
}

func (l *Library) lookInto(ctx context.Context, store Store, key string) (string, error) {
	body, err := store.Open(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	return l.kindOf(body)
}
