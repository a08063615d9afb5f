package blob

import (
	"errors"
	"strconv"
	"time"

	"remit/internal/toolsets/books"
)

// kind is the type of a directory entry.
type kind int8

const (
	nothing kind = iota
	aFile
	aFolder
	another // such as a link
)

// errMisplaced means that an entry has the wrong type: it is a link, or a file instead of a folder,
// or the reverse.
var errMisplaced = errors.New("unexpected file type")

// node is the metadata of a file or folder.
type node struct {
	kind              kind
	size              int64
	modified, changed int64 // in ns since 1970; changed is the inode change time
	inode             uint64
}

// object describes the file at a key. Its version changes with each write, because of the new inode
// and time, and with an edit by hand, because of the new change time.
func (n node) object(key string) books.Object {
	const digits = 36
	version := make([]byte, 0, 48)
	version = append(strconv.AppendInt(version, n.size, digits), '-')
	version = append(strconv.AppendInt(version, n.modified, digits), '-')
	version = append(strconv.AppendInt(version, n.changed, digits), '-')
	version = strconv.AppendUint(version, n.inode, digits)
	return books.Object{Key: key, Size: n.size, Modified: time.Unix(0, n.modified).UTC(), Version: string(version)}
}
