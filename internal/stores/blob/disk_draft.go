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

// draft is a file beside the place of an object, which it is to take.
type draft struct {
	in   folder
	file *os.File
	temp string // its name until then
	name string
	key  string
}

// fill writes the draft to stay, closes it, and gives the hash of what is in it.
func (w draft) fill(ctx context.Context, what content) (hash string, err error) {
	hash, err = what.copyTo(ctx, w.file)
	if err == nil {
		// Systems stamp files by a slow clock. A file that takes the inode of an earlier
		// one must not look like that.
		err = w.in.stamp(w.temp, time.Now())
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err := errors.Join(err, w.file.Close()); err != nil {
		return "", fmt.Errorf("write object: %w", err)
	}
	return hash, nil
}

// content is what is to be stored.
type content struct {
	r    io.Reader
	size int64
	hash string // what its hash must be; "" if any will do
}

// copyTo reads the content to its end and writes it to w. Content that is not what it
// was said to be is an error.
func (c content) copyTo(ctx context.Context, w io.Writer) (hash string, err error) {
	sum := sha256.New()
	buf := make([]byte, min(max(c.size, 0)+1, 128<<10)) // one more, to see the end
	n, err := io.CopyBuffer(io.MultiWriter(sum, w), io.LimitReader(contextReader{ctx, c.r}, c.size+1), buf)
	switch hash = hex.EncodeToString(sum.Sum(nil)); {
	case err != nil:
		return "", err
	case n > c.size:
		return "", fmt.Errorf("content of %d bytes was announced, and there is more", c.size)
	case n < c.size:
		return "", fmt.Errorf("content of %d bytes was announced, and ended after %d", c.size, n)
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

// Read tells a failure to read apart from a failure to write.
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
