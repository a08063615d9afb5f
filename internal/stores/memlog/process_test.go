//go:build unix

package memlog_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"remit/internal/stores/memlog"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

const (
	roleEnv = "MEMLOG_TEST_ROLE"
	dirEnv  = "MEMLOG_TEST_DIR"
	tagEnv  = "MEMLOG_TEST_TAG"
)

// TestMain runs as the other process when a test starts one.
func TestMain(m *testing.M) {
	roles := map[string]func() error{"append": appendAndPrint, "seal": sealAndPrint, "fill": fillTheDisk}
	role := os.Getenv(roleEnv)
	if role == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := roles[role](); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process prepares a process with a role, which gets the arguments.
func process(role, dir, tag string, args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir, tagEnv+"="+tag)
	c.Stderr = os.Stderr
	return c
}

// appendAndPrint appends from several goroutines (first argument), several times each (second
// argument), and prints "number body" for each acknowledged entry.
func appendAndPrint() error {
	l := memlog.New(memlog.Options{Files: memlog.Dir(os.Getenv(dirEnv)), Name: name})
	callers, each := atoi(os.Args[1]), atoi(os.Args[2])
	var wg sync.WaitGroup
	var failed atomic.Value
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				body := fmt.Sprintf(`{"tag":%q,"caller":%d,"i":%d}`, os.Getenv(tagEnv), c, i)
				p, err := l.Append([]byte(body), true).Wait(context.Background())
				if err != nil {
					failed.Store(err)
					return
				}
				fmt.Printf("%d %s\n", p.Line, body)
			}
		})
	}
	wg.Wait()
	err, _ := failed.Load().(error)
	return errors.Join(err, l.Close())
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// acknowledged maps line numbers to the bodies that were acknowledged there.
type acknowledged map[int64]string

func (a acknowledged) add(t *testing.T, r io.Reader) {
	t.Helper()
	for s := bufio.NewScanner(r); s.Scan(); {
		a.addLine(t, s.Text())
	}
}

func (a acknowledged) addLine(t *testing.T, printed string) {
	t.Helper()
	number, body, _ := strings.Cut(printed, " ")
	n := int64(atoi(number))
	if other, taken := a[n]; taken {
		t.Fatalf("line %d was given to %s and to %s", n, other, body)
	}
	a[n] = body
}

// check compares the acknowledged entries with the file, in which each line must be valid JSON and
// occur only once.
func (a acknowledged) check(t *testing.T, path string) (lines int) {
	t.Helper()
	b := []byte(read(t, path))
	seen := map[string]bool{}
	number := int64(0)
	for line := range bytes.Lines(b) {
		number++
		line, complete := bytes.CutSuffix(line, []byte("\n"))
		switch {
		case !complete || !json.Valid(line):
			t.Fatalf("line %d is broken: %q", number, line)
		case seen[string(line)]:
			t.Fatalf("line %d is there twice: %q", number, line)
		}
		seen[string(line)] = true
		if body, ok := a[number]; ok && body != string(line) {
			t.Fatalf("line %d is %s, but %s was acknowledged there", number, line, body)
		}
	}
	for n, body := range a {
		if n > number {
			t.Fatalf("line %d (%s) was acknowledged and is lost", n, body)
		}
	}
	return int(number)
}

func TestSeveralProcesses(t *testing.T) {
	const processes, callers, each = 4, 8, 25
	dir := t.TempDir()
	var outputs [processes]bytes.Buffer
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			c := process("append", dir, fmt.Sprint(i), fmt.Sprint(callers), fmt.Sprint(each))
			c.Stdout = &outputs[i]
			if err := c.Run(); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	acked := acknowledged{}
	for i := range outputs {
		acked.add(t, &outputs[i])
	}
	same(t, "acknowledged", len(acked), processes*callers*each)
	same(t, "lines", acked.check(t, filepath.Join(dir, name)), processes*callers*each)
}

// TestKilledInTheMiddle kills one of two processes repeatedly. The other process must not be
// affected, and no acknowledged entry may be missing.
func TestKilledInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	acked := acknowledged{}
	survivor := process("append", dir, "survivor", "4", "100")
	var output bytes.Buffer
	survivor.Stdout = &output
	check(t, survivor.Start())
	for attempt := range 8 {
		killAfter(t, acked, process("append", dir, fmt.Sprint(attempt), "8", "1000000"), 1+attempt*17)
	}
	check(t, survivor.Wait())
	acked.add(t, &output)
	before := acked.check(t, filepath.Join(dir, name))

	p := put(t, open(t, dir, memlog.JSONLines), `{"last":true}`)
	same(t, "next line", p.Line, int64(before+1))
}

// killAfter kills a process when it has printed a number of entries.
func killAfter(t *testing.T, acked acknowledged, c *exec.Cmd, entries int) {
	t.Helper()
	out, err := c.StdoutPipe()
	check(t, err)
	check(t, c.Start())
	s := bufio.NewScanner(out)
	for i := 0; s.Scan(); i++ {
		acked.addLine(t, s.Text())
		if i == entries {
			check(t, c.Process.Kill())
		}
	}
	if err := c.Wait(); err == nil {
		t.Fatal("the process ended by itself")
	}
}

// chain is a seal like that of the audit log: each line contains its number and the hash of the
// line before it.
func chain(b, prev []byte, number int64, body []byte) []byte {
	return fmt.Appendf(b, `{"number":%d,"prev":"%s","body":%s}`, number, digest(prev), body)
}

func digest(line []byte) string {
	if line == nil {
		return "none"
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:8])
}

func sealAndPrint() error {
	l := memlog.New(memlog.Options{Files: memlog.Dir(os.Getenv(dirEnv)), Name: name, Seal: chain})
	for i := range 300 {
		l.Append(strconv.AppendInt(nil, int64(i), 10), i%10 == 0)
	}
	return l.Close()
}

func TestSealsChainAcrossProcesses(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			if err := process("seal", dir, fmt.Sprint(i)).Run(); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	checkChain(t, read(t, filepath.Join(dir, name)), 600)
}

func TestSealsChainOverEdits(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	l := openWith(t, memlog.Options{Files: memlog.Dir(dir), Name: name, Seal: chain})
	put(t, l, `1`)
	put(t, l, `2`)
	write(t, path, read(t, path)+`{"torn`)
	put(t, l, `3`)
	hand := string(chain(nil, []byte(lastLine(read(t, path))), 4, []byte(`"by hand"`)))
	write(t, path, read(t, path)+hand)
	same(t, "line", put(t, l, `5`).Line, 5)
	checkChain(t, read(t, path), 5)
}

func lastLine(content string) string {
	content = strings.TrimSuffix(content, "\n")
	return content[strings.LastIndexByte(content, '\n')+1:]
}

func checkChain(t *testing.T, content string, want int) {
	t.Helper()
	var prev []byte
	number := 0
	for line := range strings.Lines(content) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, fmt.Sprintf(`{"number":%d,"prev":"%s",`, number, digest(prev))) {
			t.Fatalf("line %d does not follow from the one before: %s", number, line)
		}
		prev = []byte(line)
	}
	same(t, "lines", number, want)
}

// fillTheDisk limits the size of files, so that a write fails half way as it does on a full disk.
// It prints the result of an append, and what the append left behind.
func fillTheDisk() error {
	signal.Ignore(unix.SIGXFSZ)
	dir := os.Getenv(dirEnv)
	l := memlog.New(memlog.Options{Files: memlog.Dir(dir), Name: name})
	var room unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &room); err != nil {
		return err
	}
	tight := unix.Rlimit{Cur: uint64(atoi(os.Args[1])), Max: room.Max}
	for _, limit := range []unix.Rlimit{tight, room} {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		p, err := l.Append([]byte(`{"long":"entry"}`), true).Wait(context.Background())
		log, _ := os.ReadFile(filepath.Join(dir, name))
		torn, _ := os.ReadFile(filepath.Join(dir, name) + ".torn")
		fmt.Printf("%v %v %q %q\n", p, errors.Is(err, unix.EFBIG), log, torn)
	}
	return l.Close()
}

func TestAFullDiskLeavesTheFileAsItWas(t *testing.T) {
	const long = `{\"long\":\"entry\"}\n`
	for _, c := range []struct {
		name, before string
		limit        int
		full, roomy  string
	}{
		{"whole lines", "{}\n{}\n", 16, `{0 0} true "{}\n{}\n" ""`, `{3 17} false "{}\n{}\n` + long + `" ""`},
		{"no room at all", "{}\n{}\n", 6, `{0 0} true "{}\n{}\n" ""`, `{3 17} false "{}\n{}\n` + long + `" ""`},
		{"a tail without newline", "{}\n{}", 15, `{0 0} true "{}\n{}" ""`, `{3 18} false "{}\n{}\n` + long + `" ""`},
		{"no room for a torn line", "{}\n{torn line", 5, `{0 0} true "{}\n{torn line" ""`, `{2 17} false "{}\n` + long + `" "{torn line\n"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, name), c.before)
			out, err := process("fill", dir, "", fmt.Sprint(c.limit)).Output()
			check(t, err)
			same(t, "printed", string(out), c.full+"\n"+c.roomy+"\n")
		})
	}
}

func TestSomethingElseThanAFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Mkdir(filepath.Join(dir, "memory"), 0o700))
	check(t, unix.Mkfifo(filepath.Join(dir, name), 0o600))
	l := open(t, dir, memlog.JSONLines)
	_, err := l.Append([]byte(`{}`), false).Wait(t.Context())
	if err == nil || err.Error() != "append to "+name+": check file type: not a regular file" {
		t.Fatalf("append to a pipe: %v", err)
	}
}
