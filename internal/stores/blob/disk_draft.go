package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"remit/internal/toolsets/books"
)

// draft is a temporary file in the folder of an object, which is renamed to the object when it is
// complete.
type draft struct {
	store   *Disk
	in      folder
	file    *os.File
	temp    string // its temporary name
	name    string
	key     string
	hash    string // of its content, once it is filled
	renamed bool   // it is the object now
}

// fill writes the draft, syncs and closes it.
func (w *draft) fill(ctx context.Context, what content) (err error) {
	w.hash, err = what.copyTo(ctx, w.file)
	if err == nil {
		// Systems stamp files with a coarse clock. A file that reuses the inode of an earlier file
		// must not look like that file.
		err = w.in.stamp(w.temp, time.Now())
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err := errors.Join(err, w.file.Close()); err != nil {
		return fmt.Errorf("write object: %w", err)
	}
	return nil
}

// content is the content to be stored.
type content struct {
	r    io.Reader
	size int64
	hash string // the expected hash, or "" for any
}

// copyTo reads the content to its end and writes it to w. It returns an error if the size or hash
// is not as announced.
func (c content) copyTo(ctx context.Context, w io.Writer) (hash string, err error) {
	sum := sha256.New()
	buf := make([]byte, min(max(c.size, 0)+1, 128<<10)) // one byte more, to detect excess content
	n, err := io.CopyBuffer(io.MultiWriter(sum, w), io.LimitReader(contextReader{ctx, c.r}, c.size+1), buf)
	switch hash = hex.EncodeToString(sum.Sum(nil)); {
	case err != nil:
		return "", err
	case n > c.size:
		return "", fmt.Errorf("content is longer than the announced %d bytes", c.size)
	case n < c.size:
		return "", fmt.Errorf("content of %d announced bytes ended after %d", c.size, n)
	case c.hash != "" && c.hash != hash:
		return "", &books.ConflictError{Actual: hash}
	}
	return hash, nil
}

// contextReader reads until its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read wraps errors of the reader, to tell them apart from errors of the writer.
func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("read content: %w", err)
	}
	return n, err
}
