package mcp_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"remit/internal/frontends/mcp"
)

const (
	rootsHello = `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},` +
		`"clientInfo":{"name":"c","version":"1"}}}` + "\n"
	afterHello = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	listTools  = `{"jsonrpc":"2.0","id":8,"method":"tools/list"}` + "\n"
)

// rootsClient is the client of a RootsQuestion.
type rootsClient struct {
	t      *testing.T
	to     *io.PipeWriter
	from   *bufio.Reader
	answer chan *mcp.RootsAnswer
}

func newRootsClient(t *testing.T, timeout time.Duration) *rootsClient {
	in, to := io.Pipe()
	from, out := io.Pipe()
	c := &rootsClient{t, to, bufio.NewReader(from), make(chan *mcp.RootsAnswer, 1)}
	question := &mcp.RootsQuestion{Version: "1", Timeout: timeout, Instructions: func() (string, error) { return "Be kind.", nil }}
	go func() {
		answer, err := question.Ask(t.Context(), in, out)
		if err != nil {
			t.Error(err)
		}
		c.answer <- answer
	}()
	return c
}

func (c *rootsClient) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.to, line); err != nil {
		c.t.Fatal(err)
	}
}

// read reads a line that must match.
func (c *rootsClient) read(pattern string) []string {
	c.t.Helper()
	line, err := c.from.ReadString('\n')
	found := regexp.MustCompile(pattern).FindStringSubmatch(line)
	if err != nil || found == nil {
		c.t.Fatalf("%v: %q does not match %s", err, line, pattern)
	}
	return found
}

// end checks which bytes the server gets.
func (c *rootsClient) end(want string) *mcp.RootsAnswer {
	c.t.Helper()
	answer := <-c.answer
	go func() { _, _ = io.WriteString(c.to, listTools); _ = c.to.Close() }()
	got, err := io.ReadAll(answer.In)
	if err != nil || string(got) != want+listTools {
		c.t.Errorf("the server gets %q, %v; want %q", got, err, want+listTools)
	}
	return answer
}

func (c *rootsClient) begin(greeting string) (id string) {
	c.t.Helper()
	c.send(rootsHello)
	c.read(`^{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"2025-06-18".*"instructions":"Be kind."`)
	c.send(greeting)
	return c.read(`^{"jsonrpc":"2.0","id":("remit-roots-\w+"),"method":"roots/list"`)[1]
}

func TestRootsAreAsked(t *testing.T) {
	for _, tc := range []struct{ name, answer, uris, reason string }{
		{"two", `"result":{"roots":[{"uri":"file:///b"},{"uri":"file:///a","name":"A"}]}`, "[file:///b file:///a]", ""},
		{"none", `"result":{"roots":[]}`, "[]", "the client has no roots"},
		{"no list", `"result":{"roots":{}}`, "[]", "the client answered roots/list without a list of roots"},
		{"error", `"error":{"code":-32601,"message":"no"}`, "[]", "the client answered roots/list with an error"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newRootsClient(t, time.Hour)
			id := c.begin(afterHello)
			held := `{"jsonrpc":"2.0","id":9,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":7,"result":{}}` + "\n"
			c.send(held)
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, tc.answer) + "\n")
			answer := c.end(rootsHello + afterHello + held)
			if reason := fmt.Sprint(answer.Reason); !answer.Asked || fmt.Sprint(answer.URIs) != tc.uris || tc.reason != "" && reason != tc.reason {
				t.Errorf("%+v", answer)
			}
		})
	}
}

// TestRootsAfterRequest checks that a client is asked that sends a request without
// notifications/initialized, but not after a ping.
func TestRootsAfterRequest(t *testing.T) {
	c := newRootsClient(t, time.Hour)
	ping := `{"jsonrpc":"2.0","id":6,"method":"ping"}` + "\n"
	id := c.begin(ping + listTools)
	c.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"roots":[{"uri":"file:///a"}]}}` + "\n")
	c.end(rootsHello + ping + listTools)
}

func TestRootsTimeout(t *testing.T) {
	c := newRootsClient(t, time.Nanosecond)
	c.begin(afterHello)
	if answer := c.end(rootsHello + afterHello); answer.URIs != nil || !strings.Contains(answer.Reason.Error(), "did not answer roots/list in time") {
		t.Errorf("%+v", answer)
	}
}

func TestRootsAtEnd(t *testing.T) {
	c := newRootsClient(t, time.Hour)
	c.begin(afterHello)
	c.send(`{"jsonrpc":`)
	_ = c.to.Close()
	answer := <-c.answer
	if got, err := io.ReadAll(answer.In); string(got) != rootsHello+afterHello+`{"jsonrpc":` || err != nil || !errors.Is(answer.Reason, io.EOF) {
		t.Errorf("%q, %v, %v", got, err, answer.Reason)
	}
}

// TestNoRoots checks that nothing is sent to a client that cannot be asked.
func TestNoRoots(t *testing.T) {
	for _, first := range []string{
		strings.Replace(rootsHello, `"roots":{}`, "", 1),
		modern(1, "server/discover", "", `{"roots":{}}`) + "\n",
		listTools, "7\n", "[" + strings.TrimSpace(rootsHello) + "]\n",
	} {
		c := newRootsClient(t, time.Hour)
		c.send(first)
		if answer := c.end(first); answer.Asked || answer.URIs != nil {
			t.Errorf("%s: %+v", first, answer)
		}
	}
}

// TestSecondInitializeIsDropped checks that the client gets one response to initialize, however the
// server writes it.
func TestSecondInitializeIsDropped(t *testing.T) {
	for _, writes := range [][]string{{"first\nsecond\n"}, {"first\n", "second\n"}, {"fi", "rst", "\n", "second\n"}, {"first\ns", "econd\n"}} {
		var out bytes.Buffer
		in := strings.NewReader(rootsHello + afterHello)
		question := &mcp.RootsQuestion{Timeout: time.Hour, Instructions: func() (string, error) { return "", nil }}
		answer, err := question.Ask(t.Context(), in, &out)
		if err != nil || !answer.Asked {
			t.Fatal(err, answer)
		}
		out.Reset()
		for _, part := range writes {
			if n, err := io.WriteString(answer.Out, part); n != len(part) || err != nil {
				t.Error(n, err)
			}
		}
		if out.String() != "second\n" {
			t.Errorf("%q: %q", writes, out.String())
		}
	}
}

// FuzzRoots checks that the server gets everything that a client sends, if no roots are named.
func FuzzRoots(f *testing.F) {
	for _, seed := range []string{rootsHello + afterHello + listTools, rootsHello, listTools, "\n\n" + rootsHello + "[]\n{", "7"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		question := &mcp.RootsQuestion{Timeout: time.Hour, Instructions: func() (string, error) { return "", nil }}
		answer, err := question.Ask(t.Context(), bytes.NewReader(sent), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(answer.In); err != nil || !bytes.Equal(got, sent) || answer.URIs != nil {
			t.Errorf("%q, %v, %v", got, err, answer.URIs)
		}
	})
}
