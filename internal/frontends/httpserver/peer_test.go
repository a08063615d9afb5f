package httpserver

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// TestOtherUsers checks that requests of another user are rejected on every route unless they are
// admitted, and that the rejection is told.
func TestOtherUsers(t *testing.T) {
	for name, admits := range map[string]func(*http.Request) bool{
		"none": nil, "health": func(r *http.Request) bool { return r.URL.Path == "/health" },
	} {
		rejected := 0
		s := &Server{
			Log: slog.New(slog.DiscardHandler), AdmitsOtherUser: admits, Public: func(*http.Request) bool { return true },
			Rejected: func(_ *http.Request, reason string) {
				if reason == "another user" {
					rejected++
				}
			},
		}
		l := httptest.NewUnstartedServer(s.guard("", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
		l.Config.ConnContext = markOtherUsers(func(local, remote netip.AddrPort) bool {
			return local.String() == l.Listener.Addr().String() && remote.Addr().IsLoopback()
		})
		l.Start()
		ask := func(path string) int {
			response, err := http.Get(l.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			return response.StatusCode
		}
		if got := ask("/tools"); got != http.StatusForbidden || rejected != 1 {
			t.Errorf("%s: %d, %d rejections were told", name, got, rejected)
		}
		if got := ask("/health"); (got == http.StatusOK) != (admits != nil) {
			t.Errorf("%s: /health %d", name, got)
		}
		l.Close()
	}
	w := httptest.NewRecorder()
	s := &Server{Log: slog.New(slog.DiscardHandler)}
	r := httptest.NewRequest(http.MethodPost, "/mcp", http.NoBody)
	r = r.WithContext(markOtherUsers(func(_, _ netip.AddrPort) bool { return true })(r.Context(), &net.TCPConn{}))
	s.guard("", nil).ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), `"jsonrpc":"2.0"`) || !strings.Contains(w.Body.String(), "Authorization: Bearer TOKEN") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
