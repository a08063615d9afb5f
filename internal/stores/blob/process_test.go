//go:build unix

package blob_test

import (
	"bufio"
	"bytes"
	"context"
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
	"syscall"
	"testing"

	"remit/internal/stores/blob"
	"remit/internal/toolsets/books"
	"remit/internal/toolsets/books/bookstest"

	"golang.org/x/sys/unix"
)

const (
	roleEnv = "BLOB_TEST_ROLE"
	dirEnv  = "BLOB_TEST_DIR"
)

// TestMain runs as the other process when a test starts one.
func TestMain(m *testing.M) {
	roles := map[string]func(d *blob.Disk, args []string) error{"count": count, "race": race, "write": writeAndPrint, "fill": fillTheDisk}
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	d, err := blob.OpenDisk(os.Getenv(dirEnv))
	if err == nil {
		err = roles[role](d, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process prepares a process with a role, which gets the arguments.
func process(role, dir string, args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir)
	c.Stderr = os.Stderr
	return c
}

const counter = "books/b/counter"

// count increments a number 8 times from each of 8 goroutines.
func count(d *blob.Disk, _ []string) error {
	return atOnce(8, func(int) error {
		for range 8 {
			if err := bookstest.Increment(context.Background(), d, counter); err != nil {
				return err
			}
		}
		return nil
	})
}

func atOnce(n int, f func(i int) error) error {
	var wg sync.WaitGroup
	failed := make([]error, n)
	for i := range n {
		wg.Go(func() { failed[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(failed...)
}

func TestNoIncrementIsLostOverProcesses(t *testing.T) {
	dir := t.TempDir()
	d := openDisk(t, dir)
	check(t, put(d, counter, "0", books.Cond{}))
	check(t, atOnce(4, func(int) error { return process("count", dir).Run() }))
	got, err := get(d, counter)
	check(t, err)
	equal(t, got, "256")
	equal(t, files(t, dir), []string{counter})
}

// race prints that it is ready, waits for a line, and then writes from 4 goroutines with the same
// condition. It prints which of them succeeded.
func race(d *blob.Disk, args []string) error {
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	return atOnce(4, func(i int) error {
		me := args[0] + "-" + strconv.Itoa(i)
		err := put(d, counter, me, books.Cond{Hash: bookstest.HashOf("before")})
		if err == nil {
			fmt.Println(me)
		}
		if errors.Is(err, books.ErrConflict) {
			return nil
		}
		return err
	})
}

func TestOfRacersInProcessesOneWins(t *testing.T) {
	dir := t.TempDir()
	d := openDisk(t, dir)
	check(t, put(d, counter, "before", books.Cond{}))
	var racers [4]*exec.Cmd
	var starts [4]io.WriteCloser
	var outputs [4]*bufio.Reader
	for i := range racers {
		racers[i] = process("race", dir, strconv.Itoa(i))
		starts[i], _ = racers[i].StdinPipe()
		out, _ := racers[i].StdoutPipe()
		outputs[i] = bufio.NewReader(out)
		check(t, racers[i].Start())
	}
	for i := range racers {
		_, err := outputs[i].ReadString('\n')
		check(t, err)
	}
	for i := range racers {
		_, err := io.WriteString(starts[i], "\n")
		check(t, err)
	}
	var winners []string
	for i := range racers {
		out, err := io.ReadAll(outputs[i])
		check(t, err)
		check(t, racers[i].Wait())
		winners = append(winners, strings.Fields(string(out))...)
	}
	got, err := get(d, counter)
	check(t, err)
	equal(t, winners, []string{got})
}

// version returns the n-th content of an object: long, and uniform.
func version(object, n int) string {
	return strings.Repeat(fmt.Sprintf("%d of %d\n", n, object), 2000)
}

const writers = 4

// writeAndPrint replaces an object from each of several goroutines, and prints each acknowledged
// write, until it is killed.
func writeAndPrint(d *blob.Disk, args []string) error {
	from, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	return atOnce(writers, func(object int) error {
		for n := from; ; n++ {
			if err := put(d, fmt.Sprintf("books/b/%d", object), version(object, n), books.Cond{}); err != nil {
				return err
			}
			fmt.Printf("%d %d\n", object, n)
		}
	})
}

// TestKilledInTheMiddle kills a writing process repeatedly, after 1,000 writes in total. Each
// object must then hold the acknowledged content or a later one, completely, and no lock may
// remain.
func TestKilledInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	d := openDisk(t, dir)
	const attempts = 10
	last := [writers]int{}
	for object := range last {
		check(t, put(d, fmt.Sprintf("books/b/%d", object), version(object, 0), books.Cond{}))
	}
	for attempt := range attempts {
		killAfter(t, process("write", dir, strconv.Itoa(1000*(attempt+1))), 100+attempt, &last)
		for object, acknowledged := range last {
			got, err := get(d, fmt.Sprintf("books/b/%d", object))
			check(t, err)
			// The write that was in progress has not been acknowledged.
			if got != version(object, acknowledged) && got != version(object, acknowledged+1) && got != version(object, 1000*(attempt+1)) {
				t.Fatalf("attempt %d: object %d begins with %.20q, %d was acknowledged", attempt, object, got, acknowledged)
			}
			check(t, put(d, fmt.Sprintf("books/b/%d", object), version(object, acknowledged), books.Cond{Hash: bookstest.HashOf(got)}))
		}
	}
	equal(t, keys(t, d), []string{"books/b/0", "books/b/1", "books/b/2", "books/b/3"})
}

// killAfter kills a process after it has printed a number of writes, and records the last write of
// each object.
func killAfter(t *testing.T, c *exec.Cmd, writes int, last *[writers]int) {
	t.Helper()
	out, err := c.StdoutPipe()
	check(t, err)
	check(t, c.Start())
	s := bufio.NewScanner(out)
	for i := 1; s.Scan(); i++ {
		var object, n int
		if _, err := fmt.Sscan(s.Text(), &object, &n); err != nil {
			t.Fatalf("unexpected output %q", s.Text())
		}
		last[object] = n
		if i == writes {
			check(t, c.Process.Kill())
		}
	}
	if err := c.Wait(); err == nil {
		t.Fatal("the process ended by itself")
	}
}

// fillTheDisk limits the size of files, so that a write fails half way as it does on a full disk.
// It prints the results of the writes.
func fillTheDisk(d *blob.Disk, _ []string) error {
	signal.Ignore(unix.SIGXFSZ)
	var room unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &room); err != nil {
		return err
	}
	tight := unix.Rlimit{Cur: 100_000, Max: room.Max}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &tight); err != nil {
		return err
	}
	large := strings.Repeat("x", 200_000)
	for _, key := range []string{"books/b/there", "books/new/x"} {
		fmt.Println(errors.Is(put(d, key, large, books.Cond{}), unix.EFBIG))
	}
	fmt.Println(errors.Is(d.Copy(context.Background(), "books/b/large", "books/new/y", bookstest.HashOf(large)), unix.EFBIG))
	return nil
}

func TestAFileThatGrowsTooLarge(t *testing.T) {
	dir := t.TempDir()
	d := openDisk(t, dir)
	check(t, put(d, "books/b/there", "old", books.Cond{}))
	check(t, put(d, "books/b/large", strings.Repeat("x", 200_000), books.Cond{}))
	out, err := process("fill", dir).Output()
	check(t, err)
	equal(t, string(out), "true\ntrue\ntrue\n")
	equal(t, files(t, dir), []string{"books/b/large", "books/b/there"})
	got, err := get(d, "books/b/there")
	check(t, err)
	equal(t, got, "old")
}

// TestAFullDisk fills a file system of 2 MiB, and continues when there is space again.
func TestAFullDisk(t *testing.T) {
	dir := mountSmall(t)
	d := openDisk(t, filepath.Join(dir, "library"))
	large := strings.Repeat("x", 300<<10)
	var kept []string
	var full error
	for i := 0; full == nil; i++ {
		key := fmt.Sprintf("books/b/%02d/x", i)
		if full = put(d, key, large, books.Cond{}); full == nil {
			kept = append(kept, key)
		}
	}
	equal(t, errors.Is(full, syscall.ENOSPC), true)
	equal(t, errors.Is(put(d, kept[0], large, books.Cond{Hash: bookstest.HashOf(large)}), syscall.ENOSPC), true)
	equal(t, keys(t, d), kept)
	equal(t, files(t, filepath.Join(dir, "library")), kept)
	for _, key := range kept {
		got, err := get(d, key)
		check(t, err)
		equal(t, got == large, true)
	}
	_, err := d.Delete(t.Context(), kept[0], books.Cond{})
	check(t, err)
	check(t, put(d, kept[1], strings.Repeat("y", 300<<10), books.Cond{}))
}

// mustFail attempts every kind of write on a disk that accepts none: each must fail with the error
// of the system, and existing objects must stay unchanged.
func mustFail(t *testing.T, d *blob.Disk, want error) {
	t.Helper()
	_, deleted := d.Delete(t.Context(), "books/b/there", books.Cond{})
	for act, err := range map[string]error{
		"create": put(d, "books/b/new", "x", books.Cond{}), "create a folder": put(d, "books/c/new", "x", books.Cond{}),
		"replace": put(d, "books/b/there", "x", books.Cond{}), "delete": deleted,
		"copy": d.Copy(t.Context(), "books/b/there", "books/b/copy", bookstest.HashOf("old")),
	} {
		if !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", act, err, want)
		}
	}
	equal(t, keys(t, d), []string{"books/b/there"})
	got, err := get(d, "books/b/there")
	check(t, err)
	equal(t, got, "old")
	if existed, err := d.Delete(t.Context(), "books/b/none", books.Cond{}); existed || err != nil {
		t.Errorf("delete nothing: existed %v, error %v", existed, err)
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	library := filepath.Join(dir, "library")
	write(t, dir, "outside/secret", "s")
	write(t, library, "books/b/x", "x")
	for name, target := range map[string]string{
		"books/out": filepath.Join(dir, "outside"), "books/b/out": "../../../outside", "books/b/file": filepath.Join(dir, "outside/secret"),
		"books/b/in": "x", "books/inside": "b", "books/b/none": "nowhere", "books/b/loop": "loop",
	} {
		check(t, os.Symlink(target, filepath.Join(library, name)))
	}
	check(t, unix.Mkfifo(filepath.Join(library, "books/b/pipe"), 0o644))
	d := openDisk(t, library)
	equal(t, keys(t, d), []string{"books/b/x"})
	for _, key := range []string{
		"books/out/secret", "books/b/out/secret", "books/b/file", "books/b/in", "books/inside/x", "books/b/none", "books/b/loop", "books/b/loop/x", "books/out", "books/b/pipe",
	} {
		_, err := get(d, key)
		equal(t, errors.Is(err, books.ErrNotFound), true)
		if err := put(d, key, "new", books.Cond{}); !errors.Is(err, books.ErrPathConflict) {
			t.Errorf("put %s: error %v", key, err)
		}
		equal(t, errors.Is(put(d, key, "new", books.Cond{Hash: bookstest.HashOf("s")}), books.ErrConflict), true)
		if existed, err := d.Delete(t.Context(), key, books.Cond{}); existed || err != nil {
			t.Errorf("delete %s: existed %v, error %v", key, existed, err)
		}
		for o, err := range d.List(t.Context(), key+"/") {
			t.Errorf("list %s/: %+v, error %v", key, o, err)
		}
	}
	equal(t, errors.Is(put(d, "books/out/new", "x", books.Cond{}), books.ErrPathConflict), true)
	secret, err := os.ReadFile(filepath.Join(dir, "outside/secret"))
	check(t, err)
	equal(t, string(secret), "s")
	equal(t, files(t, filepath.Join(dir, "outside")), []string{"secret"})

	// A link to the folder itself is allowed, because its owner created it.
	check(t, os.Symlink(library, filepath.Join(dir, "link")))
	got, err := get(openDisk(t, filepath.Join(dir, "link")), "books/b/x")
	check(t, err)
	equal(t, got, "x")
}

// TestNothingStaysOpen checks that no call leaks a descriptor, whatever its result.
func TestNothingStaysOpen(t *testing.T) {
	d := openDisk(t, t.TempDir())
	all := func() {
		check(t, put(d, "books/b/c/x", "x", books.Cond{}))
		_ = put(d, "books/b/c/x/y", "x", books.Cond{})
		_ = put(d, "books/b/c", "x", books.Cond{})
		_ = put(d, "books/b/c/x", "y", books.Cond{Absent: true})
		_, _, _ = d.Put(t.Context(), "books/b/d/y", bytes.NewReader(nil), 1, books.Cond{})
		_, _ = get(d, "books/b/c/x")
		_, _ = get(d, "books/b/c")
		_ = d.Copy(t.Context(), "books/b/c/x", "books/b/copy", "")
		for range d.List(t.Context(), "") {
			break
		}
		_, _ = d.Delete(t.Context(), "books/b/c/x", books.Cond{Hash: "other"})
		_, _ = d.Delete(t.Context(), "books/b/c/x", books.Cond{})
	}
	all()
	before := openDescriptors(t)
	for range 20 {
		all()
	}
	if after := openDescriptors(t); after > before+5 { // the runtime may open a few of its own
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	check(t, err)
	return len(entries)
}
