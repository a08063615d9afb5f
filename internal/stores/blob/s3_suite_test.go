package blob

import (
	"testing"

	"remit/internal/toolsets/books"
	"remit/internal/toolsets/books/bookstest"
)

func TestS3Suite(t *testing.T) {
	t.Parallel()
	bookstest.Run(t, func(t *testing.T) books.Store { return newS3(t) })
}
