package blob

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"

	"remit/internal/toolsets/books"
)

// pages lists what begins with prefix, as the store groups and orders it.
func (s *S3) pages(ctx context.Context, prefix string, perPage int) iter.Seq2[[]minio.ObjectInfo, error] {
	return func(yield func([]minio.ObjectInfo, error) bool) {
		e, seen := &exchange{}, 0
		var page []minio.ObjectInfo
		listed := s.core.ListObjectsIter(e.in(ctx), s.at.bucket, minio.ListObjectsOptions{
			Prefix: s.at.prefix + prefix, Recursive: true, MaxKeys: perPage, FetchOwner: new(bool),
		})
		for o := range listed {
			if e.requests != seen && len(page) > 0 { // o begins another page
				if !yield(page, nil) {
					return
				}
				page = nil
			}
			if seen = e.requests; o.Err != nil {
				yield(nil, e.failure(ctx, o.Err))
				return
			}
			page = append(page, o)
		}
		if len(page) > 0 && !yield(page, nil) {
			return
		}
		if ctx.Err() != nil { // then the list just ends
			yield(nil, ctx.Err())
		}
	}
}

// List gives the objects whose keys begin with prefix. What has a name that is no key is
// not ours, and left out.
func (s *S3) List(ctx context.Context, prefix string) iter.Seq2[books.Object, error] {
	return func(yield func(books.Object, error) bool) {
		last := ""
		for page, err := range s.pages(ctx, prefix, s.perPage) {
			objects := s.objects(page)
			if len(objects) > 0 && last != "" && objects[0].Key <= last {
				err = errors.New("the S3 store does not list keys in their order, which Remit relies on")
			}
			if err != nil {
				yield(books.Object{}, err)
				return
			}
			for _, object := range objects {
				last = object.Key
				if !yield(object, nil) {
					return
				}
			}
		}
	}
}

// objects gives what is on a page in the order of bytes. S3 lists in that order, but
// not every store that speaks its protocol; across pages we insist on it.
func (s *S3) objects(page []minio.ObjectInfo) []books.Object {
	objects := make([]books.Object, 0, len(page))
	for _, o := range page {
		if key, ours := strings.CutPrefix(o.Key, s.at.prefix); ours && isKey(key) {
			objects = append(objects, books.Object{Key: key, Size: o.Size, Modified: o.LastModified.UTC(), Version: version(o.ETag, o.Size)})
		}
	}
	slices.SortFunc(objects, func(a, b books.Object) int { return strings.Compare(a.Key, b.Key) })
	return objects
}

// empty gives ErrNoPlace if there is an object beneath a folder.
func (s *S3) empty(ctx context.Context, folder string) error {
	for _, err := range s.pages(ctx, folder, 1) {
		if err == nil {
			err = books.ErrNoPlace
		}
		return err
	}
	return nil
}
