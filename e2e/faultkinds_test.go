//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"remit/internal/stores/blob/s3test"
	"remit/internal/stores/sqlstore/pgtest"
)

const oneServer = "the server"

// newDiskBed returns one server on SQLite and a library on disk, on a file system of its own if
// that can be mounted.
func newDiskBed(t *testing.T, random *rand.Rand) *faultBed {
	t.Helper()
	s := newWorkspace(t, nil)
	small := mountOwn(t, s.root, "300m")
	b, one := newLocalBed(s, random)
	full := []disturbance{one.limitFiles()}
	if small {
		full = append(full, fillDisk(t, "the disk", s.root))
	}
	b.faults = [][]disturbance{{one.kill(oneServer)}, {one.pause(oneServer)}, full}
	return b
}

// newFolderBed returns one server whose folders go away.
func newFolderBed(t *testing.T, random *rand.Rand) *faultBed {
	t.Helper()
	s := newWorkspace(t, nil)
	canMount := mountOwn(t, s.root, "300m")
	b, one := newLocalBed(s, random)
	away := []disturbance{one.moveAway(".remit/library"), one.moveAway(".claude"), one.moveAway(".claude/memory")}
	if canMount {
		away = append(away, one.unmount(".remit"))
	} else {
		away = append(away, one.moveAway(".remit"))
	}
	b.faults = [][]disturbance{away, away, {one.kill(oneServer)}}
	return b
}

func newLocalBed(s *workspace, random *rand.Rand) (*faultBed, *faultServer) {
	s.faultSettings()
	one := &faultServer{workspace: s, args: faultArgs()}
	return &faultBed{
		t: s.t, rand: random, servers: []*faultServer{one}, audit: s.remit, chain: s.auditLines,
		stored: func() (*storedState, error) { return readDisk(s.t, s) },
	}, one
}

// faultSettings gives the workspace keys of its own and deadlines that a fault can exceed.
func (s *workspace) faultSettings() {
	s.ownKeys()
	s.env = append(s.env, "REMIT_DEADLINE_FACTOR=1")
}

// faultArgs are the arguments of every server of a run.
func faultArgs(more ...string) []string {
	return append([]string{"--toolsets", "tasks,learning-os,books", "--approve", "auto", "--rate-limits", "off"}, more...)
}

// moveAway returns the fault of a folder that is away for a while. Whatever was made in its place
// is removed when it is back: nothing that was acknowledged may be there.
func (f *faultServer) moveAway(folder string) disturbance {
	from, away := f.path(folder), f.path(folder+".away")
	moved := false
	begin := func() {
		err := os.Rename(from, away)
		moved = err == nil
		if !moved && !errors.Is(err, fs.ErrNotExist) {
			f.t.Fatal(err)
		}
	}
	end := func() {
		if !moved {
			return
		}
		err := unix.Renameat2(unix.AT_FDCWD, away, unix.AT_FDCWD, from, unix.RENAME_EXCHANGE)
		if errors.Is(err, fs.ErrNotExist) {
			err = os.Rename(away, from)
		}
		f.check(err)
		f.check(os.RemoveAll(away))
	}
	return disturbance{name: "move " + folder + " away", what: "a folder", begin: begin, end: end}
}

// unmount mounts a folder, and returns the fault of that folder being unmounted for a while.
func (f *faultServer) unmount(folder string) disturbance {
	disk, at := f.t.TempDir(), f.path(folder)
	f.check(os.Mkdir(at, 0o755))
	end := func() { f.check(unix.Mount(disk, at, "", unix.MS_BIND, "")) }
	begin := func() { f.check(unix.Unmount(at, unix.MNT_DETACH)) }
	end()
	f.t.Cleanup(begin)
	return disturbance{name: "unmount " + folder, what: "a folder", begin: begin, end: end}
}

// limitFiles returns the fault of a quota: writes fail beyond a size, and may be cut there.
func (f *faultServer) limitFiles() disturbance {
	limit := func(size uint64) {
		err := unix.Prlimit(f.running.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) { // it may be killed
			f.t.Fatal(err)
		}
	}
	return disturbance{
		name: "limit the size of files", what: "the disk",
		begin: func() { limit(20_000) }, end: func() { limit(unix.RLIM_INFINITY) },
	}
}

// mountOwn mounts a file system of its own on a folder. It returns false if it cannot.
func mountOwn(t *testing.T, folder, size string) bool {
	t.Helper()
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, "size="+size); err != nil {
		note(t, "NOT RUN: faults of a full disk: no file system can be mounted here: %v", err)
		return false
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return true
}

// fillDisk returns the fault of a file system that is full.
func fillDisk(t *testing.T, name, folder string) disturbance {
	ballast := filepath.Join(folder, "ballast")
	begin := func() {
		f, err := os.Create(ballast)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for size := 1 << 20; size > 0; size /= 2 {
			for err = nil; err == nil; {
				_, err = f.Write(make([]byte, size))
			}
		}
	}
	end := func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
	return disturbance{name: "fill " + name, what: name, begin: begin, end: end, first: true}
}

// newReplicaBed returns three servers that share PostgreSQL and S3. Each reaches them through
// relays of its own.
func newReplicaBed(t *testing.T, random *rand.Rand) *faultBed {
	t.Helper()
	b := &faultBed{t: t, rand: random}
	diskOfPG, diskOfS3 := shortFolder(t), t.TempDir()
	size := "400m"
	if os.Getenv("REMIT_FULL") == "true" {
		size = "1g" // for 50,000 changes
	}
	small := mountOwn(t, diskOfPG, size) && mountOwn(t, diskOfS3, size)
	pg, s3 := pgtest.NewIn(t, diskOfPG), s3test.New(t, diskOfS3)
	bucket := s3.Bucket(t)
	ofPG := []disturbance{
		{name: "pause PostgreSQL", what: "PostgreSQL", begin: func() { pg.Pause(t) }, end: func() { pg.Resume(t) }},
		{name: "kill PostgreSQL", what: "PostgreSQL", begin: func() { pg.Kill(t) }, end: func() { pg.Start(t) }},
	}
	ofS3 := []disturbance{{name: "pause S3", what: "S3", begin: func() { s3.Pause(t) }, end: func() { s3.Resume(t) }}}
	if small {
		ofS3 = append(ofS3, fillDisk(t, "S3", diskOfS3))
		full := fillDisk(t, "PostgreSQL", diskOfPG)
		free := full.end
		full.end = func() { // it may have ended itself
			free()
			pg.Kill(t)
			pg.Start(t)
		}
		ofPG = append(ofPG, full)
	}
	var ofServers, betweenPG, betweenS3 []disturbance
	for i := range 3 {
		s := newWorkspace(t, nil)
		name := fmt.Sprint("server ", i)
		library, toS3 := relayedLibrary(t, s3, bucket)
		database, toPG := relayedDatabase(t, pg.URL())
		s.useBooks(library, s3.Env())
		s.faultSettings()
		one := &faultServer{workspace: s, args: faultArgs("--database", database)}
		b.servers = append(b.servers, one)
		ofServers = append(ofServers, one.kill(name), one.kill(name), one.pause(name))
		betweenPG = append(betweenPG, toPG.faults("between "+name+" and PostgreSQL")...)
		betweenS3 = append(betweenS3, toS3.faults("between "+name+" and S3")...)
	}
	b.faults = [][]disturbance{ofServers, ofPG, ofS3, betweenPG, betweenS3}
	b.audit = func(args ...string) outcome { return b.servers[0].remit(append(args, "--database", pg.URL())...) }
	b.chain = func() ([]string, error) {
		return queryLines(t, pg.URL(), `SELECT body FROM log_lines WHERE log LIKE 'audit/%' ORDER BY log, line`)
	}
	b.stored = func() (*storedState, error) { return readReplicas(t, pg.URL(), s3.Folder(bucket)) }
	return b
}

// shortFolder returns a folder for sockets, whose names are limited in length, that every user can
// read.
func shortFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "remit")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// relayedLibrary returns the address of a library that is reached through a relay.
func relayedLibrary(t *testing.T, s3 *s3test.Server, bucket string) (string, *relay) {
	t.Helper()
	r := newRelay(t, "tcp", "127.0.0.1:0", strings.TrimPrefix(s3.Endpoint, "http://"))
	through := *s3
	through.Endpoint = "http://" + r.listener.Addr().String()
	return through.URL(bucket, ""), r
}

// relayedDatabase returns the address of a database that is reached through a relay.
func relayedDatabase(t *testing.T, address string) (string, *relay) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	const socket = "/.s.PGSQL.5432"
	query := u.Query()
	dir := shortFolder(t)
	r := newRelay(t, "unix", dir+socket, query.Get("host")+socket)
	query.Set("host", dir)
	u.RawQuery = query.Encode()
	return u.String(), r
}

// faults returns what can go wrong between a server and a store.
func (r *relay) faults(where string) (all []disturbance) {
	for name, mode := range map[string]relayMode{
		"hold bytes": holding, "delay bytes": delaying, "refuse connections": refusing, "lose replies": losing, "cut requests": tearing,
	} {
		all = append(all, disturbance{name: name + " " + where, what: where, begin: func() { r.set(mode) }, end: func() { r.set(passing) }})
	}
	// Order them, so that a seed chooses the same again.
	slices.SortFunc(all, func(a, b disturbance) int { return strings.Compare(a.name, b.name) })
	return all
}
