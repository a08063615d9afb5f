package workspace

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
)

// firstRead limits what is allocated because of the size of a file alone: a sparse file can claim
// any size.
const firstRead = 1 << 20

// contentOf reads an open regular file to its end, up to the policy's Max.
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
	var content bytes.Buffer
	// One allocation, if the size is correct.
	content.Grow(int(min(info.Size(), firstRead)) + bytes.MinRead)
	size, err := content.ReadFrom(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read open file: %w", err)
	}
	if size > limit { // it grew while it was read
		return nil, nil, f.tooLarge(size, limit)
	}
	return content.Bytes(), info, nil
}
