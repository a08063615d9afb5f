package blob

import (
	"strings"
	"testing"
)

func TestS3Address(t *testing.T) {
	for _, c := range []struct{ address, want string }{
		{"s3://bucket/a/b?region=eu-central-1", "https://bucket.s3.eu-central-1.amazonaws.com/a/b/books/x region eu-central-1"},
		{"s3://bucket?region=eu-central-1", "https://bucket.s3.eu-central-1.amazonaws.com/books/x region eu-central-1"},
		{"s3://my.bucket/?region=eu-central-1", "https://s3.eu-central-1.amazonaws.com/my.bucket/books/x region eu-central-1"},
		{"s3://bucket?region=eu-central-1&path_style=true", "https://s3.eu-central-1.amazonaws.com/bucket/books/x region eu-central-1"},
		{"s3://bucket/p?endpoint=http://127.0.0.1:7070", "http://127.0.0.1:7070/bucket/p/books/x region us-east-1"},
		{"s3://bucket/p/?endpoint=https://store.example/s3/&region=home", "https://store.example/s3/bucket/p/books/x region home"},
		{"s3://bucket?endpoint=https://store.example&path_style=false", "https://bucket.store.example/books/x region us-east-1"},
	} {
		s, err := OpenS3(t.Context(), c.address, environment)
		if err != nil {
			t.Errorf("%s: %v", c.address, err)
			continue
		}
		if got := s.at.url("/"+s.at.prefix+"books/x", "").String() + " region " + s.at.region; got != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.address, got, c.want)
		}
	}
}

func TestS3AddressRefused(t *testing.T) {
	for _, c := range []struct{ address, want string }{
		{"s3://key:" + theSecret + "@bucket?region=x", "credentials must not be part"},
		{"s3://bucket?region=x&secret_key=" + theSecret, "credentials must not be part"},
		{"s3://bucket?AWS_SECRET_ACCESS_KEY=" + theSecret, "credentials must not be part"},
		{"s3://bucket?endpoint=https://a:" + theSecret + "@host", "credentials must not be part"},
		{"s3://bucket?endpoint=" + theSecret, "endpoint"},
		{"s3://bucket/%zz" + theSecret, "invalid"},
		{"s3://bucket?region=x&a=%zz" + theSecret, "invalid"},
		{"s3://bucket?regoin=x", `unknown parameter "regoin" (did you mean "region"?): use endpoint, region, path_style`},
		{"s3://bucket?zzzzzz=x", `unknown parameter "zzzzzz": use`},
		{"s3://bucket?region=x&region=y", "more than once"},
		{"s3://bucket?region=x&path_style=maybe", "true or false"},
		{"s3://bucket", "set AWS_REGION"},
		{"s3:bucket?region=x", "invalid"},
		{"s3://?region=x", "is not a valid bucket name"},
		{"s3://Bucket?region=x", "is not a valid bucket name"},
		{"s3://bucket/a b?region=x", "the folder"},
		{"s3://bucket/../a?region=x", "the folder"},
		{"https://bucket", "invalid"},
	} {
		_, err := OpenS3(t.Context(), c.address, environment)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), theSecret) {
			t.Errorf("%s: error %v, want %q", c.address, err, c.want)
		}
	}
}

func TestS3Credentials(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"none": {"AWS_EC2_METADATA_DISABLED": "true"}, "no secret": {"AWS_ACCESS_KEY_ID": "x"}, "no key": {"AWS_SECRET_ACCESS_KEY": theSecret},
	} {
		getenv := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
		_, err := OpenS3(t.Context(), "s3://bucket?region=x", getenv)
		if err == nil || !strings.Contains(err.Error(), "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY") || strings.Contains(err.Error(), theSecret) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
