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
func onEachLibrary(t *testing.T, test func(t *testing.T, s *workspace)) {
	t.Helper()
	t.Run("disk", func(t *testing.T) { test(t, newWorkspace(t, nil)) })
	t.Run("S3", func(t *testing.T) { test(t, newS3Workspace(t, nil)) })
}

// libraryFolder is the folder of the books in an example's files.
const libraryFolder = ".remit/library/"

// useBooks makes every command in the workspace use this library.
func (s *workspace) useBooks(address string, env []string) {
	s.books = address
	s.env = slices.Concat(env, []string{"REMIT_BOOKS=" + address})
}

// lookupEnv returns an environment variable of a command that runs in the test process.
func (s *workspace) lookupEnv(name string) (string, bool) {
	for _, variable := range slices.Concat(s.env, []string{longDeadlines}) {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value, true
		}
	}
	return "", false
}

// swapStores converts a registry on disk to one in a bucket: a book that is in the same store as
// the registry stays in it.
var swapStores = strings.NewReplacer("storage_backend: fs", "storage_backend: s3", "storage_backend: s3", "storage_backend: fs")

// newS3Workspace creates a workspace whose books are in a bucket. Files of the library go to the
// bucket, all others to the workspace.
func newS3Workspace(t *testing.T, files map[string]string) *workspace {
	t.Helper()
	server := s3test.Start(t)
	s := newWorkspace(t, nil)
	s.useBooks(server.URL(server.Bucket(t), ""), server.Env())
	store, err := blob.OpenS3(t.Context(), s.books, s.lookupEnv)
	s.check(err)
	for name, content := range files {
		key, ours := strings.CutPrefix(name, libraryFolder)
		if !ours {
			s.write(name, content)
			continue
		}
		content = swapStores.Replace(content)
		_, _, err := store.Put(t.Context(), key, strings.NewReader(content), int64(len(content)), books.Cond{})
		s.check(err)
	}
	return s
}
