package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// peakMemory returns the most memory that the server has occupied, in bytes.
func (w *httpServer) peakMemory() int {
	w.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
	if err != nil {
		w.t.Skip(err) // not Linux
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		w.t.Skip("the system does not report it")
	}
	n, err := strconv.Atoi(string(found[1]))
	w.workspace.check(err)
	return n << 10
}

// sendRaw sends bytes over a connection of its own, and returns the status of the answer.
func (w *httpServer) sendRaw(parts ...string) (int, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	for _, part := range parts {
		if _, err := io.WriteString(conn, part); err != nil {
			return 0, err
		}
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// TestHostileBodies checks that hundreds of bodies that are dear to parse take less than 400 MB,
// that each is answered, and that others are answered meanwhile.
func TestHostileBodies(t *testing.T) {
	if underRace() {
		t.Skip("the race detector takes more memory")
	}
	arrays := "[" + strings.Repeat("[],", 16_000) + `"` + strings.Repeat("x", 200<<10) + `"]`
	request := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + modernParams(`"name":"hello","arguments":{"name":`+arrays+`}`, `{}`) + `}`
	const head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n" +
		"Mcp-Protocol-Version: " + modernVersion + "\r\nMcp-Method: tools/call\r\nMcp-Name: hello\r\n"
	length := head + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(request))
	for _, test := range []struct {
		name  string
		count int
		parts []string
	}{
		{"48", 48, []string{length, request}},
		{"500", 500, []string{length, request}},
		{"500 in chunks", 500, []string{head, fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", len(request)), request, "\r\n0\r\n\r\n"}},
		{"500 of more values than allowed", 500, []string{head, "Content-Length: 250002\r\n\r\n[", strings.Repeat("1,", 125_000), "]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorkspace(t, nil).serve()
			var senders sync.WaitGroup
			var mu sync.Mutex
			answers := map[int]int{}
			for range test.count {
				senders.Go(func() {
					status, err := w.sendRaw(test.parts...)
					if err != nil {
						t.Errorf("no answer: %v", err)
					}
					mu.Lock()
					defer mu.Unlock()
					answers[status]++
				})
			}
			for range 20 {
				if got := w.post("/tools/hello", `{"name":"Ada"}`, nil); got.status != http.StatusOK {
					t.Errorf("another caller got %d %s", got.status, clip(got.body))
				}
			}
			senders.Wait()
			for status := range answers {
				if status != 200 && status != 400 && status != 503 {
					t.Errorf("answers by status: %v", answers)
				}
			}
			if peak := w.peakMemory(); peak > 400<<20 {
				t.Errorf("%d bodies took %d MiB; answers by status: %v", test.count, peak>>20, answers)
			} else {
				t.Logf("%d MiB; answers by status: %v", peak>>20, answers)
			}
			w.end()
		})
	}
}
