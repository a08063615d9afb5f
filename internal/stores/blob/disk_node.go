package blob

import (
	"errors"
	"strconv"
	"time"

	"remit/internal/toolsets/books"
)

// kind is what stands under a name.
type kind int8

const (
	nothing kind = iota
	aFile
	aFolder
	another // as links are
)

// errMisplaced says that something is in the way: a link, or a file where a folder
// should be, or the reverse.
var errMisplaced = errors.New("it is not what it should be")

// node is what the system knows of a file or folder.
type node struct {
	kind              kind
	size              int64
	modified, changed int64 // in ns since 1970; changed is when the system last touched it
	inode             uint64
}

// object describes the file at a key. A write gives it another inode and time, an edit
// by hand another time of change.
func (n node) object(key string) books.Object {
	const digits = 36
	version := make([]byte, 0, 48)
	version = append(strconv.AppendInt(version, n.size, digits), '-')
	version = append(strconv.AppendInt(version, n.modified, digits), '-')
	version = append(strconv.AppendInt(version, n.changed, digits), '-')
	version = strconv.AppendUint(version, n.inode, digits)
	return books.Object{Key: key, Size: n.size, Modified: time.Unix(0, n.modified).UTC(), Version: string(version)}
}
