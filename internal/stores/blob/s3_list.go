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

// pages lists the objects that begin with prefix, in the pages and order of the store.
func (s *S3) pages(ctx context.Context, prefix string, perPage int) iter.Seq2[[]minio.ObjectInfo, error] {
	return func(yield func([]minio.ObjectInfo, error) bool) {
		e, seen := &exchange{}, 0
		var page []minio.ObjectInfo
		listed := s.core.ListObjectsIter(e.in(ctx), s.at.bucket, minio.ListObjectsOptions{
			Prefix: s.at.prefix + prefix, Recursive: true, MaxKeys: perPage, FetchOwner: new(bool),
		})
		for o := range listed {
			if e.requests != seen && len(page) > 0 { // o begins a new page
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
		if ctx.Err() != nil { // in that case the list just ends
			yield(nil, ctx.Err())
		}
	}
}

// List returns the objects whose keys begin with prefix. It skips objects whose names are not keys.
func (s *S3) List(ctx context.Context, prefix string) iter.Seq2[books.Object, error] {
	return func(yield func(books.Object, error) bool) {
		last := ""
		for page, err := range s.pages(ctx, prefix, s.perPage) {
			objects := s.objects(page)
			if len(objects) > 0 && last != "" && objects[0].Key <= last {
				err = errors.New("the S3 store does not list keys in byte order, which Remit requires: use another store")
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

// objects returns the objects of a page in byte order. S3 lists in that order, but not every
// compatible store does; List requires it across pages.
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

// empty returns books.ErrPathConflict if there is an object below a folder.
func (s *S3) empty(ctx context.Context, folder string) error {
	for _, err := range s.pages(ctx, folder, 1) {
		if err == nil {
			err = books.ErrPathConflict
		}
		return err
	}
	return nil
}
