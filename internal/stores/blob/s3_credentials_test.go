package blob

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"remit/internal/stores/blob/s3test"
)

// bare removes all sources of credentials of this machine. minio-go reads some of them from the
// environment itself, so these tests set the environment and do not run in parallel.
func bare(t *testing.T) (folder string) {
	t.Helper()
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_PROFILE", "AWS_REGION",
		"AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ENDPOINT_URL_STS",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_EC2_METADATA_SERVICE_ENDPOINT",
	} {
		t.Setenv(name, "")
	}
	folder = t.TempDir()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(folder, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(folder, "credentials"))
	return folder
}

func writeText(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// tokenServer returns the credentials of a store for a token, and records its requests.
type tokenServer struct {
	sync.Mutex
	store   *s3test.Server
	expires time.Duration
	asked   []string
	refuses bool
}

func (s *tokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	action := r.FormValue("Action")
	s.asked = append(s.asked, action+" "+r.FormValue("RoleArn")+" "+r.FormValue("WebIdentityToken"))
	if s.refuses {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Code>AccessDenied</Code>`+
			`<Message>not with %s</Message></Error></ErrorResponse>`, r.FormValue("WebIdentityToken"))
		return
	}
	if action == "AssumeRole" && !strings.Contains(r.Header.Get("Authorization"), "Credential=source/") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	fmt.Fprintf(w, `<%[1]sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%[1]sResult><Credentials>`+
		`<AccessKeyId>%[2]s</AccessKeyId><SecretAccessKey>%[3]s</SecretAccessKey><Expiration>%[4]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>`,
		action, s.store.Key, s.store.Secret, time.Now().Add(s.expires).UTC().Format(time.RFC3339))
}

func (s *tokenServer) requests() []string {
	s.Lock()
	defer s.Unlock()
	return append([]string{}, s.asked...)
}

func startTokenServer(t *testing.T) *tokenServer {
	t.Helper()
	service := &tokenServer{store: s3test.Start(t), expires: time.Hour}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_STS", server.URL)
	return service
}

// serveJSON starts a service that returns credentials for requests that knows accepts.
func serveJSON(t *testing.T, knows func(*http.Request) bool) string {
	t.Helper()
	store := s3test.Start(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !knows(r):
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodPut:
			fmt.Fprint(w, "session")
		case strings.HasSuffix(r.URL.Path, "/security-credentials/"):
			fmt.Fprint(w, "a-role")
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{
				"Code": "Success", "AccessKeyId": store.Key, "SecretAccessKey": store.Secret, "Expiration": time.Now().Add(time.Hour),
			})
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestS3CredentialSources reads and writes a real store with credentials from each source.
func TestS3CredentialSources(t *testing.T) {
	store := s3test.Start(t)
	keys := fmt.Sprintf("aws_access_key_id = %s\naws_secret_access_key = %s\n", store.Key, store.Secret)
	asJSON := fmt.Sprintf(`{"Version":1,"AccessKeyId":%q,"SecretAccessKey":%q}`, store.Key, store.Secret)
	for name, set := range map[string]func(t *testing.T, folder string){
		"variables": func(t *testing.T, _ string) {
			t.Setenv("AWS_ACCESS_KEY_ID", store.Key)
			t.Setenv("AWS_SECRET_ACCESS_KEY", store.Secret)
		},
		"default profile": func(t *testing.T, folder string) { writeText(t, folder, "credentials", "[default]\n"+keys) },
		"named profile": func(t *testing.T, folder string) {
			writeText(t, folder, "credentials", "[default]\naws_access_key_id = x\naws_secret_access_key = y\n[books]\n"+keys)
			t.Setenv("AWS_PROFILE", "books")
		},
		"profile in the other file": func(t *testing.T, folder string) {
			writeText(t, folder, "config", "[profile books]\nregion = x\n"+keys)
			t.Setenv("AWS_PROFILE", "books")
		},
		"process": func(t *testing.T, folder string) {
			output := writeText(t, folder, "output", asJSON)
			writeText(t, folder, "config", "[profile books]\ncredential_process = /bin/cat "+output+"\n")
			t.Setenv("AWS_PROFILE", "books")
		},
		"role of a profile": func(t *testing.T, folder string) {
			startTokenServer(t)
			writeText(t, folder, "credentials", "[source]\naws_access_key_id = source\naws_secret_access_key = y\n")
			writeText(t, folder, "config", "[profile books]\nrole_arn = arn:aws:iam::1:role/books\nsource_profile = source\n")
			t.Setenv("AWS_PROFILE", "books")
		},
		"web identity, though the profile is broken": func(t *testing.T, folder string) {
			startTokenServer(t)
			writeText(t, folder, "credentials", "[default]\naws_access_key_id = x\n")
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/books")
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", writeText(t, folder, "token", "a.b.c\n"))
		},
		"container": func(t *testing.T, _ string) {
			service := serveJSON(t, func(r *http.Request) bool { return r.Header.Get("Authorization") == "let me in" })
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", service+"/v1")
			t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "let me in")
		},
		"machine": func(t *testing.T, _ string) {
			t.Setenv("AWS_EC2_METADATA_DISABLED", "")
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", serveJSON(t, func(r *http.Request) bool {
				return r.Method == http.MethodPut || r.Header.Get("X-Aws-Ec2-Metadata-Token") == "session"
			})+"/")
		},
	} {
		t.Run(name, func(t *testing.T) {
			set(t, bare(t))
			s, err := OpenS3(t.Context(), store.URL(store.Bucket(t), "library"), os.LookupEnv)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.base.(*http.Transport).CloseIdleConnections)
			if err := s.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			mustStore(t, s, "books/b/x", "1")
			if got := load(t, s, "books/b/x"); got != "1" {
				t.Errorf("read %q", got)
			}
		})
	}
}

// TestS3Renews checks that expired credentials are fetched again, with the current token, and that
// credentials without expiry are fetched once.
func TestS3Renews(t *testing.T) {
	folder, service := bare(t), startTokenServer(t)
	file := writeText(t, folder, "token", "first\n")
	t.Setenv("AWS_ROLE_ARN", "role")
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", file)
	s, err := OpenS3(t.Context(), service.store.URL(service.store.Bucket(t), "library"), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.base.(*http.Transport).CloseIdleConnections)
	if asked := service.requests(); len(asked) > 0 {
		t.Errorf("asked to open the store: %q", asked)
	}
	service.expires = -time.Minute
	mustStore(t, s, "books/b/x", "1")
	before := len(service.requests())
	writeText(t, folder, "token", "second\n")
	service.expires = time.Hour
	for range 3 {
		load(t, s, "books/b/x")
	}
	asked := service.requests()
	const first, second = "AssumeRoleWithWebIdentity role first", "AssumeRoleWithWebIdentity role second"
	if before < 2 || len(asked) != before+1 || asked[0] != first || asked[before] != second {
		t.Errorf("asked %q, the last after %d", asked, before)
	}
}

// TestS3ProcessRunsOnce checks that a credentials program without an expiry time is not run for
// every request.
func TestS3ProcessRunsOnce(t *testing.T) {
	folder, store := bare(t), s3test.Start(t)
	output := fmt.Sprintf(`{"Version":1,"AccessKeyId":%q,"SecretAccessKey":%q}`, store.Key, store.Secret)
	program := writeText(t, folder, "program", "#!/bin/sh\necho run >>\"$1\"\necho '"+output+"'\n")
	runs := filepath.Join(folder, "runs")
	writeText(t, folder, "config", "[default]\ncredential_process = "+program+" "+runs+"\n")
	s, err := OpenS3(t.Context(), store.URL(store.Bucket(t), "library"), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.base.(*http.Transport).CloseIdleConnections)
	for range 3 {
		mustStore(t, s, "books/b/x", "1")
	}
	if text, err := os.ReadFile(runs); err != nil || string(text) != "run\n" {
		t.Errorf("it ran: %q, error %v", text, err)
	}
}

// TestS3CredentialsRefused checks that unusable credentials are reported at the start, with a
// helpful message and without a secret, and that nothing is sent without credentials.
func TestS3CredentialsRefused(t *testing.T) {
	const unset = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	for _, c := range []struct {
		name, credentials, config, want string
		env                             map[string]string
	}{
		{name: "nothing", want: unset},
		{name: "a profile that tells nothing of them", config: "[default]\nregion = x\n", want: unset},
		{
			name: "a profile that is not there", credentials: "[default]\naws_access_key_id = x\naws_secret_access_key = " + theSecret + "\n",
			env: map[string]string{"AWS_PROFILE": "books"}, want: `profile "books": it has no credentials that Remit can use; set keys,`,
		},
		{name: "half a profile", credentials: "[default]\naws_secret_access_key = " + theSecret + "\n", want: "must both be set"},
		{name: "a file that is no list of profiles", credentials: "[default\n" + theSecret, want: "read the profiles"},
		{name: "a program without argument", config: "[default]\ncredential_process = /bin/true\n", want: "invalid credential process args"},
		{
			name: "a role that asks for a code", config: "[default]\nrole_arn = x\nsource_profile = y\nmfa_serial = z\n",
			want: "with source_profile and without mfa_serial",
		},
		{name: "half of the variables", env: map[string]string{"AWS_SECRET_ACCESS_KEY": theSecret}, want: unset},
		{
			name: "no metadata service", want: unset,
			env: map[string]string{"AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := bare(t)
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			if c.credentials != "" {
				writeText(t, folder, "credentials", c.credentials)
			}
			if c.config != "" {
				writeText(t, folder, "config", c.config)
			}
			_, err := OpenS3(t.Context(), "s3://bucket?region=x", os.LookupEnv)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), theSecret) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// failingSource is a source of credentials that always fails.
type failingSource struct {
	credentials.Provider
	err error
}

func (f failingSource) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	return credentials.Value{}, f.err
}

// TestS3CredentialsFail checks that a source that fails later fails the call with the first error,
// and that no unsigned request is sent.
func TestS3CredentialsFail(t *testing.T) {
	s := clientOf(t, "http://127.0.0.1:1")
	script := &scripted{answers: []replying{reply{200, ""}.give}}
	s.base, s.backoff = script, time.Millisecond
	first := errors.New("the first reason")
	for name, sources := range map[string][]credentials.Provider{
		"the first reason":  {failingSource{err: first}, failingSource{err: errors.New("another")}},
		"needs credentials": {&credentials.Static{}},
		"answered with TheirOwn": {failingSource{err: credentials.ErrorResponse{STSError: struct {
			Type    string `xml:"Type"`
			Code    string `xml:"Code"`
			Message string `xml:"Message"`
		}{Code: "TheirOwn", Message: theSecret}}}},
	} {
		s.credentials = credentials.New(&chain{sources: sources})
		_, err := s.Stat(t.Context(), "books/b/x")
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), theSecret) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
	if len(script.asked) > 0 {
		t.Errorf("%d requests were sent", len(script.asked))
	}
}
