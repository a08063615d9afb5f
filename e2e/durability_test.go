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

// promise is an entry whose place the server has acknowledged.
type promise struct {
	entry  string
	number int
}

// writer sends entries to one server and notes what it acknowledges.
type writer struct {
	*server
	name    string
	tokens  chan struct{}     // if set, each call takes one and its answer gives it back
	sent    map[string]string // entry by id of the call
	order   []string          // ids as they were sent
	numbers map[string]int    // acknowledged, by id
}

const memoryFile = "progress_log.jsonl"

// writer starts a server, and returns when it is up.
func (s *space) writer(name string) *writer {
	s.t.Helper()
	w := &writer{
		server: s.stdio("--toolsets", "learning-os", "--approve", "auto"),
		name:   name, sent: map[string]string{}, numbers: map[string]int{},
	}
	w.ask("ping", `{}`)
	return w
}

// sendAll pipelines n entries, no two of which are alike.
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

// take notes one answer.
func (w *writer) take(m message) {
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

// atOnce lets a writer have no more than so many calls under way.
func (w *writer) atOnce(most int) {
	w.tokens = make(chan struct{}, most)
	for range most {
		w.tokens <- struct{}{}
	}
}

// takeAll notes answers until the server is gone, and kills it after the first so
// many (0: never). What was on its way by then was acknowledged as well.
func (w *writer) takeAll(killAfter int) {
	w.t.Helper()
	for count := 1; ; count++ {
		line, open := w.line()
		if !open {
			return
		}
		if line[len(line)-1] != '\n' {
			return // the kill cut the answer itself; nobody could read it
		}
		w.take(w.parse(line))
		if count == killAfter {
			w.space.check(w.cmd.Process.Kill())
		}
	}
}

// promises lists what was acknowledged. Within one connection the numbers rise in
// the order in which the calls were sent.
func (w *writer) promises() []promise {
	w.t.Helper()
	var made []promise
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
		made = append(made, promise{w.sent[id], number})
	}
	return made
}

// keeps fails the test unless every promise is kept: each line is where it was
// said to be, no two share a number, and every line of the file is whole. What a
// kill has left behind the last line was promised to nobody.
func (s *space) keeps(promises []promise) {
	s.t.Helper()
	lines, _ := s.logged()
	taken := map[int]bool{}
	for _, p := range promises {
		switch {
		case taken[p.number]:
			s.t.Errorf("number %d was given twice", p.number)
		case p.number > len(lines):
			s.t.Errorf("line %d was acknowledged, but the file has %d", p.number, len(lines))
		case lines[p.number-1] != p.entry:
			s.t.Errorf("line %d is %s, acknowledged was %s", p.number, clip(lines[p.number-1]), clip(p.entry))
		}
		taken[p.number] = true
	}
	seen := map[string]bool{}
	for i, line := range lines {
		if !json.Valid([]byte(line)) {
			s.t.Errorf("line %d is not JSON: %s", i+1, clip(line))
		}
		if seen[line] {
			s.t.Errorf("line %d is there twice: %s", i+1, clip(line))
		}
		seen[line] = true
	}
}

// logged gives the whole lines of the file, and what follows the last of them.
func (s *space) logged() (lines []string, tail string) {
	s.t.Helper()
	lines = strings.Split(s.read(".claude/memory/"+memoryFile), "\n")
	last := len(lines) - 1
	return lines[:last], lines[last]
}

// audited fails the test unless the hash chain is intact and every promise is on record.
func (s *space) audited(promises []promise) {
	s.t.Helper()
	s.auditHolds()
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
	for _, p := range promises {
		sum := sha256.Sum256([]byte(p.entry))
		if !recorded[hex.EncodeToString(sum[:8])] {
			s.t.Errorf("acknowledged, but not on record: %s", clip(p.entry))
		}
	}
}

// Two processes write to one file as fast as they can: everything at once, and as
// sixteen callers do, which makes many small batches that contend for the file.
func TestTwoProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	const each = 200
	for _, atOnce := range []int{each, 16, 1} {
		t.Run(fmt.Sprintf("%d at once", atOnce), func(t *testing.T) {
			t.Parallel()
			s := newSpace(t, nil)
			one, two := s.writer("one"), s.writer("two")
			var sending sync.WaitGroup
			for _, w := range []*writer{one, two} {
				w.atOnce(atOnce)
				sending.Go(func() {
					if err := w.sendAll(each); err != nil {
						t.Errorf("send: %v", err)
					}
					w.stdin.Close()
				})
			}
			takeBoth(one, two)
			sending.Wait()
			var all []promise
			for _, w := range []*writer{one, two} {
				w.exited(0)
				made := w.promises()
				if len(made) != each {
					t.Errorf("%s: %d acknowledged, want %d", w.name, len(made), each)
				}
				all = append(all, made...)
			}
			s.keeps(all)
			if lines, tail := s.logged(); len(lines) != 2*each || tail != "" {
				t.Errorf("%d lines and %q, want %d", len(lines), tail, 2*each)
			}
			s.audited(all)
		})
	}
}

// takeBoth notes the answers of two servers as they come, until both are gone.
func takeBoth(one, two *writer) {
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
		case <-time.After(patience):
			one.t.Fatalf("the servers say nothing; stderr: %s%s", one.stderr, two.stderr)
		}
		if open {
			w.take(w.parse(line))
		}
	}
}

// One process is killed in the middle, again and again and each time at another
// moment, while another goes on. What was acknowledged stays.
func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	const calls = 200
	s := newSpace(t, nil)
	var all []promise
	for round, killAfter := range []int{1, 7, 40, 100, 160} {
		victim, witness := s.writer(fmt.Sprintf("victim%d", round)), s.writer(fmt.Sprintf("witness%d", round))
		var sending sync.WaitGroup
		sending.Go(func() { _ = victim.sendAll(calls) }) // it fails when the victim is gone
		sending.Go(func() {
			if err := witness.sendAll(calls / 4); err != nil {
				t.Errorf("the witness cannot send: %v", err)
			}
			witness.stdin.Close()
		})
		victim.takeAll(killAfter)
		sending.Wait()
		witness.takeAll(0)
		witness.exited(0)
		if got := len(witness.numbers); got != calls/4 {
			t.Errorf("round %d: the witness got %d of %d answers", round, got, calls/4)
		}
		if got := len(victim.numbers); got < killAfter {
			t.Errorf("round %d: killed too early, after %d answers", round, got)
		}
		all = append(append(all, victim.promises()...), witness.promises()...)
		s.keeps(all)
		s.audited(all)
	}
	// A later process goes on where they ended.
	lines, tail := s.logged()
	before := len(lines)
	if json.Valid([]byte(tail)) {
		before++ // only its newline is missing, and that is made up for
	}
	heir := s.writer("heir")
	s.check(heir.sendAll(3))
	heir.stdin.Close()
	heir.takeAll(0)
	heir.exited(0)
	made := heir.promises()
	if got := []int{made[0].number, made[1].number, made[2].number}; !slices.Equal(got, []int{before + 1, before + 2, before + 3}) {
		t.Errorf("after %d lines the next ones are %v", before, got)
	}
	s.keeps(append(all, made...))
	s.audited(append(all, made...))
	if _, tail := s.logged(); tail != "" {
		t.Errorf("the file ends within a line: %s", clip(tail))
	}
}

// What a crash left of a line that nobody was promised is set aside, not lost and
// not in the way. The audit record is mended in the same manner.
func TestTornTailIsSetAside(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	first := s.writer("first")
	s.check(first.sendAll(2))
	first.stdin.Close()
	first.takeAll(0)
	first.exited(0)

	const fragment = `{"timestamp":"2026-01-09T10:30:00Z","ty`
	log := s.path(".claude/memory/" + memoryFile)
	s.append(log, fragment)
	days, err := filepath.Glob(s.path(".remit/audit/*.jsonl"))
	if err != nil || len(days) == 0 {
		t.Fatalf("no audit record: %v", err)
	}
	day := days[len(days)-1]
	s.append(day, `{"time":"2026-01-`)
	s.auditHolds() // a crash is no forgery

	second := s.writer("second")
	s.check(second.sendAll(2))
	second.stdin.Close()
	second.takeAll(0)
	second.exited(0)

	all := append(first.promises(), second.promises()...)
	if len(all) != 4 || all[2].number != 3 {
		t.Errorf("the torn line was counted: %v", all)
	}
	s.keeps(all)
	s.audited(all)
	for file, want := range map[string]string{log: fragment, day: `{"time":"2026-01-`} {
		kept, err := os.ReadFile(file + ".torn")
		if err != nil || strings.TrimSuffix(string(kept), "\n") != want {
			t.Errorf("the fragment is not kept: %q, %v", kept, err)
		}
	}
}

func (s *space) append(name, text string) {
	s.t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	s.check(err)
	_, err = f.WriteString(text)
	s.check(err)
	s.check(f.Close())
}
