package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"remit/internal/contract/jsontree"
)

// failing is a client that has disconnected.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("gone") }

// TestWriterAfterDisconnect checks that output is not queued for a client that has disconnected.
func TestWriterAfterDisconnect(t *testing.T) {
	w := newWriter(failing{})
	line := bytes.Repeat([]byte("x"), 100_000)
	for range 1000 {
		w.send(line)
	}
	w.mu.Lock()
	queued := w.size
	w.mu.Unlock()
	if queued > highWater+len(line)+1 {
		t.Errorf("%d bytes are queued after the disconnect", queued)
	}
	if w.close() == nil {
		t.Error("no error though the client has disconnected")
	}
}

// TestWriterKeepsOrder checks that lines of all lengths are written completely and in order.
func TestWriterKeepsOrder(t *testing.T) {
	var out, want bytes.Buffer
	w := newWriter(&out)
	for n := range 2000 {
		length := []int{0, 1, 500, longLine - 1, longLine, 3 * longLine}[n*n%97%6]
		line := append(strconv.AppendInt(nil, int64(n), 10), bytes.Repeat([]byte{'a' + byte(n%26)}, length)...)
		want.Write(append(bytes.Clone(line), '\n'))
		w.send(line)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want.Bytes()) {
		t.Errorf("%d bytes left, want %d in their order", out.Len(), want.Len())
	}
}

// TestWatchableLimit checks that only as many entries of a list are looked up as one client
// may watch.
func TestWatchableLimit(t *testing.T) {
	names := jsontree.Arr()
	for range 45_000 {
		names.Members = append(names.Members, jsontree.Member{Value: jsontree.Str("x")})
	}
	looks := 0
	kept := watchable(&names, maxTasks, func(string) bool {
		looks++
		return false
	})
	if looks != maxTasks || len(kept.Members) != 0 {
		t.Errorf("%d lookups, %d watched", looks, len(kept.Members))
	}
}

// TestStreamLimits checks that the latest events of a stream are kept, and that the total is
// counted correctly.
func TestStreamLimits(t *testing.T) {
	var all archive
	for _, tc := range []struct {
		name         string
		size, events int
		kept         int
	}{
		{"few", 10, 5, 5}, {"many", 10, 500, maxEvents}, {"large", 50_000, 10, 2}, {"one that is too large", maxStreamBytes + 1, 3, 1},
	} {
		s := newStream(1, &all)
		for range tc.events {
			s.add(bytes.Repeat([]byte("x"), tc.size))
		}
		if len(s.kept) != tc.kept || int64(s.size) != all.bytes.Load() {
			t.Errorf("%s: %d events are kept of %d bytes, %d in all", tc.name, len(s.kept), s.size, all.bytes.Load())
		}
		if texts, last, _, _ := s.after(uint64(tc.events - 1)); len(texts) != 1 || last != uint64(tc.events) {
			t.Errorf("%s: after the last but one come %d, up to %d", tc.name, len(texts), last)
		}
		s.forget()
		s.add([]byte("late"))
		if all.bytes.Load() != 0 {
			t.Errorf("%s: %d bytes are kept after the end", tc.name, all.bytes.Load())
		}
	}
}

// TestArchiveLimit checks that over the total limit only events with a waiting reader are kept.
func TestArchiveLimit(t *testing.T) {
	var all archive
	all.bytes.Store(maxArchiveBytes)
	unread, read := newStream(1, &all), newStream(2, &all)
	detach := read.attach(func() {})
	defer detach()
	for _, s := range []*stream{unread, read} {
		s.add([]byte("one"))
		s.add([]byte("two"))
	}
	if len(unread.kept) != 0 || len(read.kept) != 1 || !strings.Contains(string(read.kept[0].text), "two") {
		t.Errorf("kept %d and %d", len(unread.kept), len(read.kept))
	}
}

// TestStreamWithReaderIsKept checks that a stream that has ended is kept while it has a reader.
func TestStreamWithReaderIsKept(t *testing.T) {
	var all archive
	n := newSession(&Server{}, client{}, time.Now(), &all)
	read := n.newStream()
	detach := read.attach(func() {})
	read.add([]byte("answer"))
	read.end()
	for range 3 * maxKeptStreams {
		n.newStream().end()
	}
	n.dropAllEnded()
	if texts, _, _, _ := read.after(0); len(texts) != 1 || n.stream(read.number) != read {
		t.Error("the stream was dropped while it had a reader")
	}
	detach()
	n.dropAllEnded()
	if texts, _, _, _ := read.after(0); len(texts) != 0 || n.stream(read.number) != nil {
		t.Error("the stream is kept without a reader")
	}
}

func TestEventIDs(t *testing.T) {
	for id, want := range map[string]bool{
		"0-0": true, "1-2": true, "18446744073709551615-18446744073709551615": true,
		"": false, "-": false, "1": false, "1-": false, "-1": false, "+1-1": false, "1-1-1": false, "1-0x1": false, "18446744073709551616-1": false,
	} {
		if _, _, ok := eventID(id); ok != want {
			t.Errorf("%q: %v", id, ok)
		}
	}
}

func testStates() *States {
	return &States{
		Secret:  func() ([]byte, error) { return []byte("secret"), nil },
		UseOnce: func(context.Context, string, time.Time, time.Time) (bool, error) { return true, nil },
		Now:     func() time.Time { return time.Unix(1_800_000_000, 0) },
	}
}

// TestStateOfAnotherSecret checks that a state of another server is rejected.
func TestStateOfAnotherSecret(t *testing.T) {
	ours, theirs := testStates(), testStates()
	theirs.Secret = func() ([]byte, error) { return []byte("another"), nil }
	sealed, err := theirs.seal(&state{Owner: "ann", Subject: []byte("s"), Approved: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ours.open(t.Context(), sealed, "ann", []byte("s")); err == nil {
		t.Error("a forged state was opened")
	}
	if st, err := theirs.open(t.Context(), sealed, "ann", []byte("s")); err != nil || !st.Approved {
		t.Errorf("its own: %v", err)
	}
	if bytes.Contains([]byte(sealed), []byte("ann")) {
		t.Error("the state can be read")
	}
}

// TestStateOfAnotherWorkspace checks that a state of another workspace is rejected.
func TestStateOfAnotherWorkspace(t *testing.T) {
	here, there := testStates(), testStates()
	here.Workspace, there.Workspace = "here", "there"
	sealed, err := there.seal(&state{Owner: "ann", Subject: []byte("s"), Approved: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := here.open(t.Context(), sealed, "ann", []byte("s")); err == nil {
		t.Error("a state of another place was opened")
	}
	if _, err := there.open(t.Context(), sealed, "ann", []byte("s")); err != nil {
		t.Errorf("its own: %v", err)
	}
}

// TestStateWithoutSecret checks that a missing secret is an error that does not reveal the cause.
func TestStateWithoutSecret(t *testing.T) {
	s := testStates()
	s.Secret = func() ([]byte, error) { return nil, errors.New("open /home/ann/.config: denied") }
	if _, err := s.seal(&state{}); err == nil || strings.Contains(toRPCError(err, modern).text, "/home") {
		t.Errorf("seal: %v", err)
	}
	if _, err := s.open(t.Context(), "x", "", nil); err == nil || strings.Contains(toRPCError(err, modern).text, "/home") {
		t.Errorf("open: %v", err)
	}
	s = testStates()
	s.UseOnce = func(context.Context, string, time.Time, time.Time) (bool, error) {
		return true, errors.New("disk full")
	}
	sealed, err := s.seal(&state{Subject: []byte("s")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.open(t.Context(), sealed, "", []byte("s")); err == nil || toRPCError(err, modern).code != codeInternal {
		t.Errorf("a state that cannot be spent was used: %v", err)
	}
}

// FuzzState checks that only the exact sealed string can be opened.
func FuzzState(f *testing.F) {
	s := testStates()
	// Every process has its own, so that seeds of other processes are not valid.
	secret := []byte(rand.Text())
	s.Secret = func() ([]byte, error) { return secret, nil }
	sealed, err := s.seal(&state{Owner: "ann", Subject: []byte("s"), Number: 1})
	if err != nil {
		f.Fatal(err)
	}
	for i, seed := range []string{sealed, "", "x", sealed + "=", sealed + "\n", strings.ToUpper(sealed), sealed[:len(sealed)-1]} {
		f.Add(seed, uint16(i), byte('A'))
	}
	f.Fuzz(func(t *testing.T, text string, at uint16, with byte) {
		changed := []byte(sealed)
		changed[int(at)%len(changed)] = with
		for _, text := range []string{text, string(changed), sealed + text, text + sealed} {
			st, err := s.open(t.Context(), text, "ann", []byte("s"))
			if err == nil && strings.NewReplacer("\n", "", "\r", "").Replace(text) != sealed {
				t.Errorf("%q opens as %+v", text, st)
			}
			var fault *rpcError
			if err != nil && (!errors.As(err, &fault) || fault.code != codeInvalidParams) {
				t.Errorf("%q: %v", text, err)
			}
		}
		if _, err := s.open(t.Context(), sealed, text, []byte("s")); err == nil && text != "ann" {
			t.Errorf("%q is accepted for ann", text)
		}
	})
}

// FuzzHeaders checks that encoded values round-trip, and that decoded values can be sent.
func FuzzHeaders(f *testing.F) {
	for _, seed := range []string{"", "plain", "é", " padded ", "=?base64?SGVsbG8=?=", "=?base64?SGVsbG8?=", "=?base64?=", "=?base64??=", "a\tb", "a\x7fb", "line1\nline2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		decoded, ok := decodeHeader(value)
		isEncoded := strings.HasPrefix(value, "=?base64?") && strings.HasSuffix(value[len("=?base64?"):], "?=")
		if ok && !isEncoded && decoded != value {
			t.Errorf("%q became %q", value, decoded)
		}
		if !ok && decoded != "" && !isEncoded {
			t.Errorf("%q is refused and gives %q", value, decoded)
		}
		encoded := "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
		if back, ok := decodeHeader(encoded); !ok || back != value {
			t.Errorf("%q encoded is %q, and that is %q", value, encoded, back)
		}
		number := jsontree.Value{Kind: jsontree.Number, Text: "42"}
		if sameText(value, &number) {
			var n float64
			if json.Unmarshal([]byte(value), &n) != nil || n != 42 {
				t.Errorf("%q is accepted for 42", value)
			}
		}
	})
}

// FuzzMessages checks that parsed messages match what encoding/json reads.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"\u0061","method":"ping","params":{}}`, `[{"jsonrpc":"2.0","method":"x"}]`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{}}`, `{"jsonrpc":"2.0","error":{}}`, `[]`, `{}`, `null`, `{"jsonrpc":"2.0","id":1e400,"method":"x"}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, batches bool) {
		all, batch, fault := readMessages(data, batches)
		if fault != nil {
			if len(all) != 0 {
				t.Errorf("%q: both messages and a fault", data)
			}
			for _, e := range []era{legacy, modern} {
				if reply := fault.reply(fault.id, e); !json.Valid(reply) || bytes.ContainsAny(reply, "\n\r") {
					t.Errorf("%q is refused with %q", data, reply)
				}
			}
			return
		}
		if len(all) == 0 || batch && !batches || !batch && len(all) != 1 {
			t.Fatalf("%q: %d messages, batch %v", data, len(all), batch)
		}
		if batch {
			return
		}
		m := all[0]
		var seen map[string]json.RawMessage
		if err := json.Unmarshal(data, &seen); err != nil {
			t.Fatalf("%q: others cannot read it: %v", data, err)
		}
		var method string
		_ = json.Unmarshal(seen["method"], &method)
		if method != m.method {
			t.Errorf("%q: method %q, others see %q", data, m.method, method)
		}
		if m.id == nil {
			if id := string(seen["id"]); id != "" && id != "null" {
				t.Errorf("%q: no id, others see %s", data, id)
			}
			return
		}
		if bytes.ContainsAny(m.id, "\n\r") || !json.Valid(m.id) {
			t.Errorf("%q: the id is %q", data, m.id)
		}
		var ours, theirs any
		if json.Unmarshal(m.id, &ours) == nil && json.Unmarshal(seen["id"], &theirs) == nil && ours != theirs {
			t.Errorf("%q: id %v, others see %v", data, ours, theirs)
		}
	})
}

// TestSalvageID checks that the id of a message that cannot be parsed is found, unless the message
// is large.
func TestSalvageID(t *testing.T) {
	message := func(size int) []byte { return []byte(`{"id":5,"x":"\ud800` + strings.Repeat("x", size) + `"}`) }
	if id := salvageID(message(100)); string(id) != "5" {
		t.Errorf("id %s, want 5", id)
	}
	if id := salvageID(message(maxSalvage)); id != nil {
		t.Errorf("a large message was decoded twice: id %s", id)
	}
}
