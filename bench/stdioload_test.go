//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// question is a request, and the text that its answer must contain. Each request replaces
// uniqueNumber in params with its own number.
type question struct{ method, params, want string }

const uniqueNumber = "<anew>"

var (
	helloQuestion     = question{"tools/call", `{"name":"hello","arguments":{"name":"Ada"}}`, `"structuredContent":{"greeting":"Hello, Ada!"}`}
	listQuestion      = question{"tools/list", `{}`, `"inputSchema"`}
	structureQuestion = question{"tools/call", `{"name":"get-structured-content","arguments":{"location":"New York"}}`, `"structuredContent":{"temperature":33`}
)

const (
	oldVersion  = "2025-11-25"
	initialize  = `{"jsonrpc":"2.0","id":"hi","method":"initialize","params":{"protocolVersion":"` + oldVersion + `","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// stdioServer is a server on a pair of pipes.
type stdioServer struct {
	cmd    *exec.Cmd
	out    io.Writer
	in     *bufio.Reader
	line   []byte
	lastID int
}

// startStdio starts a server and initializes it, like every client.
func startStdio(t *testing.T, cmd *exec.Cmd) *stdioServer {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(serverTimeout, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		defer hung.Stop()
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v\n%s", cmd.Args, err, &complaints)
		}
	})
	if _, err := io.WriteString(stdin, initialize+"\n"+initialized+"\n"); err != nil {
		t.Fatal(err)
	}
	return &stdioServer{cmd: cmd, out: stdin, in: bufio.NewReaderSize(stdout, 4<<20)}
}

// contender returns a contender that repeats one question, with callers that share the connection.
func (s *stdioServer) contender(name string, q question) contender {
	return contender{name, s.cmd.Process.Pid, func(d time.Duration) (int, error) { return s.pipeline(q, until(d)) }}
}

// pipeline keeps one question per caller pending: each caller asks again as soon as it has its
// answer, while more returns true. One goroutine does this for all callers, so that our own share
// of the CPU stays small.
func (s *stdioServer) pipeline(q question, more func() bool) (calls int, err error) {
	for range callers {
		if err := s.ask(q); err != nil {
			return 0, err
		}
	}
	for waiting := callers; waiting > 0; calls++ {
		if err := s.answer(q); err != nil {
			return calls, err
		}
		if !more() {
			waiting--
		} else if err := s.ask(q); err != nil {
			return calls, err
		}
	}
	return calls, nil
}

func (s *stdioServer) ask(q question) error {
	s.lastID++
	s.line = append(s.line[:0], `{"jsonrpc":"2.0","id":`...)
	s.line = strconv.AppendInt(s.line, int64(s.lastID), 10)
	s.line = append(s.line, `,"method":"`...)
	s.line = append(s.line, q.method...)
	s.line = append(s.line, `","params":`...)
	before, after, isNumbered := strings.Cut(q.params, uniqueNumber)
	s.line = append(s.line, before...)
	if isNumbered {
		s.line = strconv.AppendInt(s.line, int64(s.lastID), 10)
	}
	s.line = append(s.line, after...)
	s.line = append(s.line, "}\n"...)
	_, err := s.out.Write(s.line)
	return err
}

// answer reads the next answer. It skips notifications and the answer to initialize.
func (s *stdioServer) answer(q question) error {
	for {
		line, err := s.in.ReadSlice('\n')
		switch {
		case err != nil:
			return err
		case bytes.Contains(line, []byte(q.want)):
			return nil
		case !bytes.Contains(line, []byte(`"method":`)) && !bytes.Contains(line, []byte(`"protocolVersion":`)):
			return fmt.Errorf("answer to %s: %s", q.params, bytes.TrimSpace(line))
		}
	}
}

// once sends one question and waits for its answer.
func (s *stdioServer) once(q question) error {
	if err := s.ask(q); err != nil {
		return err
	}
	return s.answer(q)
}
