//go:build !unix

package clients

import (
	"io/fs"
	"os"
)

// keepOwner does nothing on systems whose files have no Unix owner.
func keepOwner(*os.File, fs.FileInfo) error { return nil }
