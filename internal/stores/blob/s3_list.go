package blob

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit/internal/toolsets/books"
)

// page is one answer to ListObjectsV2.
type page struct {
	EncodingType          string
	IsTruncated           bool
	NextContinuationToken string
	Contents              []struct {
		Key          string
		LastModified time.Time
		ETag         string
		Size         int64
	}
}

// page asks for keys that begin with prefix; after names where the page before ended.
func (s *S3) page(ctx context.Context, prefix, after string, most int) (page, error) {
	query := url.Values{
		"list-type":     {"2"},
		"encoding-type": {"url"}, // XML cannot hold every key
		"max-keys":      {strconv.Itoa(most)},
		"prefix":        {s.at.prefix + prefix},
	}
	if after != "" {
		query.Set("continuation-token", after)
	}
	a, err := s.do(ctx, call{method: http.MethodGet, query: query})
	if err != nil {
		return page{}, err
	}
	p := page{}
	if err := xml.Unmarshal(a.body, &p); err != nil {
		return page{}, fmt.Errorf("read a list of the S3 store: %w", err)
	}
	return p, nil
}

// List gives the objects whose keys begin with prefix. What has a name that is no key is
// not ours, and left out.
func (s *S3) List(ctx context.Context, prefix string) iter.Seq2[books.Object, error] {
	return func(yield func(books.Object, error) bool) {
		after, last := "", ""
		for {
			p, err := s.page(ctx, prefix, after, s.perPage)
			if err != nil {
				yield(books.Object{}, err)
				return
			}
			objects, err := s.objects(p, last)
			for _, object := range objects {
				last = object.Key
				if !yield(object, nil) {
					return
				}
			}
			if err == nil && p.IsTruncated && (p.NextContinuationToken == "" || p.NextContinuationToken == after) {
				err = errors.New("the S3 store says that a list goes on, and not where")
			}
			if err != nil {
				yield(books.Object{}, err)
				return
			}
			if after = p.NextContinuationToken; !p.IsTruncated {
				return
			}
		}
	}
}

// objects gives what is on a page in the order of bytes. S3 lists in that order, but
// not every store that speaks its protocol; across pages we insist on it.
func (s *S3) objects(p page, last string) ([]books.Object, error) {
	objects := make([]books.Object, 0, len(p.Contents))
	for _, c := range p.Contents {
		if p.EncodingType == "url" {
			var err error
			if c.Key, err = url.QueryUnescape(c.Key); err != nil {
				return nil, fmt.Errorf("read a list of the S3 store: %w", err)
			}
		}
		key, ours := strings.CutPrefix(c.Key, s.at.prefix)
		if !ours || !isKey(key) {
			continue
		}
		objects = append(objects, books.Object{Key: key, Size: c.Size, Modified: c.LastModified.UTC(), Version: version(c.ETag, c.Size)})
	}
	byKey := func(a, b books.Object) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(objects, byKey) {
		slices.SortFunc(objects, byKey)
	}
	if len(objects) > 0 && last != "" && objects[0].Key <= last {
		return nil, errors.New("the S3 store does not list keys in their order, which Remit relies on")
	}
	return objects, nil
}
