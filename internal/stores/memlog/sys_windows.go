package memlog

import "os"

const noFollow = 0

// truncate goes by the name: a handle that may only append cannot cut.
func truncate(f *os.File, size int64) error { return os.Truncate(f.Name(), size) }

// syncFolder does nothing: Windows has no such call.
func syncFolder(string) error { return nil }
