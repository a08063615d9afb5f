package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"remit/internal/toolsets/books"
)

// S3 keeps objects in a bucket of S3, or of a store that speaks its protocol. That an
// object is replaced only if it still is what was read, the store has to guarantee;
// Probe tells whether it does.
type S3 struct {
	at          address
	core        *minio.Core // signs nothing: roundTrip does
	base        http.RoundTripper
	credentials *credentials.Credentials
	patience    time.Duration // for an answer to a small request
	breath      time.Duration // before the second try of one
	perPage     int           // objects that are listed at a time
	partSize    int64         // what is larger is sent in parts, so that a broken connection costs one of them
}

var _ books.Store = (*S3)(nil)

// noWait keeps minio-go from waiting after the last try: to try again is our business.
var noWait = sync.OnceFunc(func() { minio.DefaultRetryUnit = 0 })

// OpenS3 reads the address of a bucket, as docs/books-s3.md has it, and where credentials come
// from. Nothing is sent to the store. Credentials that this machine has are read at once; what a
// service has may come later.
func OpenS3(ctx context.Context, address string, getenv func(string) (string, bool)) (*S3, error) {
	noWait()
	at, err := parseAddress(address, getenv)
	if err != nil {
		return nil, err
	}
	s := &S3{
		at: at,
		base: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			MaxIdleConnsPerHost:   64,
			IdleConnTimeout:       30 * time.Second,
			ExpectContinueTimeout: time.Second,
			DisableCompression:    true, // a length that is told is that of the object
		},
		patience: 10 * time.Second,
		breath:   100 * time.Millisecond,
		perPage:  1000, // the most that S3 gives
		partSize: 16 << 20,
	}
	source, remote := credentialsFrom(func(name string) string { value, _ := getenv(name); return value }, at.region)
	s.credentials = credentials.New(source)
	if !remote {
		ctx, cancel := context.WithTimeout(ctx, s.patience)
		defer cancel()
		if _, err := s.who(ctx); err != nil {
			return nil, err
		}
	}
	s.core, err = minio.NewCore(at.host, &minio.Options{
		Creds:  credentials.NewStatic("", "", "", credentials.SignatureAnonymous),
		Secure: at.scheme == "https", Region: at.region, BucketLookup: minio.BucketLookupPath,
		MaxRetries: 1, Transport: roundTripper(s.roundTrip),
	})
	if err != nil {
		return nil, errEndpoint
	}
	return s, nil
}

// Name is what registries call it.
func (*S3) Name() string { return "s3" }

// found is an object and what the store knows of it.
type found struct {
	books.Object
	tag string // what a condition names
	md5 string // of the content, as its writer told; "" from others
	// untold says that the store does not know the hash: we have read the object.
	untold bool
	// write is the name of the Put that stored it, so that one whose answer was lost
	// knows its own.
	write string
}

// These are kept with an object.
const (
	metaHash  = "X-Amz-Meta-Sha256"
	metaMD5   = "X-Amz-Meta-Md5"
	metaWrite = "X-Amz-Meta-Write"
)

// foundIn reads what an answer says of an object.
func foundIn(key string, info minio.ObjectInfo) (found, error) {
	f := found{
		Object: books.Object{Key: key, Size: info.Size, Hash: info.Metadata.Get(metaHash), Modified: info.LastModified.UTC()},
		tag:    info.ETag,
		md5:    info.Metadata.Get(metaMD5),
		write:  info.Metadata.Get(metaWrite),
	}
	if raw, err := hex.DecodeString(f.Hash); err != nil || len(raw) != sha256.Size || f.Hash != strings.ToLower(f.Hash) {
		f.Hash = "" // somebody else's
	}
	if f.Size < 0 || f.tag == "" {
		return found{}, errors.New("the S3 store tells neither size nor ETag of an object")
	}
	f.Version = version(f.tag, f.Size)
	return f, nil
}

// version is that of an object, from what every answer and list tells of it.
func version(tag string, size int64) string {
	return tag + "-" + strconv.FormatInt(size, 10)
}

// mixed says that the answer may tell the tag of one object and the rest of another, as a
// gateway over a file system does if somebody writes at that moment. Stores that encrypt
// have tags of another kind, so it is no proof.
func (f found) mixed() bool {
	return f.md5 != "" && f.md5 != f.tag && len(f.tag) == len(f.md5)
}

// holds tells whether an object may be stored under a key: S3 has an end to keys, and a
// disk to each part of them.
func (s *S3) holds(key string) bool {
	long := func(part string) bool { return len(part) > 255 }
	return isKey(key) && len(s.at.prefix+key) <= 1024 && !slices.ContainsFunc(strings.Split(key, "/"), long)
}

// looks is how often something is looked at again, because it changed meanwhile, before
// we give up.
const looks = 50

var errRestless = errors.New("the object changes faster than it can be read")

// steady asks until an answer is of one piece: its parts fit, or it comes twice.
func steady(ask func() (found, error)) (found, error) {
	before := found{}
	for range looks {
		f, err := ask()
		if err != nil || !f.mixed() || f == before {
			return f, err
		}
		before = f
	}
	return found{}, errRestless
}

// Stat describes an object. Its hash is known if we have stored it.
func (s *S3) Stat(ctx context.Context, key string) (books.Object, error) {
	f, err := s.stat(ctx, key)
	return f.Object, err
}

func (s *S3) stat(ctx context.Context, key string) (found, error) {
	if !s.holds(key) {
		return found{}, books.ErrNotFound
	}
	return steady(func() (found, error) { return s.head(ctx, key) })
}

func (s *S3) head(ctx context.Context, key string) (found, error) {
	e := &exchange{}
	info, err := s.core.StatObject(e.in(ctx), s.at.bucket, s.at.prefix+key, minio.StatObjectOptions{})
	if err != nil {
		return found{}, e.failure(ctx, err)
	}
	return foundIn(key, info)
}

// current is stat with the hash, for which it may have to read the object.
func (s *S3) current(ctx context.Context, key string) (found, error) {
	for range looks {
		f, err := s.stat(ctx, key)
		if err != nil || f.Hash != "" {
			return f, err
		}
		f.untold = true
		f.Hash, err = s.hashOf(ctx, f)
		if !errors.Is(err, errOther) {
			return f, err
		}
	}
	return found{}, errRestless
}

// hashOf reads an object that does not tell its hash. If it is another one by now, that
// is errOther.
func (s *S3) hashOf(ctx context.Context, f found) (string, error) {
	body, err := s.open(ctx, f.Key, f.tag)
	if errors.Is(err, books.ErrNotFound) {
		return "", errOther
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }() // it was only read
	hash := sha256.New()
	if _, err := io.Copy(hash, body); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Delete removes an object if the condition holds. A store that ignores If-Match for
// DELETE leaves a moment between the look and the removal in which another's write is
// removed with it.
func (s *S3) Delete(ctx context.Context, key string, c books.Cond) (existed bool, err error) {
	err = s.retry(ctx, func(int) (again bool, err error) {
		was, err := s.judge(ctx, key, c)
		if err != nil || was == nil {
			return false, err
		}
		err = s.remove(ctx, was, c)
		existed = err == nil
		return errors.Is(err, errOther), err
	})
	return existed, err
}

func (s *S3) remove(ctx context.Context, was *found, c books.Cond) error {
	e := &exchange{}
	if c.Hash != "" {
		e.ifMatch = was.tag
	}
	err := s.erase(ctx, was.Key, e)
	missed := errors.Is(err, errOther) || errors.Is(err, books.ErrNotFound)
	switch {
	case missed && c.Hash == "":
		return nil
	case has(err, http.StatusNotImplemented) && c.Hash != "":
		return s.remove(ctx, was, books.Cond{})
	case !missed:
		return err
	case !e.doubtful:
		return errOther
	}
	// A try before this one got no answer. If the object is gone, that is what was wanted.
	if _, err := s.stat(ctx, was.Key); errors.Is(err, books.ErrNotFound) {
		return nil
	}
	return books.ErrUnknown
}

// erase removes an object, if the exchange has a condition and that holds.
func (s *S3) erase(ctx context.Context, key string, e *exchange) error {
	return e.failure(ctx, s.core.RemoveObject(e.in(ctx), s.at.bucket, s.at.prefix+key, minio.RemoveObjectOptions{}))
}

// judge looks at what a write is about to change, nil if nothing is there, and says
// whether the condition holds.
func (s *S3) judge(ctx context.Context, key string, c books.Cond) (*found, error) {
	look := s.stat
	if c != (books.Cond{}) {
		look = s.current
	}
	was, err := look(ctx, key)
	switch {
	case errors.Is(err, books.ErrNotFound) && c.Hash != "":
		return nil, &books.ConflictError{}
	case errors.Is(err, books.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case c.Absent, c.Hash != "" && c.Hash != was.Hash:
		return nil, &books.ConflictError{Actual: was.Hash}
	}
	return &was, nil
}

// Copy stores an object once more. Nothing passes through this machine.
func (s *S3) Copy(ctx context.Context, from, to, hash string) error {
	return s.retry(ctx, func(n int) (again bool, err error) {
		there := make(chan error, 1)
		go func() {
			_, err := s.stat(ctx, to)
			there <- err
		}()
		was, err := s.judge(ctx, from, books.Cond{Hash: hash})
		already := <-there
		switch {
		case err != nil:
			return false, err
		case !errors.Is(already, books.ErrNotFound):
			return false, already
		}
		if err := s.place(ctx, to); err != nil {
			return false, err
		}
		err = s.copy(ctx, was, to)
		return changed(err, n) || errors.Is(err, books.ErrNotFound), err
	})
}

func (s *S3) copy(ctx context.Context, was *found, to string) error {
	header := map[string]string{"X-Amz-Copy-Source-If-Match": `"` + was.tag + `"`}
	if was.untold {
		header["X-Amz-Metadata-Directive"], header[metaHash] = "REPLACE", was.Hash
	}
	e := &exchange{size: was.Size}
	_, err := s.core.CopyObject(e.in(ctx), s.at.bucket, s.at.prefix+was.Key, s.at.bucket, s.at.prefix+to, header,
		minio.CopySrcOptions{}, minio.PutObjectOptions{})
	return e.failure(ctx, err)
}
