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

// address is where a library is kept.
type address struct {
	bucket, region string
	prefix         string // of all keys: empty, or ending in a slash
	scheme, host   string
	path           string // in which the store answers; with the bucket, if it is not in the host
}

// s3Form is how an address is written.
const s3Form = "s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION&path_style=true"

// noSecrets is told to whoever puts credentials into an address, which is shown and logged.
const noSecrets = "credentials do not belong in the address of a library: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"

var errEndpoint = errors.New("endpoint in the address of a library on S3 is no address of a server: " +
	"write endpoint=https://HOST or endpoint=http://HOST:PORT")

// parseAddress reads an address. No error repeats it: it may hold a secret.
func parseAddress(text string, getenv func(string) (string, bool)) (address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Opaque != "" || u.Fragment != "" {
		return address{}, errors.New("the address of a library on S3 cannot be read: write " + s3Form)
	}
	if u.User != nil {
		return address{}, errors.New(noSecrets)
	}
	if s3utils.CheckValidBucketNameStrict(u.Host) != nil {
		return address{}, fmt.Errorf("%.100q is no name of a bucket, which has 3 to 63 small letters, digits, dots and hyphens: write %s", u.Host, s3Form)
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" && !isKey(prefix) {
		return address{}, errors.New("the folder in the address of a library on S3 has letters, digits and _ . - between slashes alone: write " + s3Form)
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

// parseParameters takes each parameter of an address once.
func parseParameters(query string) (map[string]string, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("the parameters in the address of a library on S3 cannot be read: write " + s3Form)
	}
	known := []string{"endpoint", "region", "path_style"}
	parameters := map[string]string{}
	for name, all := range values {
		switch lower := strings.ToLower(name); {
		case slices.Contains(known, name) && len(all) == 1:
			parameters[name] = all[0]
		case slices.Contains(known, name):
			return nil, fmt.Errorf("the address of a library on S3 has %q more than once: keep one", name)
		case strings.Contains(lower, "key") || strings.Contains(lower, "secret") || strings.Contains(lower, "token") || strings.Contains(lower, "password"):
			return nil, errors.New(noSecrets)
		default:
			near := contract.Nearest(name, known)
			if near != "" {
				near = fmt.Sprintf(" (did you mean %q?)", near)
			}
			return nil, fmt.Errorf("the address of a library on S3 has no parameter %.100q%s: there are %s", name, near, strings.Join(known, ", "))
		}
	}
	return parameters, nil
}

// served adds where requests go: to Amazon, unless the address names an endpoint.
func (at address) served(parameters map[string]string, getenv func(string) (string, bool)) (address, error) {
	at.region = parameters["region"]
	if at.region == "" {
		at.region, _ = getenv("AWS_REGION")
	}
	endpoint, own := parameters["endpoint"]
	switch {
	case at.region == "" && own:
		at.region = "us-east-1" // what stores of one's own expect if nobody tells them
	case at.region == "":
		return address{}, errors.New("the region of the bucket is not known: add region=... to the address, or set AWS_REGION")
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
	// Names beneath the endpoint's own seldom lead anywhere but at Amazon, and a dot in one
	// does not fit its certificate.
	inPath := own || strings.Contains(at.bucket, ".")
	if told, ok := parameters["path_style"]; ok {
		if inPath, err = strconv.ParseBool(told); err != nil {
			return address{}, errors.New("path_style in the address of a library on S3 is true or false")
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

// url is where the store has something, by its path within the bucket.
func (at address) url(path, query string) *url.URL {
	path = at.path + path
	return &url.URL{Scheme: at.scheme, Host: at.host, Path: path, RawPath: s3utils.EncodePath(path), RawQuery: query}
}
