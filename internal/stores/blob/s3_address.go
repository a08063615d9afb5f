package blob

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"

	"remit/internal/contract"
)

// address is the location of a library.
type address struct {
	bucket, region string
	prefix         string // of all keys: empty, or ends in a slash
	scheme, host   string
	path           string // of the endpoint, including the bucket if that is not part of the host
}

// s3Form is the form of a library URL.
const s3Form = "s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION&path_style=true"

// noSecrets is the error for credentials in a URL, because URLs are shown and logged.
const noSecrets = "credentials must not be part of the library URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"

var errEndpoint = errors.New("endpoint in the S3 library URL is not a server URL: " +
	"use endpoint=https://HOST or endpoint=http://HOST:PORT")

// parseAddress parses a library URL. No error repeats the URL, because it may hold a secret.
func parseAddress(text string, getenv func(string) (string, bool)) (address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Opaque != "" || u.Fragment != "" {
		return address{}, errors.New("the S3 library URL is invalid: use " + s3Form)
	}
	if u.User != nil {
		return address{}, errors.New(noSecrets)
	}
	if s3utils.CheckValidBucketNameStrict(u.Host) != nil {
		return address{}, fmt.Errorf("%.100q is not a valid bucket name (3 to 63 lower-case letters, digits, "+
			"dots and hyphens): use %s", u.Host, s3Form)
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" && !isKey(prefix) {
		return address{}, errors.New("the folder in the S3 library URL may contain only letters, digits, _ . - and slashes: use " + s3Form)
	}
	at := address{bucket: u.Host}
	if prefix != "" {
		at.prefix = prefix + "/"
	}
	parameters, err := parseParameters(u.RawQuery)
	if err != nil {
		return address{}, err
	}
	return at.served(parameters, getenv)
}

// parseParameters returns the parameters of a URL, each of which may occur once.
func parseParameters(query string) (map[string]string, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("the parameters of the S3 library URL are invalid: use " + s3Form)
	}
	known := []string{"endpoint", "region", "path_style"}
	parameters := map[string]string{}
	for name, all := range values {
		switch lower := strings.ToLower(name); {
		case slices.Contains(known, name) && len(all) == 1:
			parameters[name] = all[0]
		case slices.Contains(known, name):
			return nil, fmt.Errorf("the S3 library URL has %q more than once: keep one", name)
		case strings.Contains(lower, "key") || strings.Contains(lower, "secret") || strings.Contains(lower, "token") || strings.Contains(lower, "password"):
			return nil, errors.New(noSecrets)
		default:
			near := contract.Nearest(name, known)
			if near != "" {
				near = fmt.Sprintf(" (did you mean %q?)", near)
			}
			return nil, fmt.Errorf("the S3 library URL has an unknown parameter %.100q%s: use %s", name, near, strings.Join(known, ", "))
		}
	}
	return parameters, nil
}

// served sets the server for requests: Amazon, unless the URL names an endpoint.
func (at address) served(parameters map[string]string, getenv func(string) (string, bool)) (address, error) {
	at.region = parameters["region"]
	if at.region == "" {
		at.region, _ = getenv("AWS_REGION")
	}
	endpoint, own := parameters["endpoint"]
	switch {
	case at.region == "" && own:
		at.region = "us-east-1" // the default of self-hosted stores
	case at.region == "":
		return address{}, errors.New("the region of the bucket is unknown: add region=... to the library URL, or set AWS_REGION")
	case !own:
		endpoint = "https://s3." + at.region + ".amazonaws.com"
	}
	e, err := url.Parse(endpoint)
	if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.RawQuery != "" || e.Fragment != "" {
		return address{}, errEndpoint
	}
	if e.User != nil {
		return address{}, errors.New(noSecrets)
	}
	// Buckets as part of the host name rarely work except at Amazon, and a bucket name with a dot
	// does not match Amazon's certificate.
	inPath := own || strings.Contains(at.bucket, ".")
	if style, ok := parameters["path_style"]; ok {
		if inPath, err = strconv.ParseBool(style); err != nil {
			return address{}, errors.New("path_style in the S3 library URL must be true or false")
		}
	}
	at.scheme, at.host, at.path = e.Scheme, e.Host, strings.TrimRight(e.Path, "/")
	if inPath {
		at.path += "/" + at.bucket
	} else {
		at.host = at.bucket + "." + at.host
	}
	return at, nil
}

// url returns the URL of a path within the bucket.
func (at address) url(path, query string) *url.URL {
	path = at.path + path
	return &url.URL{Scheme: at.scheme, Host: at.host, Path: path, RawPath: s3utils.EncodePath(path), RawQuery: query}
}
