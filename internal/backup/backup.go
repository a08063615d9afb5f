// Package backup writes and reads archives of a workspace: one file (a tar compressed with zstd),
// or a folder in which equal contents are stored once. It knows what an archive looks like, checks
// every byte of it, and encrypts keys. It does not know where the contents come from or go to.
//
// An archive has entries in this order: header.json, then tables/, memory/, audit/, books/ and
// keys.age as they were added, then MANIFEST.json, which lists them with their sizes and hashes.
package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Format is the version of the format.
const Format = 1

// The entries that every archive has.
const (
	headerName   = "header.json"
	manifestName = "MANIFEST.json"
)

// The folders of an archive, and the entry with the keys.
const (
	Tables = "tables/" // NAME.jsonl
	Memory = "memory/" // memory files
	Audit  = "audit/"  // DAY.jsonl
	Books  = "books/"  // the name of a store, and the key of an object
	Keys   = "keys.age"
)

// Header says what an archive holds.
type Header struct {
	Format   int       `json:"format"`
	Created  time.Time `json:"created"`
	Program  string    `json:"program"`  // the version that wrote it
	Engine   string    `json:"engine"`   // sqlite or postgres
	Schema   int64     `json:"schema"`   // the version of the tables
	Root     string    `json:"root"`     // the folder of the workspace
	DataID   string    `json:"data_id"`  // of the database
	Identity bool      `json:"identity"` // callers need tokens
	// What tokens and approvals are bound to, and which key sealed them.
	Place  string   `json:"place"`
	Epoch  int      `json:"epoch"`
	KeyID  string   `json:"key_id"`
	Stores []string `json:"stores"` // the names of the stores of books
}

// Entry describes an entry.
type Entry struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Count  int64  `json:"count,omitempty"` // rows, lines or records
	// When the content was last changed; the zero time if that does not matter.
	Modified time.Time `json:"modified,omitzero"`
}

// Manifest lists the entries of an archive.
type Manifest struct {
	Format  int     `json:"format"`
	Entries []Entry `json:"entries"`
	// Tip is the hash of the newest audit record; "" if there is none.
	Tip string `json:"tip"`
}

// Size returns the size of all entries.
func (m *Manifest) Size() (total int64) {
	for _, e := range m.Entries {
		total += e.Size
	}
	return total
}

// Limits of what is read.
const (
	maxName     = 2048
	maxEntry    = 1 << 40
	maxDocument = 256 << 20 // header and manifest
	maxEntries  = 10_000_000
)

// ErrDamaged matches the errors of an archive that is not what was written.
var ErrDamaged = errors.New("the archive is damaged")

// ErrNoArchive is returned for a file that was never an archive.
var ErrNoArchive = errors.New("this is not a backup that Remit wrote; \"remit backup FILE\" writes one")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// checkName returns an error for a path that no archive has: one that leads elsewhere, or that a
// file system may read as another one.
func checkName(name string) error {
	odd := func(r rune) bool { return r == '\\' || r == ':' || unicode.IsControl(r) }
	if len(name) > maxName || !fs.ValidPath(name) || name == "." || !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return damaged("the path %q is not allowed", name)
	}
	return nil
}

// isDocument reports whether an entry describes the archive itself.
func isDocument(name string) bool { return name == headerName || name == manifestName }
