package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// ack is an entry and the line number that the server acknowledged for it.
type ack struct {
	entry  string
	number int
}

// writer sends entries to one server and records which ones it acknowledges.
type writer struct {
	*stdioServer
	name    string
	tokens  chan struct{}     // if set, each call takes a token and its answer returns it
	sent    map[string]string // entry by call id
	order   []string          // ids in the order of sending
	numbers map[string]int    // acknowledged line numbers by call id
}

const memoryFile = "progress_log.jsonl"

// writer starts a server and waits until it is ready.
func (s *workspace) writer(name string) *writer {
	s.t.Helper()
	w := &writer{
		stdioServer: s.stdio("--toolsets", "learning-os", "--approve", "auto"),
		name:        name, sent: map[string]string{}, numbers: map[string]int{},
	}
	w.ask("ping", `{}`)
	return w
}

// sendAll sends n different entries without waiting for answers.
func (w *writer) sendAll(n int) error {
	for range n {
		if w.tokens != nil {
			<-w.tokens
		}
		w.last++
		id := fmt.Sprint(w.last)
		entry := fmt.Sprintf(`{"timestamp":"2026-01-09T10:30:00Z","type":"task","by":%q,"n":%s,"pad":%q}`, w.name, id, strings.Repeat("x", w.last%997))
		w.sent[id] = entry
		w.order = append(w.order, id)
		line := requestLine(id, "tools/call", fmt.Sprintf(`{"name":"write_memory_entry","arguments":{"file":%q,"entry":%s}}`, memoryFile, entry))
		if _, err := w.stdin.Write([]byte(line + "\n")); err != nil {
			return err
		}
	}
	return nil
}

// receive records one answer.
func (w *writer) receive(m message) {
	w.t.Helper()
	var body struct {
		Success bool `json:"success"`
		Number  int  `json:"line_number"`
	}
	if w.tokens != nil {
		w.tokens <- struct{}{}
	}
	got := w.result(m)
	if err := json.Unmarshal([]byte(got.text), &body); err != nil || got.failed || !body.Success || body.Number < 1 {
		w.t.Errorf("%s: %s", w.name, got.text)
		return
	}
	w.numbers[string(m.ID)] = body.Number
}

// limitInFlight limits how many calls a writer has in flight.
func (w *writer) limitInFlight(most int) {
	w.tokens = make(chan struct{}, most)
	for range most {
		w.tokens <- struct{}{}
	}
}

// receiveAll records answers until the server has ended. It kills the server after killAfter
// answers; 0 means never. Answers that were on their way by then count too.
func (w *writer) receiveAll(killAfter int) {
	w.t.Helper()
	for count := 1; ; count++ {
		line, open := w.line()
		if !open {
			return
		}
		if line[len(line)-1] != '\n' {
			return // the kill cut off this answer
		}
		w.receive(w.parse(line))
		if count == killAfter {
			w.workspace.check(w.cmd.Process.Kill())
		}
	}
}

// acks returns the acknowledged entries. Within one connection, line numbers must increase in the
// order of the calls.
func (w *writer) acks() []ack {
	w.t.Helper()
	var made []ack
	before := 0
	for _, id := range w.order {
		number, acknowledged := w.numbers[id]
		if !acknowledged {
			continue
		}
		if number <= before {
			w.t.Errorf("%s: call %s got number %d, an earlier one got %d", w.name, id, number, before)
		}
		before = number
		made = append(made, ack{w.sent[id], number})
	}
	return made
}

// checkKept fails the test unless every acknowledged entry is at its line, no two share a line
// number, and every line of the file is complete. A partial line at the end is allowed after a
// kill, because nobody got an acknowledgement for it.
func (s *workspace) checkKept(acks []ack) {
	s.t.Helper()
	lines, _ := s.logLines()
	taken := map[int]bool{}
	for _, p := range acks {
		switch {
		case taken[p.number]:
			s.t.Errorf("number %d was given twice", p.number)
		case p.number > len(lines):
			s.t.Errorf("line %d was acknowledged, but the file has %d", p.number, len(lines))
		case lines[p.number-1] != p.entry:
			s.t.Errorf("line %d is %s, want %s", p.number, clip(lines[p.number-1]), clip(p.entry))
		}
		taken[p.number] = true
	}
	seen := map[string]bool{}
	for i, line := range lines {
		if !json.Valid([]byte(line)) {
			s.t.Errorf("line %d is not JSON: %s", i+1, clip(line))
		}
		if seen[line] {
			s.t.Errorf("line %d is a duplicate: %s", i+1, clip(line))
		}
		seen[line] = true
	}
}

// logLines returns the complete lines of the file, and the rest after the last of them.
func (s *workspace) logLines() (lines []string, tail string) {
	s.t.Helper()
	lines = strings.Split(s.read(".claude/memory/"+memoryFile), "\n")
	last := len(lines) - 1
	return lines[:last], lines[last]
}

// checkAudited fails the test unless the hash chain is intact, every call that has begun has one
// outcome, and that of every acknowledged entry is ok. The calls of servers that were killed get
// theirs from "audit verify", unless another process was faster.
func (s *workspace) checkAudited(acks []ack) {
	s.t.Helper()
	s.verifyAudit()
	s.checkOutcomes()
	got := s.remit("audit", "list", "--json", "--limit", "100000", "--tool", "write_memory_entry", "--outcome", "ok")
	var records []struct {
		Arguments struct {
			Entry struct {
				Bytes  int    `json:"bytes"`
				SHA256 string `json:"sha256"`
			} `json:"entry"`
		} `json:"arguments"`
	}
	if err := json.Unmarshal([]byte(got.out), &records); err != nil {
		s.t.Fatalf("audit list: %v", err)
	}
	recorded := map[string]bool{}
	for _, r := range records {
		recorded[r.Arguments.Entry.SHA256] = true
	}
	for _, p := range acks {
		sum := sha256.Sum256([]byte(p.entry))
		if !recorded[hex.EncodeToString(sum[:8])] {
			s.t.Errorf("acknowledged, but no record says so: %s", clip(p.entry))
		}
	}
}

// TestTwoProcessesLoseNothing lets two processes write to one file as fast as they can: with all
// calls in flight, with 16, which makes many small batches that contend for the file, and with one.
func TestTwoProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	const each = 200
	for _, inFlight := range []int{each, 16, 1} {
		t.Run(fmt.Sprintf("%d in flight", inFlight), func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, nil)
			one, two := s.writer("one"), s.writer("two")
			var sending sync.WaitGroup
			for _, w := range []*writer{one, two} {
				w.limitInFlight(inFlight)
				sending.Go(func() {
					if err := w.sendAll(each); err != nil {
						t.Errorf("send: %v", err)
					}
					w.stdin.Close()
				})
			}
			receiveBoth(one, two)
			sending.Wait()
			var all []ack
			for _, w := range []*writer{one, two} {
				w.checkExit(0)
				made := w.acks()
				if len(made) != each {
					t.Errorf("%s: %d acknowledged, want %d", w.name, len(made), each)
				}
				all = append(all, made...)
			}
			s.checkKept(all)
			if lines, tail := s.logLines(); len(lines) != 2*each || tail != "" {
				t.Errorf("%d lines and %q, want %d", len(lines), tail, 2*each)
			}
			s.checkAudited(all)
		})
	}
}

// receiveBoth records the answers of two servers until both have ended.
func receiveBoth(one, two *writer) {
	one.t.Helper()
	left, right := one.lines, two.lines
	for left != nil || right != nil {
		w := one
		var line []byte
		var open bool
		select {
		case line, open = <-left:
			if !open {
				left = nil
			}
		case line, open = <-right:
			w = two
			if !open {
				right = nil
			}
		case <-time.After(timeout):
			one.t.Fatalf("no line from the servers before the timeout; stderr: %s%s", one.stderr, two.stderr)
		}
		if open {
			w.receive(w.parse(line))
		}
	}
}

// TestKilledProcessLosesNothing kills one process at different moments while another one writes.
// Acknowledged entries stay.
func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	const calls = 200
	s := newWorkspace(t, nil)
	var all []ack
	for round, killAfter := range []int{1, 7, 40, 100, 160} {
		victim, survivor := s.writer(fmt.Sprintf("victim%d", round)), s.writer(fmt.Sprintf("survivor%d", round))
		var sending sync.WaitGroup
		sending.Go(func() { _ = victim.sendAll(calls) }) // fails when the victim has been killed
		sending.Go(func() {
			if err := survivor.sendAll(calls / 4); err != nil {
				t.Errorf("the survivor cannot send: %v", err)
			}
			survivor.stdin.Close()
		})
		victim.receiveAll(killAfter)
		sending.Wait()
		survivor.receiveAll(0)
		survivor.checkExit(0)
		if got := len(survivor.numbers); got != calls/4 {
			t.Errorf("round %d: the survivor got %d of %d answers", round, got, calls/4)
		}
		if got := len(victim.numbers); got < killAfter {
			t.Errorf("round %d: killed too early, after %d answers", round, got)
		}
		all = append(append(all, victim.acks()...), survivor.acks()...)
		s.checkKept(all)
		s.checkAudited(all)
	}
	// A later process continues with the next line number.
	lines, tail := s.logLines()
	before := len(lines)
	if json.Valid([]byte(tail)) {
		before++ // only its newline is missing, and the next writer adds it
	}
	successor := s.writer("successor")
	s.check(successor.sendAll(3))
	successor.stdin.Close()
	successor.receiveAll(0)
	successor.checkExit(0)
	made := successor.acks()
	if got := []int{made[0].number, made[1].number, made[2].number}; !slices.Equal(got, []int{before + 1, before + 2, before + 3}) {
		t.Errorf("after %d lines the next numbers are %v", before, got)
	}
	s.checkKept(append(all, made...))
	s.checkAudited(append(all, made...))
	if _, tail := s.logLines(); tail != "" {
		t.Errorf("the file ends in a partial line: %s", clip(tail))
	}
}

// TestTornTailIsSetAside checks that a partial line which a crash left behind is moved to another
// file, and does not affect later lines. The same holds for audit records.
func TestTornTailIsSetAside(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	first := s.writer("first")
	s.check(first.sendAll(2))
	first.stdin.Close()
	first.receiveAll(0)
	first.checkExit(0)

	const fragment = `{"timestamp":"2026-01-09T10:30:00Z","ty`
	log := s.path(".claude/memory/" + memoryFile)
	s.append(log, fragment)
	days, err := filepath.Glob(s.path(".remit/audit/*.jsonl"))
	if err != nil || len(days) == 0 {
		t.Fatalf("no audit record: %v", err)
	}
	day := days[len(days)-1]
	s.append(day, `{"time":"2026-01-`)
	s.verifyAudit() // a crash does not count as tampering

	second := s.writer("second")
	s.check(second.sendAll(2))
	second.stdin.Close()
	second.receiveAll(0)
	second.checkExit(0)

	all := append(first.acks(), second.acks()...)
	if len(all) != 4 || all[2].number != 3 {
		t.Errorf("the torn line was counted: %v", all)
	}
	s.checkKept(all)
	s.checkAudited(all)
	for file, want := range map[string]string{log: fragment, day: `{"time":"2026-01-`} {
		kept, err := os.ReadFile(file + ".torn")
		if err != nil || strings.TrimSuffix(string(kept), "\n") != want {
			t.Errorf("the fragment is not kept: %q, %v", kept, err)
		}
	}
}

func (s *workspace) append(name, text string) {
	s.t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	s.check(err)
	_, err = f.WriteString(text)
	s.check(err)
	s.check(f.Close())
}
