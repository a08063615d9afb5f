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
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"remit/internal/toolsets/books"
)

// S3 stores objects in a bucket of S3, or of a store with the same protocol. The store must
// guarantee that a conditional write replaces an object only if it is unchanged; Probe checks that
// it does.
type S3 struct {
	at          address
	core        *minio.Core // does not sign requests: roundTrip does
	base        http.RoundTripper
	credentials *credentials.Credentials
	timeout     time.Duration // for an answer to a small request
	validity    time.Duration // of the signature of a request that changes something
	clock       atomic.Int64  // see ahead
	late        lateWrites
	sweptAt     atomic.Int64    // see sweepParts
	closed      context.Context // ends the work in the background
	close       context.CancelFunc
	backoff     time.Duration // wait before the first retry of a request
	perPage     int           // objects per page of a list
	// Larger objects are sent in parts, so that a broken connection costs only one part.
	partSize int64
	// Uploads in parts that are older belong to processes that have ended.
	abandonedAfter time.Duration
}

var _ books.Store = (*S3)(nil)

// noWait keeps minio-go from waiting after the last attempt, because this package does the retries.
var noWait = sync.OnceFunc(func() { minio.DefaultRetryUnit = 0 })

// OpenS3 parses the URL of a bucket, which docs/books-s3.md describes, and finds the source of the
// credentials. It sends nothing to the store. It reads credentials on this machine immediately;
// those from a service are fetched on first use.
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
			DisableCompression:    true, // so that Content-Length is the size of the object
		},
		timeout:  10 * time.Second,
		validity: 10 * time.Second,
		backoff:  100 * time.Millisecond,
		perPage:  1000, // the maximum of S3
		partSize: 16 << 20,

		abandonedAfter: 24 * time.Hour,
	}
	s.closed, s.close = context.WithCancel(context.Background())
	source, remote := credentialsFrom(func(name string) string { value, _ := getenv(name); return value }, at.region)
	s.credentials = credentials.New(source)
	if !remote {
		ctx, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		if _, err := s.getCredentials(ctx); err != nil {
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

// Name returns the name of this store in registries.
func (*S3) Name() string { return "s3" }

// found is an object with the metadata that the store has.
type found struct {
	books.Object
	tag string // the ETag, for conditions
	md5 string // of the content, set by our writer; "" for objects of other programs
	// computed means that the store has no hash of the object: we computed it from the content.
	computed bool
	// write is the id of the Put that stored the object, so that a Put whose answer was lost can
	// recognize its own object.
	write string
}

// Metadata stored with an object.
const (
	metaHash  = "X-Amz-Meta-Sha256"
	metaMD5   = "X-Amz-Meta-Md5"
	metaWrite = "X-Amz-Meta-Write"
)

// foundIn reads the description of an object from an answer.
func foundIn(key string, info minio.ObjectInfo) (found, error) {
	f := found{
		Object: books.Object{Key: key, Size: info.Size, Hash: info.Metadata.Get(metaHash), Modified: info.LastModified.UTC()},
		tag:    info.ETag,
		md5:    info.Metadata.Get(metaMD5),
		write:  info.Metadata.Get(metaWrite),
	}
	if raw, err := hex.DecodeString(f.Hash); err != nil || len(raw) != sha256.Size || f.Hash != strings.ToLower(f.Hash) {
		f.Hash = "" // written by another program
	}
	if f.Size < 0 || f.tag == "" {
		return found{}, errors.New("the S3 store returned an object without size or ETag")
	}
	f.Version = version(f.tag, f.Size)
	return f, nil
}

// version returns the version of an object, from values that every answer and list contains.
func version(tag string, size int64) string {
	return tag + "-" + strconv.FormatInt(size, 10)
}

// mixed reports whether the answer may combine the ETag of one object with the metadata of another.
// A gateway over a file system does that if another client writes at the same moment. Stores that
// encrypt have other ETags, so this is no proof.
func (f found) mixed() bool {
	return f.md5 != "" && f.md5 != f.tag && len(f.tag) == len(f.md5)
}

// holds reports whether an object may be stored under a key: S3 limits the length of keys, and a
// disk that of each part.
func (s *S3) holds(key string) bool {
	long := func(part string) bool { return len(part) > 255 }
	return isKey(key) && len(s.at.prefix+key) <= 1024 && !slices.ContainsFunc(strings.Split(key, "/"), long)
}

// maxLooks is the maximum number of attempts for an object that keeps changing.
const maxLooks = 50

var errChanging = errors.New("the object changes faster than it can be read")

// consistent repeats ask until the answer is consistent: either its parts match, or it comes twice
// in a row.
func consistent(ask func() (found, error)) (found, error) {
	before := found{}
	for range maxLooks {
		f, err := ask()
		if err != nil || !f.mixed() || f == before {
			return f, err
		}
		before = f
	}
	return found{}, errChanging
}

// Stat describes an object. Its hash is known if Remit stored it.
func (s *S3) Stat(ctx context.Context, key string) (books.Object, error) {
	f, err := s.stat(ctx, key)
	return f.Object, err
}

func (s *S3) stat(ctx context.Context, key string) (found, error) {
	if !s.holds(key) {
		return found{}, books.ErrNotFound
	}
	return consistent(func() (found, error) { return s.head(ctx, key) })
}

func (s *S3) head(ctx context.Context, key string) (found, error) {
	e := &exchange{}
	info, err := s.core.StatObject(e.in(ctx), s.at.bucket, s.at.prefix+key, minio.StatObjectOptions{})
	if err != nil {
		return found{}, e.failure(ctx, err)
	}
	return foundIn(key, info)
}

// current is stat with the hash. It reads the object if the store has no hash.
func (s *S3) current(ctx context.Context, key string) (found, error) {
	for range maxLooks {
		f, err := s.stat(ctx, key)
		if err != nil || f.Hash != "" {
			return f, err
		}
		f.computed = true
		f.Hash, err = s.hashOf(ctx, f)
		if !errors.Is(err, errReplaced) {
			return f, err
		}
	}
	return found{}, errChanging
}

// hashOf reads an object that has no stored hash. It returns errReplaced if the object was
// replaced.
func (s *S3) hashOf(ctx context.Context, f found) (string, error) {
	body, err := s.open(ctx, f.Key, f.tag)
	if errors.Is(err, books.ErrNotFound) {
		return "", errReplaced
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

// Delete removes an object if the condition holds. If the store ignores If-Match for DELETE, a
// write between the check and the removal is removed as well.
func (s *S3) Delete(ctx context.Context, key string, c books.Cond) (existed bool, err error) {
	err = s.retry(ctx, func(int) (again bool, err error) {
		if err := s.checkLate(key, nil); err != nil {
			return false, err
		}
		was, err := s.checkCond(ctx, key, c)
		if err != nil || was == nil {
			return false, err
		}
		err = s.remove(ctx, was, c)
		existed = err == nil
		return errors.Is(err, errReplaced), err
	})
	return existed, err
}

func (s *S3) remove(ctx context.Context, was *found, c books.Cond) error {
	e := &exchange{}
	if c.Hash != "" {
		e.ifMatch = was.tag
	}
	err := s.removeObject(ctx, was.Key, e)
	missed := errors.Is(err, errReplaced) || errors.Is(err, books.ErrNotFound)
	switch {
	case missed && c.Hash == "":
		return nil
	case has(err, http.StatusNotImplemented) && c.Hash != "":
		return s.remove(ctx, was, books.Cond{})
	case err != nil && e.doubtful:
		return s.resolve(ctx, &lateWrite{key: was.Key, was: was, expires: e.expires}, err)
	case missed:
		return errReplaced
	case e.doubtful:
		s.remember(&lateWrite{key: was.Key, was: was, expires: e.expires, known: closed})
	}
	return err
}

// removeObject removes an object, subject to the condition of the exchange, if any.
func (s *S3) removeObject(ctx context.Context, key string, e *exchange) error {
	return e.failure(ctx, s.core.RemoveObject(e.in(ctx), s.at.bucket, s.at.prefix+key, minio.RemoveObjectOptions{}))
}

// checkCond returns the object that a write is about to change, or nil if there is none. It returns
// an error if the condition does not hold.
func (s *S3) checkCond(ctx context.Context, key string, c books.Cond) (*found, error) {
	read := s.stat
	if c != (books.Cond{}) {
		read = s.current
	}
	was, err := read(ctx, key)
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
