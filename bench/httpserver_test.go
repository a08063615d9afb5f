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

// httpServer is a server that listens on a port of its own choice.
type httpServer struct {
	pid     int
	address string // host and port
}

var addressInLog = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)

// startHTTP starts a server and waits until it says where it listens.
func startHTTP(t *testing.T, cmd *exec.Cmd) *httpServer {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(longest, func() { _ = cmd.Process.Kill() })
	found, read := make(chan string, 1), make(chan string, 1)
	go func() { read <- followLog(stderr, found) }()
	t.Cleanup(func() {
		defer hung.Stop()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		log := <-read
		_ = cmd.Wait() // not every peer leaves politely
		if t.Failed() {
			t.Logf("%v said: %s", cmd.Args, log)
		}
	})
	address := <-found
	if address == "" {
		t.Fatalf("%v never said where it listens", cmd.Args)
	}
	return &httpServer{cmd.Process.Pid, address}
}

// followLog reads what a server says to its end, and tells where it listens: nowhere
// if it ends without a word about that.
func followLog(stderr io.Reader, found chan<- string) string {
	defer close(found)
	var log strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if m := addressInLog.FindStringSubmatch(lines.Text()); m != nil {
			select {
			case found <- m[1]:
			default: // said before
			}
		}
		if log.Len() < 1<<16 {
			log.WriteString(lines.Text() + "\n")
		}
	}
	return log.String()
}

// politely is a client for all that is not measured. It keeps no connection.
var politely = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// do sends a request and wants a certain status; the body is still to be read.
func (s *httpServer) do(ctx context.Context, method, path string, header http.Header, body string, want int) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.address+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header.Clone()
	answer, err := politely.Do(request)
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

// postHeader is what every message to an MCP server has.
func postHeader() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
}

// greet opens a session of the old era and returns the headers of its messages.
func (s *httpServer) greet() (http.Header, error) {
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
