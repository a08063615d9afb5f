package sqlstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// openFolders is where Linux shows the open files of this process. A path through one leads to the
// open folder itself, wherever it is now.
const openFolders = "/proc/self/fd/"

// through returns the path of a file through its open folder. Without /proc it returns the path as
// given.
func through(folder *os.File, file string) string {
	held := fmt.Sprintf("%s%d", openFolders, folder.Fd())
	shown, err := os.Stat(held)
	opened, openedErr := folder.Stat()
	if err != nil || openedErr != nil || !os.SameFile(shown, opened) {
		return file
	}
	return filepath.Join(held, filepath.Base(file))
}

// vfsOf returns the option that makes SQLite use a path through an open folder as it is. SQLite
// would resolve it first, and open what has that name afterwards.
func vfsOf(path string) []string {
	if !strings.HasPrefix(path, openFolders) {
		return nil
	}
	return []string{"vfs=" + literalVFS()}
}

// literalVFS registers a copy of SQLite's own VFS that does not resolve the links in a path. SQLite
// opens each file with O_NOFOLLOW.
var literalVFS = sync.OnceValue(func() string {
	const name = "literal"
	tls := libc.NewTLS()
	defer tls.Close()
	size := unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})
	// Neither is freed: SQLite keeps them for as long as the program runs.
	address := libc.Xmalloc(tls, libc.Tsize_t(size))
	title, err := libc.CString(name)
	if address == 0 || err != nil {
		panic("sqlstore: no memory")
	}
	libc.Xmemcpy(tls, address, sqlite3.Xsqlite3_vfs_find(tls, 0), libc.Tsize_t(size))
	vfs := *(**sqlite3.Tsqlite3_vfs)(unsafe.Pointer(&address))
	vfs.FzName = title
	var full any = literalPath
	vfs.FxFullPathname = (*[2]uintptr)(unsafe.Pointer(&full))[1] // how the library holds functions
	if rc := sqlite3.Xsqlite3_vfs_register(tls, address, 0); rc != sqlite3.SQLITE_OK {
		panic(fmt.Sprintf("sqlstore: register a VFS: %d", rc))
	}
	return name
})

// literalPath implements xFullPathname: it copies the path.
func literalPath(tls *libc.TLS, _, path uintptr, size int32, out uintptr) int32 {
	length := libc.Xstrlen(tls, path) + 1
	if length > libc.Tsize_t(size) {
		return sqlite3.SQLITE_CANTOPEN
	}
	libc.Xmemcpy(tls, out, path, length)
	return sqlite3.SQLITE_OK
}
