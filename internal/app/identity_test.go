package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"remit/internal/frontends/cli"
)

// TestAnswersAreNotFramed also checks answers that no front end gives.
func TestAnswersAreNotFramed(t *testing.T) {
	mux := http.NewServeMux()
	for _, pattern := range []string{"/", "/mcp", "/cdn/"} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "nothing") })
	}
	for path, want := range map[string]string{"/nothing": "DENY", "//console/../x": "DENY", "/cdn/books/a.pdf": ""} {
		w := httptest.NewRecorder()
		direct(mux).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, http.NoBody))
		if got := w.Header().Get("X-Frame-Options"); got != want || (w.Header().Get("Content-Security-Policy") == "") != (want == "") {
			t.Errorf("%s (%d): %q", path, w.Code, got)
		}
	}
}

// TestOriginOf checks the web origin of URLs.
func TestOriginOf(t *testing.T) {
	for address, want := range map[string]string{
		"": "", "https://remit.example.com": "https://remit.example.com", "https://remit.example.com/tools/remit": "https://remit.example.com",
		"https://Remit.Example.com:443/x": "https://remit.example.com", "http://h:80": "http://h", "http://h:443": "http://h:443",
		"https://h:8722/": "https://h:8722", "https://[::1]:443/x": "https://[::1]", "https://[::1]": "https://[::1]",
	} {
		if got := originOf(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

// TestUnsafeIssuer checks that an issuer without TLS is refused when the server starts, not when
// the first token arrives.
func TestUnsafeIssuer(t *testing.T) {
	a := openHere(t, func(s *cli.Settings) { s.Addr, s.OIDCIssuer = "127.0.0.1:0", "http://login.example.com" })
	err := a.Serve(t.Context(), func(string) { t.Error("it serves") })
	if err == nil || !strings.Contains(err.Error(), "must be https") {
		t.Errorf("%v", err)
	}
}
