//go:build linux

package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// httpServer is a server that listens on a port of its choice.
type httpServer struct {
	pid     int
	address string // host and port
}

var addressInLog = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)

// startHTTP starts a server and waits until it logs its address.
func startHTTP(t *testing.T, cmd *exec.Cmd) *httpServer {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(serverTimeout, func() { _ = cmd.Process.Kill() })
	found, read := make(chan string, 1), make(chan string, 1)
	go func() { read <- followLog(stderr, found) }()
	t.Cleanup(func() {
		defer hung.Stop()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		log := <-read
		_ = cmd.Wait() // some peers exit with an error
		if t.Failed() {
			t.Logf("log of %v: %s", cmd.Args, log)
		}
	})
	address := <-found
	if address == "" {
		t.Fatalf("%v did not log its address", cmd.Args)
	}
	return &httpServer{cmd.Process.Pid, address}
}

// followLog reads a server's log to the end and returns it. It sends the server's address to found,
// and closes found at the end.
func followLog(stderr io.Reader, found chan<- string) string {
	defer close(found)
	var log strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if m := addressInLog.FindStringSubmatch(lines.Text()); m != nil {
			select {
			case found <- m[1]:
			default: // the address was sent already
			}
		}
		if log.Len() < 1<<16 {
			log.WriteString(lines.Text() + "\n")
		}
	}
	return log.String()
}

// plainClient is a client for requests that are not measured. It keeps no connection open.
var plainClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// do sends a request and checks the status. The caller reads the body.
func (s *httpServer) do(ctx context.Context, method, path string, header http.Header, body string, want int) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.address+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header.Clone()
	answer, err := plainClient.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != want {
		defer answer.Body.Close()
		said, _ := io.ReadAll(answer.Body)
		return nil, fmt.Errorf("%s %s: status %d, %s", method, path, answer.StatusCode, said)
	}
	return answer, nil
}

// postHeader returns the headers of every message to an MCP server.
func postHeader() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
}

// initialize opens a session of the session era and returns the headers for its messages.
func (s *httpServer) initialize() (http.Header, error) {
	header := postHeader()
	answer, err := s.do(context.Background(), http.MethodPost, "/mcp", header, initialize, http.StatusOK)
	if err != nil {
		return nil, err
	}
	answer.Body.Close()
	header.Set("Mcp-Session-Id", answer.Header.Get("Mcp-Session-Id"))
	header.Set("MCP-Protocol-Version", oldVersion)
	answer, err = s.do(context.Background(), http.MethodPost, "/mcp", header, initialized, http.StatusAccepted)
	if err != nil {
		return nil, err
	}
	return header, answer.Body.Close()
}
