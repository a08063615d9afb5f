package memlog

import "os"

const noFollow = 0

// truncate uses the name, because a handle opened for appending cannot truncate.
func truncate(f *os.File, size int64) error { return os.Truncate(f.Name(), size) }
