package e2e

import (
	"bufio"
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// providerBin returns the path of the OpenID provider in e2e/oidctest. The binary is in the user's
// cache, under the hash of its source, which includes the versions of its dependencies.
var providerBin = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version())
	if err := hashFiles(hash, "oidctest"); err != nil {
		return "", err
	}
	bin := filepath.Join(cache, "remit", fmt.Sprintf("oidctest-%x", hash.Sum(nil)[:8]))
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	// Rename it when complete, so that no partial file has the final name.
	partial := fmt.Sprintf("%s.%d", bin, os.Getpid())
	build := exec.Command("go", "build", "-o", partial, ".")
	build.Dir, build.Env = "oidctest", releaseEnv()
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the OpenID provider: %w\n%s", err, out)
	}
	return bin, os.Rename(partial, bin)
})

// hashFiles adds the names and contents of the files in a folder to a hash.
func hashFiles(hash io.Writer, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(hash, "%s %d\n%s", entry.Name(), len(data), data); err != nil {
			return err
		}
	}
	return nil
}

// provider is a running OpenID provider.
type provider struct {
	t    *testing.T
	port string
	kill func()
}

// newProvider starts a provider; args are its flags.
func newProvider(t *testing.T, args ...string) *provider {
	t.Helper()
	bin, err := providerBin()
	if err != nil {
		skipOutsideCI(t, err.Error())
	}
	cmd := exec.Command(bin, args...)
	stdin, err := cmd.StdinPipe() // the provider exits when stdin is closed
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log := &syncBuffer{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, kill: sync.OnceFunc(func() {
		stdin.Close()
		_ = cmd.Wait() // the exit code does not matter
	})}
	t.Cleanup(p.kill)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the provider does not print its port: %v; %s", err, log)
	}
	p.port = strings.TrimSpace(line)
	return p
}

// url returns the issuer. alias returns a second issuer, localhost, with the same keys.
func (p *provider) url() string { return "http://127.0.0.1:" + p.port }

func (p *provider) alias() string { return "http://localhost:" + p.port }

// client returns the name of a client whose tokens have an audience and a lifetime.
func client(audience string, life time.Duration) string {
	return url.Values{"sub": {"alice"}, "aud": {audience}, "life": {life.String()}}.Encode()
}

// token requests a token from an issuer with the grant client_credentials.
func (p *provider) token(issuer, client, scope string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), timeout)
	defer cancel()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {scope}, "client_id": {client}, "client_secret": {"secret"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, issuer+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got, err := send(http.DefaultClient, r)
	var answer struct {
		Token string `json:"access_token"`
	}
	if err != nil || json.Unmarshal(got.body, &answer) != nil || answer.Token == "" {
		p.t.Fatalf("no token: %v %d %s", err, got.status, got.body)
	}
	return answer.Token
}

// publicKey returns the issuer's public key as PEM. An algorithm confusion attack signs with it.
func (p *provider) publicKey() []byte {
	p.t.Helper()
	response, err := http.Get(p.url() + "/keys")
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	var set struct {
		Keys []struct{ N, E string }
	}
	if err != nil || json.Unmarshal(data, &set) != nil || len(set.Keys) != 1 {
		p.t.Fatalf("no key: %v %s", err, data)
	}
	number := func(text string) *big.Int {
		b, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			p.t.Fatal(err)
		}
		return new(big.Int).SetBytes(b)
	}
	der, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: number(set.Keys[0].N), E: int(number(set.Keys[0].E).Int64())})
	if err != nil {
		p.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// forged returns tokens made from a valid one without the issuer's private key.
func forged(t *testing.T, genuine string, public []byte) map[string]string {
	t.Helper()
	parts := strings.Split(genuine, ".")
	encode := base64.RawURLEncoding.EncodeToString
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || !strings.Contains(string(body), `"sub":"alice"`) {
		t.Fatalf("%v: %s", err, body)
	}
	tampered := encode([]byte(strings.Replace(string(body), `"sub":"alice"`, `"sub":"root"`, 1)))
	hs256 := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + parts[1]
	mac := hmac.New(sha256.New, public)
	mac.Write([]byte(hs256))
	return map[string]string{
		"alg none":                  encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + parts[1] + ".",
		"HS256 with the public key": hs256 + "." + encode(mac.Sum(nil)),
		"tampered":                  parts[0] + "." + tampered + "." + parts[2],
		"without its signature":     parts[0] + "." + parts[1] + ".",
	}
}

const audience = "https://remit.example.com/mcp"

// entryPoints are the ways to call a tool. Each returns the status and the WWW-Authenticate header.
var entryPoints = map[string]func(w *httpServer, tool, args, token string) httpAnswer{
	"plain": func(w *httpServer, tool, args, token string) httpAnswer {
		return w.post("/tools/"+tool, args, bearer(token))
	},
	"modern": func(w *httpServer, tool, args, token string) httpAnswer {
		header := modernHeaders("tools/call", tool)
		header["Authorization"] = bearer(token)["Authorization"]
		return w.post("/mcp", requestLine("1", "tools/call", modernParams(`"name":"`+tool+`","arguments":`+args, `{}`)), header)
	},
	"legacy": func(w *httpServer, tool, args, token string) httpAnswer {
		header := bearer(token)
		greeted := w.post("/mcp", requestLine("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`), header)
		if greeted.status != http.StatusOK {
			return greeted
		}
		header["Mcp-Session-Id"] = greeted.header["Mcp-Session-Id"]
		header["Mcp-Protocol-Version"] = []string{legacyVersion}
		return w.post("/mcp", requestLine("2", "tools/call", `{"name":"`+tool+`","arguments":`+args+`}`), header)
	},
}

// TestOIDC checks that tokens of a real provider work on every entry point, and that forged ones do
// not.
func TestOIDC(t *testing.T) {
	p, stranger := newProvider(t), newProvider(t)
	w := newWorkspace(t, nil).serve("--oidc-issuer", p.url(), "--oidc-audience", audience)
	const list, add = `{"user_id":"alice"}`, `{"user_id":"alice","title":"Buy milk"}`
	good := p.token(p.url(), client(audience, time.Hour), "openid tasks:read")
	for way, call := range entryPoints {
		t.Run(way, func(t *testing.T) {
			if got := call(w, "list_tasks", list, good); got.status != 200 || strings.Contains(string(got.body), `"isError":true`) {
				t.Errorf("a valid token: %d %s", got.status, got.body)
			}
			if got := call(w, "list_tasks", `{"user_id":"bob"}`, good); got.status == 200 && !strings.Contains(string(got.body), `"isError":true`) {
				t.Errorf("another user's tasks: %d %s", got.status, got.body)
			}
			writer := p.token(p.url(), client(audience, time.Hour), "tasks:read tasks:write")
			if got := call(w, "add_task", add, writer); got.status != 200 || !strings.Contains(string(got.body), "Buy milk") {
				t.Errorf("with the scope to write: %d %s", got.status, got.body)
			}
			got := call(w, "add_task", add, good)
			challenge := got.header.Get("WWW-Authenticate")
			want := `Bearer realm="remit", error="insufficient_scope", error_description="This needs a token with the scope tasks:write", scope="tasks:write", resource_metadata="` + w.url + `/.well-known/oauth-protected-resource/mcp"`
			if got.status != 403 || challenge != want {
				t.Errorf("without the scope to write: %d %s, want %s", got.status, challenge, want)
			}
			// Fewer than 30 in all: the server would rate limit more as guesses, with status 429.
			bad := forged(t, good, p.publicKey())
			bad["wrong audience"] = p.token(p.url(), client("https://other.example.com", time.Hour), "tasks:read")
			bad["expired"] = p.token(p.url(), client(audience, -time.Hour), "tasks:read")
			bad["another issuer with the same keys"] = p.token(p.alias(), client(audience, time.Hour), "tasks:read")
			bad["another issuer"] = stranger.token(stranger.url(), client(audience, time.Hour), "tasks:read")
			for name, token := range bad {
				got := call(w, "list_tasks", list, token)
				challenge := got.header.Get("WWW-Authenticate")
				if got.status != 401 || !strings.HasPrefix(challenge, `Bearer realm="remit", error="invalid_token", error_description="The token `) ||
					!strings.HasSuffix(challenge, `resource_metadata="`+w.url+`/.well-known/oauth-protected-resource/mcp"`) {
					t.Errorf("%s: %d %s", name, got.status, challenge)
				}
				if way != "plain" && !strings.HasPrefix(string(got.body), `{"jsonrpc":"2.0","error":`) {
					t.Errorf("%s is not rejected as the protocol requires: %s", name, got.body)
				}
				if strings.Contains(string(got.body)+challenge, token) {
					t.Errorf("%s: the answer contains the token", name)
				}
			}
		})
	}
	w.end()
	w.workspace.verifyAudit()
}

// TestOIDCAlmostValid checks a token that is not valid yet, tokens signed by another key in the
// issuer's name, and valid tokens in the wrong place.
func TestOIDCAlmostValid(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	w := newWorkspace(t, nil).serve("--oidc-issuer", p.url(), "--oidc-audience", audience)
	good := p.token(p.url(), client(audience, time.Hour), "tasks:read")
	parts := strings.Split(good, ".")
	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	w.workspace.check(err)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	w.workspace.check(err)
	resigned := func(header string) string {
		text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + parts[1]
		sum := sha256.Sum256([]byte(text))
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		w.workspace.check(err)
		return text + "." + base64.RawURLEncoding.EncodeToString(signature)
	}
	for name, tc := range map[string]struct {
		path     string
		header   http.Header
		status   int
		contains string
	}{
		"good":                         {"", bearer(good), 200, ""},
		"not valid yet":                {"", bearer(p.token(p.url(), client(audience, 2*time.Hour)+"&begins=1h", "tasks:read")), 401, `error="invalid_token", error_description="The token is not valid before `},
		"another key with the same id": {"", bearer(resigned(string(header))), 401, `error="invalid_token", error_description="The token was not signed by `},
		"another key without an id":    {"", bearer(resigned(`{"alg":"RS256"}`)), 401, `error="invalid_token", error_description="The token was not signed by `},
		"in the address":               {"?access_token=" + good, nil, 400, `error="invalid_request", error_description="A token in the URL ends up in logs`},
		"as a cookie":                  {"", http.Header{"Cookie": {w.signIn().Name + "=" + good}}, 401, `Bearer realm="remit", resource_metadata=`},
		"two tokens":                   {"", http.Header{"Authorization": {"Bearer " + good, "Bearer " + good}}, 400, `error="invalid_request"`},
	} {
		got := w.post("/tools/list_tasks"+tc.path, `{"user_id":"alice"}`, tc.header)
		if challenge := got.header.Get("WWW-Authenticate"); got.status != tc.status || !strings.Contains(challenge, tc.contains) {
			t.Errorf("%s: %d %s, want %d %s", name, got.status, challenge, tc.status, tc.contains)
		}
	}
	w.end()
	if strings.Contains(w.stderr.String(), parts[2]) {
		t.Error("the log contains a token")
	}
}

// TestOIDCEllipticCurve does the same with elliptic curve keys.
func TestOIDCEllipticCurve(t *testing.T) {
	t.Parallel()
	p := newProvider(t, "-alg", "ES256")
	w := newWorkspace(t, nil).serve("--oidc-issuer", p.url(), "--oidc-audience", audience)
	token := p.token(p.url(), client(audience, time.Hour), "tasks:read")
	if got := w.post("/tools/list_tasks", `{"user_id":"alice"}`, bearer(token)); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestOIDCProviderDown checks that the server starts without its issuer, does not call a token
// invalid while it cannot check it, and accepts it once the issuer is available.
func TestOIDCProviderDown(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	token := p.token(p.url(), client(audience, time.Hour), "tasks:read")
	p.kill()
	w := newWorkspace(t, nil).serve("--oidc-issuer", p.url(), "--oidc-audience", audience)
	got := w.post("/tools/list_tasks", `{"user_id":"alice"}`, bearer(token))
	if got.status != 503 || got.header.Get("Retry-After") == "" || got.header.Get("WWW-Authenticate") != "" {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
	if got := w.post("/tools/hello", `{"name":"Ada"}`, nil); got.status != 200 {
		t.Errorf("a public tool: %d %s", got.status, got.body)
	}
	back := newProvider(t, "-port", p.port)
	token = back.token(back.url(), client(audience, time.Hour), "tasks:read")
	for deadline := time.Now().Add(timeout); ; time.Sleep(50 * time.Millisecond) {
		got := w.post("/tools/list_tasks", `{"user_id":"alice"}`, bearer(token))
		if got.status == 200 {
			return
		}
		if got.status != 503 || time.Now().After(deadline) {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
}

// TestOIDCDiscovery checks that the official client discovers the issuer by itself and gets a
// token. The audience is the address of the server.
func TestOIDCDiscovery(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	w := newWorkspace(t, nil).serve("--oidc-issuer", p.url())
	for _, path := range []string{"/mcp", "/mcp/tasks"} {
		for _, version := range []string{legacyVersion, modernVersion} {
			t.Run(path+" "+version, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				handler, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
					Credentials: &oauthex.ClientCredentials{
						ClientID:         client(w.url+path, time.Hour),
						ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: "secret"},
					},
				})
				w.workspace.check(err)
				c := mcp.NewClient(&mcp.Implementation{Name: "gosdk", Version: "1.8.0"}, nil)
				session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: w.url + path, OAuthHandler: handler}, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				called, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "list_tasks", Arguments: map[string]any{"user_id": "alice"}})
				if err != nil || called.IsError {
					t.Errorf("%v %+v", err, called)
				}
			})
		}
	}
}

// TestOIDCMetadata checks that web pages of any origin may read the metadata, and nothing else.
func TestOIDCMetadata(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	w := newWorkspace(t, nil).serve("--oidc-issuer", p.url())
	foreign := http.Header{"Origin": {"https://client.example.com"}}
	for path, resource := range map[string]string{"": "", "/mcp": "/mcp", "/mcp/tasks": "/mcp/tasks"} {
		got := w.get("/.well-known/oauth-protected-resource"+path, foreign)
		var about struct {
			Resource string
			Servers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
		}
		if err := json.Unmarshal(got.body, &about); err != nil || got.status != 200 || got.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Fatalf("%v %d %v %s", err, got.status, got.header, got.body)
		}
		if about.Resource != w.url+resource || len(about.Servers) != 1 || about.Servers[0] != p.url() || !strings.Contains(strings.Join(about.Scopes, " "), "tasks:read") {
			t.Errorf("%s: %+v", path, about)
		}
	}
	if got := w.get("/tools", foreign); got.status != 403 {
		t.Errorf("a web page may read something else: %d", got.status)
	}
}
