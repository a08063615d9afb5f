package workspace

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
)

// firstRead bounds what is set aside on the word of a file's size alone: a
// sparse file claims any size it likes.
const firstRead = 1 << 20

// contentOf reads an open regular file to its end, within the policy's Max.
func (f *File) contentOf(file *os.File) ([]byte, fs.FileInfo, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("stat open file: %w", err)
	}
	limit := int64(f.policy.Max)
	if limit <= 0 {
		limit = math.MaxInt64 - 1
	}
	if info.Size() > limit {
		return nil, nil, f.tooLarge(info.Size(), limit)
	}
	content, err := readUpTo(file, info.Size(), limit+1)
	if err != nil {
		return nil, nil, fmt.Errorf("read open file: %w", err)
	}
	if size := int64(len(content)); size > limit { // it grew while it was read
		return nil, nil, f.tooLarge(size, limit)
	}
	return content, info, nil
}

// readUpTo reads to the end, but no more than most bytes. With an honest size
// it allocates once.
func readUpTo(r io.Reader, size, most int64) ([]byte, error) {
	// One byte more than the size, so that the end is seen without growing.
	buf := make([]byte, 0, min(size, firstRead)+1)
	for int64(len(buf)) < most {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf))
		}
		n, err := r.Read(buf[len(buf):min(int64(cap(buf)), most)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return buf, nil
}
