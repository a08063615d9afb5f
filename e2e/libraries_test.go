package e2e

import (
	"slices"
	"strings"
	"testing"

	"remit/internal/stores/blob"
	"remit/internal/stores/blob/s3test"
	"remit/internal/toolsets/books"
)

// onEachLibrary runs a test with books on disk, and in a bucket of a real S3 server.
func onEachLibrary(t *testing.T, test func(t *testing.T, s *space)) {
	t.Helper()
	t.Run("disk", func(t *testing.T) { test(t, newSpace(t, nil)) })
	t.Run("S3", func(t *testing.T) { test(t, newS3Space(t, nil)) })
}

// libraryFolder is where the books are that an example brings along.
const libraryFolder = ".remit/library/"

// useBooks makes every command in the workspace use this library.
func (s *space) useBooks(address string, env []string) {
	s.books = address
	s.env = slices.Concat(env, []string{"REMIT_BOOKS=" + address})
}

// lookup is the environment of a command that runs within the test.
func (s *space) lookup(name string) (string, bool) {
	for _, variable := range slices.Concat(s.env, []string{unhurried}) {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value, true
		}
	}
	return "", false
}

// otherStore makes of a registry on disk one in a bucket: books that are kept where
// the registry is, stay so.
var otherStore = strings.NewReplacer("storage_backend: fs", "storage_backend: s3", "storage_backend: s3", "storage_backend: fs")

// newS3Space makes a workspace whose books are in a bucket. Files of the library go
// there, all others into the workspace.
func newS3Space(t *testing.T, files map[string]string) *space {
	t.Helper()
	server := s3test.Start(t)
	s := newSpace(t, nil)
	s.useBooks(server.URL(server.Bucket(t), ""), server.Env())
	store, err := blob.OpenS3(t.Context(), s.books, s.lookup)
	s.check(err)
	for name, content := range files {
		key, ours := strings.CutPrefix(name, libraryFolder)
		if !ours {
			s.write(name, content)
			continue
		}
		content = otherStore.Replace(content)
		_, _, err := store.Put(t.Context(), key, strings.NewReader(content), int64(len(content)), books.Cond{})
		s.check(err)
	}
	return s
}
