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

// Asset is an open asset with its MIME type.
type Asset struct {
	*Body
	MIME string
}

// Asset opens the asset at a key. It refuses keys of anything but assets.
func (l *Library) Asset(ctx context.Context, key string) (*Asset, error) {
	bookID, path, ok := splitKey(key)
	if !ok || !strings.HasPrefix(path, assetsPrefix) || checkPath(path) != nil {
		return nil, notFound(key)
	}
	h, err := l.locate(ctx, bookID)
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

// Receive stores an upload for which an upload URL was issued. r must yield exactly the announced
// number of bytes. Receive changes nothing before they have all arrived and arrived, which gets
// their SHA-256, has returned nil.
func (l *Library) Receive(ctx context.Context, u Upload, r io.Reader, arrived func(hash string) error) error {
	bookID, path, ok := splitKey(u.Key)
	if !ok || !isAsset(u.Key) || checkPath(path) != nil {
		return notFound(u.Key)
	}
	h, err := l.writable(ctx, bookID)
	if err != nil {
		return err
	}
	staged, err := h.store.Stage(ctx, u.Key, &exactly{r, u.Size}, u.Size)
	if err != nil {
		return failureAt(ctx, u.Key, err)
	}
	defer staged.Discard()
	if err := arrived(staged.Hash()); err != nil {
		return err
	}
	_, err = l.write(ctx, h, path, content{size: u.Size, hash: staged.Hash(), staged: staged}, edit{by: u.By, op: opUpload, seen: u.Seen})
	return err
}

// exactly passes a reader through and returns an error if it yields more or fewer bytes than
// announced.
type exactly struct {
	io.Reader
	left int64
}

func (e *exactly) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	e.left -= int64(n)
	switch {
	case e.left < 0:
		return 0, contract.Errorf(contract.Invalid, "Received more bytes than announced with file_size; call upload_asset again "+
			"with the right file_size").With("field", "file_size")
	case e.left > 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		// The error does not wrap the EOF, which readers would treat as the end.
		return n, contract.Errorf(contract.Invalid, "Received %d bytes fewer than announced with file_size; send the whole "+
			"file again", e.left).With("field", "file_size")
	default:
		return n, err
	}
}

// described returns the details of assets. history is a path that contains all the assets; who
// uploaded them is read from the history below it.
func (t *Tools) described(ctx context.Context, h location, history string, objects []Object) ([]ListedAsset, error) {
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
			continue // deleted meanwhile
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

// uploaders returns who last changed each file below a path.
func (l *Library) uploaders(ctx context.Context, h location, beneath string) (map[string]string, error) {
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

// kindOf determines the MIME type of a file and rewinds it.
func (l *Library) kindOf(body *Body) (string, error) {
	known := l.facts.find(&body.Object)
	if known.mime != "" {
		return known.mime, nil
	}
	checkedAt := l.Now()
	head := make([]byte, min(headSize, body.Size))
	if _, err := io.ReadFull(body, head); err != nil {
		return "", fmt.Errorf("read start of %s: %w", body.Key, err)
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("rewind %s: %w", body.Key, err)
	}
	known.mime = mimeOf(head, body.Key)
	l.facts.put(&body.Object, known, checkedAt)
	return known.mime, nil
}

// kindsOf determines the MIME types of files. The type of a file that was deleted meanwhile is "".
func (l *Library) kindsOf(ctx context.Context, store Store, objects []Object) ([]string, error) {
	found := make([]string, len(objects))
	err := inParallel(ctx, searchers, len(objects), func(ctx context.Context, i int) (err error) {
		if found[i] = l.facts.find(&objects[i]).mime; found[i] == "" {
			found[i], err = l.kindAt(ctx, store, objects[i].Key)
		}
		return err
	})
	return found, err
}

func (l *Library) kindAt(ctx context.Context, store Store, key string) (string, error) {
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
