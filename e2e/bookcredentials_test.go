package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"remit/internal/stores/blob"
	"remit/internal/stores/blob/s3test"
)

// tokenService starts a service that exchanges one token for the credentials of a store.
func tokenService(t *testing.T, store *s3test.Server, token string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("WebIdentityToken") != token || r.FormValue("RoleArn") != "arn:aws:iam::1:role/books" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">`+
			`<AssumeRoleWithWebIdentityResult><Credentials>`+
			`<AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><Expiration>%s</Expiration>`+
			`</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
			store.Key, store.Secret, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestBookCredentials imports a course with a 90 MiB video into a bucket and exports it again, with
// each source of credentials.
func TestBookCredentials(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	film := bytes.Repeat([]byte("0123456789abcdef"), 90<<20/16)
	sum := sha256.Sum256(film)
	for name, set := range map[string]func(s *workspace) []string{
		"environment": func(*workspace) []string { return store.Env() },
		"profile": func(s *workspace) []string {
			s.write("aws/credentials", "[books]\naws_access_key_id = "+store.Key+"\naws_secret_access_key = "+store.Secret+"\n")
			return []string{"AWS_PROFILE=books", "AWS_SHARED_CREDENTIALS_FILE=" + s.path("aws/credentials")}
		},
		"web identity": func(s *workspace) []string {
			s.write("aws/token", "a.b.c\n")
			return []string{
				"AWS_ROLE_ARN=arn:aws:iam::1:role/books", "AWS_WEB_IDENTITY_TOKEN_FILE=" + s.path("aws/token"),
				"AWS_ENDPOINT_URL_STS=" + tokenService(t, store, "a.b.c"),
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newWorkspace(t, map[string]string{"course/lessons/a.md": "# A\n", "course/assets/videos/film.mp4": string(film)})
			address := store.URL(store.Bucket(t), "shelf")
			s.useBooks(address, set(s))
			if got := s.remit("books", "import", s.path("course"), "--book", "course", "--title", "A course"); got.code != 0 {
				t.Fatalf("import: %+v", got)
			}
			bucket, err := blob.OpenS3(t.Context(), address, store.Getenv)
			s.check(err)
			found, err := bucket.Stat(t.Context(), "books/course/assets/videos/film.mp4")
			if err != nil || found.Hash != hex.EncodeToString(sum[:]) || !strings.Contains(found.Version, "-6-") {
				t.Errorf("stored %+v, error %v; want it in 6 parts", found, err)
			}
			if got := s.remit("books", "export", "course"); got.code != 0 || len(s.read("course.zip")) < len(film) {
				t.Errorf("export: %+v", got)
			}
		})
	}
}
