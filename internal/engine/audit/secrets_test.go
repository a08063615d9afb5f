package audit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// random looks like generated characters.
const random = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5kL7nP9r"

// encodedWith returns the line of a record with these arguments, in JSON.
func encodedWith(t testing.TB, client, args string) string {
	t.Helper()
	tree, err := jsontree.Parse([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	k := &memoryStorage{days: map[string][]byte{}}
	r := &audit.Record{
		Time: time.Date(2026, 1, 9, 10, 0, 0, 0, time.UTC), Client: client, Tool: "demo/note", Arguments: tree,
		Outcome: "ok",
	}
	if err := (&audit.Log{Storage: k}).Write(t.Context(), r, false); err != nil {
		t.Fatal(err)
	}
	if string(tree.Append(nil)) != args && !strings.Contains(args, `\u`) {
		t.Errorf("the caller's arguments became %s", tree.Append(nil))
	}
	return string(k.days["2026-01-09"])
}

// TestCredentialsAreRedacted checks that the record contains no credential, wherever the caller
// puts it.
func TestCredentialsAreRedacted(t *testing.T) {
	for name, secret := range map[string]string{
		"ours":              "remit_" + random + "x9_-aB",
		"ours, cut off":     "remit_" + random[:20],
		"of a person":       "remit_p_" + random + "x9_-aB",
		"a bearer":          "Bearer sk-ant-api03-" + random,
		"a short bearer":    "authorization: bearer hunter2hunter2",
		"a loud bearer":     "BEARER " + random,
		"a bearer of bytes": "Bearer +/+/a1+/==",
		"a password":        "Basic dXNlcjpwYXNzd29yZA==",
		"of GitHub":         "ghp_" + random[:36],
		"of an app there":   "ghs_" + random[:36],
		"fine-grained":      "github_pat_" + random,
		"of a model":        "sk-proj-" + random,
		"of hex":            "sk-0123456789abcdef0123456789abcdef",
		"of AWS":            "AKIAIOSFODNN7EXAMPLE",
		"of AWS for a time": "ASIAIOSFODNN7EXAMPLE",
		"secret of AWS":     "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"in a variable":     "PGPASSWORD=hunter psql -h db",
		"in another":        "APP_DB_PASSWORD=hunter",
		"a header":          "Authorization: Bearer " + random,
		"a JWT":             "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ." + random,
		"a private key":     "-----BEGIN OPENSSH PRIVATE KEY-----",
		"of Slack":          "xoxb-2147483647-" + random[:20],
		"of a Slack user":   "xoxp-2147483647-" + random[:20],
		"a Slack webhook":   "hooks.slack.com/services/T0AB1CD2E/B0AB1CD2E/" + random[:24],
		"of GitLab":         "glpat-" + random[:20],
		"of Google":         "AIza" + random[:35],
		"of Stripe":         "sk_live_" + random[:24],
		"of age":            "AGE-SECRET-KEY-1" + strings.ToUpper(random),
		"of DigitalOcean":   "dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"a named key":       "api_key=hunter",
		"a named token":     "access_token=hunter",
		"in lower case":     "aws_secret_access_key=wjalrxutnfemi",
		"in a path":         "docs/ghp_" + random[:36] + "/README.md",
		"in a file name":    "notes-gho_" + random[:36] + ".txt",
		"a database":        "postgres://app:hunter@db.example.com:5432/app?sslmode=require",
		"a database on S3":  "mysql://root:correct,horse;battery@10.0.0.1",
		"a password in ADO": "Server=db;User Id=app;Password=hunter;Encrypt=yes",
		"a quoted one":      "host=db user=app password='two words'",
		"of storage":        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=abcdefghijkl",
	} {
		t.Run(name, func(t *testing.T) {
			spelt := string(jsontree.AppendString(nil, secret))
			for _, args := range []string{
				`{"name":` + spelt + `}`,
				`{"title":"see ` + secret + `, and call"}`,
				`{"title":"line\n` + secret + `\n"}`,
				`{"url":"https://example.com/?token=` + secret + `"}`,
				`{"tags":["a",{"deep":` + spelt + `}]}`,
				`{` + spelt + `:1}`,
				`{"name":"\u00` + hexOf(secret[0]) + secret[1:] + `"}`,
			} {
				if got := encodedWith(t, "c", args); strings.Contains(got, secret) || strings.Contains(got, random) ||
					strings.Contains(got, "sha256") {
					t.Errorf("%s is kept as %s", args, got)
				}
			}
			if got := encodedWith(t, secret, `{}`); strings.Contains(got, secret) || !strings.Contains(got, `"client":"(redacted)"`) {
				t.Errorf("the name of a client is kept as %s", got)
			}
		})
	}
}

func hexOf(c byte) string { return string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]) }

// TestRestIsNotRedacted checks that the record keeps the size of a redacted text, and everything
// else unchanged.
func TestRestIsNotRedacted(t *testing.T) {
	got := encodedWith(t, "c", `{"name":"Ada","n":1.50,"all":[true,null,"AKIAIOSFODNN7EXAMPLE"]}`)
	if want := `"arguments":{"name":"Ada","n":1.50,"all":[true,null,{"bytes":20}]}`; !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	for _, plain := range []string{
		"Ada", "the bearer of bad news", "Bearer tokens are for agents", "remit_approvals_waiting_total",
		"remit_ is how they begin", "Basic JavaScript for all", "docs/task-1/risk-assessment-2026-01-final.md",
		"disk-usage-of-all-machines-in-2026", "sk-learn", "AKIA", "a PRIVATE KEY", "ghp_ and github_pat_", "eyJ",
		"internal/engine/audit/ledger/ledger.go", "MALAKIAANDTHEOTHERPROPHETS",
		"https://example.com/a:b@c", "https://example.com:8080/", "postgres://app@db/app", "password=", "pwd=x", "user=ada", "a: b",
		"the password policy", "OLDPWD=/home/ada", "npm_config_registry_of_the_project", "xoxo",
		"api_key=", "the api_key of ada", "AGE-SECRET-KEY-1", "dop_v1_ tokens",
	} {
		if got, want := encodedWith(t, plain, `{"name":"`+plain+`"}`), `"arguments":{"name":"`+plain+`"}`; !strings.Contains(got,
			want) || !strings.Contains(got, `"client":"`+plain+`"`) {
			t.Errorf("%q is kept as %s", plain, got)
		}
	}
}

// TestMask checks that the beginning of each credential stays, and all text between them.
func TestMask(t *testing.T) {
	for text, want := range map[string]string{
		"Ada wrote task-1 in 2026":                      "Ada wrote task-1 in 2026",
		"remit_" + random:                               "remit_***",
		"remit_ab-" + random[:25] + "-" + random + " x": "remit_*** x",
		"a ghp_" + random + ", b ghp_" + random + "; c": "a ghp_***, b ghp_***; c",
		"Bearer sk-" + random + " and no more":          "Bearer *** and no more",
		"Bearer remit_" + random:                        "Bearer remit_***",
		"eyJhbGciOiJSUzI1NiJ9.eyJzdWIi." + random:       "eyJ***",
		"-----BEGIN PRIVATE KEY-----\n" + random + "\n": "-----BEGIN PRIVATE KEY-----***",
		"postgres://app:hunter@db/app, http://a:b@c":    "postgres://app:***@db/app, http://a:***@c",
		"Server=db;Pwd=hunter;x=y password='a b' z":     "Server=db;Pwd=***;x=y password='***' z",
		"docs/ghp_" + random[:36] + "/README.md":        "docs/ghp_***/README.md",
	} {
		if got := audit.Mask(text, "***"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func BenchmarkWriteLong(b *testing.B) {
	log := &audit.Log{Storage: discard{}}
	text := strings.Repeat("a line of text that somebody wrote ", 7)
	r := &audit.Record{
		Time: time.Now(), Principal: "agent:helper", Client: "some-client/1.2.3", Tool: "tasks/add_task",
		Arguments: jsontree.Obj(jsontree.M("title", jsontree.Str(text)), jsontree.M("description", jsontree.Str(text)),
			jsontree.M("path", jsontree.Str("internal/engine/audit/audit.go"))),
		Outcome: "ok",
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := log.Write(context.Background(), r, false); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzMask checks that a masked text is masked: nothing that looks like a credential is left.
func FuzzMask(f *testing.F) {
	for _, text := range []string{"", "postgres://a:b@c", "password='x y", "://:@", "a=b", "ghp_" + random, "-----BEGIN PRIVATE KEY-----"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := audit.Mask(text, "***")
		if again := audit.Mask(once, "***"); again != once {
			t.Errorf("%q is masked as %q, then as %q", text, once, again)
		}
	})
}
