package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
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
	n, err := c.pump(ctx, w, sum)
	if err != nil {
		return "", err
	}
	if n != c.size {
		return "", fmt.Errorf("content of %d bytes was announced, and ended after %d", c.size, n)
	}
	hash = hex.EncodeToString(sum.Sum(nil))
	if c.hash != "" && c.hash != hash {
		return "", &books.ConflictError{Actual: hash}
	}
	return hash, nil
}

func (c content) pump(ctx context.Context, w io.Writer, sum hash.Hash) (n int64, err error) {
	buf := make([]byte, min(max(c.size, 0)+1, 128<<10)) // one more, to see the end
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		got, err := c.r.Read(buf)
		n += int64(got)
		if n > c.size {
			return n, fmt.Errorf("content of %d bytes was announced, and there is more", c.size)
		}
		sum.Write(buf[:got])
		if _, err := w.Write(buf[:got]); err != nil {
			return n, err
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("read content: %w", err)
		}
	}
}
