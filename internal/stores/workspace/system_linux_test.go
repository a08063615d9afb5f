package workspace_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"remit/internal/contract"
)

// Files of the proc file system report size zero but have content, like a file that grows between
// Stat and Read.
func TestFileLargerThanItSays(t *testing.T) {
	root := open(t, "/proc/self")
	policy := &contract.PathPolicy{Max: 16}
	got := read(root, "status", policy)
	want := refusal(contract.TooLarge, "status is 17 bytes; at most 16 bytes can be read", "status")
	want.Details["size"], want.Details["max"] = int64(17), int64(16)
	check(t, got, want)

	if got := read(root, "status", &contract.PathPolicy{}); !strings.Contains(got.Content, "VmRSS") {
		t.Errorf("without a limit: %+v", got)
	}
	check(t, read(root, "exe", policy), denied("exe"))           // a link out of the root
	check(t, read(root, "root/etc", policy), denied("root/etc")) // a link to the host's root
}

func TestDevice(t *testing.T) {
	dir := realTemp(t)
	zero := int(unix.Mkdev(1, 5))
	if err := unix.Mknod(filepath.Join(dir, "zero"), unix.S_IFCHR|0o666, zero); err != nil {
		t.Skipf("only root can make a device: %v", err)
	}
	check(t, read(open(t, dir), "zero", anywhere()), refusal(contract.Invalid, "zero is not a regular file", "zero"))
}

// No call leaves a descriptor open, whatever its result.
func TestNothingStaysOpen(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "docs/sub/deep/a.md=A", "docs/l->sub/deep/../deep/a.md", "docs/out->../..", "docs/loop->loop", "docs/abs->ROOT/docs/sub",
		"big="+strings.Repeat("x", 2000), "hid/x=S", "mem->docs")
	root := open(t, dir, filepath.Join(dir, "hid"))
	names := []string{"docs/sub/deep/a.md", "docs/l", "docs/out/x/y", "docs/loop/x", "docs/abs/deep/a.md", "docs/abs/deep/a.md/x", "big", "docs", "hid/x", "docs/sub/none"}

	before := openDescriptors(t)
	for range 20 {
		for _, name := range names {
			read(root, name, anywhere())
		}
		if file, err := root.OpenAppend("mem/a/b"); err == nil {
			t.Error("appended through a link")
			_ = file.Close()
		}
	}
	if after := openDescriptors(t); after > before+5 { // the runtime may open a few of its own
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestSystemRefuses(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "closed.md=S", "passable/a.md=A", "locked/a.md=S")
	for name, mode := range map[string]os.FileMode{"closed.md": 0, "passable": 0o711, "locked": 0o600} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	root := open(t, dir)
	asNobody(t, func() {
		check(t, read(root, "closed.md", anywhere()), denied("closed.md"))
		check(t, read(root, "passable/a.md", anywhere()), answer{Content: "A", Resolved: "passable/a.md"})
		check(t, read(root, "locked/a.md", anywhere()), denied("locked/a.md"))
		check(t, read(root, "locked/none.md", anywhere()), denied("locked/none.md"))
	})
}

// asNobody runs f without the rights of root, if we have them. Linux keeps the user id for file
// access per thread, so the thread is locked until the id is restored.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	const nobody = 65534
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SetfsuidRetUid(nobody)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.SetfsuidRetUid(before) // cannot fail for root
	f()
}
