package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// memoryStorage is a Storage in memory, which seals records like a real one.
type memoryStorage struct {
	mu      sync.Mutex
	days    map[string][]byte
	last    string
	durable int
}

func (k *memoryStorage) Ready(string) error { return nil }

func (k *memoryStorage) Append(day string, record []byte, _ bool) (func(context.Context) error, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last == "" {
		k.last = audit.InitialHash
	}
	line := audit.Seal(k.last, record)
	k.last = audit.HashOf(line)
	k.days[day] = append(append(k.days[day], line...), '\n')
	return func(context.Context) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.durable++
		return nil
	}, nil
}

func (k *memoryStorage) Replace(day string, record []byte, _ string) error {
	_, err := k.Append(day, record, false)
	return err
}

func (k *memoryStorage) files() fstest.MapFS {
	files := fstest.MapFS{}
	for day, data := range k.days {
		files[audit.FileOf(day)] = &fstest.MapFile{Data: data}
	}
	return files
}

// write writes n records on each of two days.
func write(t *testing.T, n int) *memoryStorage {
	t.Helper()
	k := &memoryStorage{days: map[string][]byte{}}
	log := &audit.Log{Storage: k}
	for day := range 2 {
		for i := range n {
			r := &audit.Record{
				Time:      time.Date(2026, 1, 9+day, 10, 0, i, 0, time.UTC),
				Principal: "ann", Frontend: "stdio", Client: `odd "client"`, Tool: "demo/note", Version: "1.0.0",
				Arguments: jsontree.Obj(jsontree.M("n", jsontree.Int(int64(i)))),
				Outcome:   "ok", Duration: 42 * time.Microsecond, Bytes: 7,
			}
			if err := log.Write(t.Context(), r, i == 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	return k
}

func TestVerify(t *testing.T) {
	k := write(t, 5)
	if n, err := audit.Verify(t.Context(), audit.Folder{FS: k.files()}); err != nil || n != 10 {
		t.Errorf("Verify = %d, %v; want 10, nil", n, err)
	}
	if k.durable != 2 {
		t.Errorf("waited for %d records, want the 2 durable ones", k.durable)
	}
	line, _, _ := bytes.Cut(k.days["2026-01-09"], []byte("\n"))
	var record map[string]any
	if err := json.Unmarshal(line, &record); err != nil || record["client"] != `odd "client"` ||
		record["time"] != "2026-01-09T10:00:00.000000Z" {
		t.Errorf("record %s: %v", line, err)
	}
}

// TestFirstBrokenRecord damages the chain in every way and checks which record Verify names.
func TestFirstBrokenRecord(t *testing.T) {
	const first, second = "2026-01-09", "2026-01-10"
	lines := func(k *memoryStorage, day string) [][]byte {
		return bytes.SplitAfter(bytes.TrimSuffix(k.days[day], []byte("\n")), []byte("\n"))
	}
	join := func(parts ...[]byte) []byte {
		joined := bytes.Join(parts, nil)
		return append(bytes.TrimSuffix(joined, []byte("\n")), '\n')
	}
	for _, tc := range []struct {
		name   string
		damage func(k *memoryStorage)
		file   string
		line   int
		reason string
	}{
		{
			"altered", func(k *memoryStorage) {
				k.days[first] = bytes.Replace(k.days[first], []byte(`"n":2`), []byte(`"n":9`), 1)
			}, first, 3,
			"altered",
		},
		{"removed", func(k *memoryStorage) { l := lines(k, first); k.days[first] = join(l[0], l[1], l[3], l[4]) }, first, 3, "missing"},
		{"swapped", func(k *memoryStorage) { l := lines(k, first); k.days[first] = join(l[0], l[2], l[1], l[3], l[4]) }, first, 2, "out of order"},
		{"put in", func(k *memoryStorage) {
			l := lines(k, first)
			k.days[first] = join(l[0], []byte("{\"fake\":true}\n"), l[1], l[2])
		}, first, 2, "not a valid audit record"},
		{"first removed", func(k *memoryStorage) { l := lines(k, first); k.days[first] = join(l[1], l[2], l[3], l[4]) }, first, 1, "missing"},
		{"whole day removed", func(k *memoryStorage) { delete(k.days, first) }, second, 1, "does not follow the last record of the day before"},
		{
			"end of the first day removed", func(k *memoryStorage) { l := lines(k, first); k.days[first] = join(l[0], l[1]) }, second, 1,
			"does not follow the last record of the day before",
		},
		{"put in after the day had ended", func(k *memoryStorage) {
			l := lines(k, first)
			late := audit.Seal(audit.HashOf(bytes.TrimSpace(l[4])), []byte(`{"time":"2026-01-09T12:00:00.000000Z"}`))
			k.days[first] = append(append(k.days[first], late...), '\n')
		}, second, 1, "does not follow the last record of the day before"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := write(t, 5)
			tc.damage(k)
			_, err := audit.Verify(t.Context(), audit.Folder{FS: k.files()})
			var broken *audit.BrokenError
			if !errors.As(err, &broken) || broken.File != audit.FileOf(tc.file) || broken.Line != tc.line ||
				!strings.Contains(broken.Reason, tc.reason) {
				t.Errorf("Verify = %v, want %s line %d: %s", err, tc.file, tc.line, tc.reason)
			}
		})
	}
}

// TestMidnight checks that a process that still writes to the old day does not break the chain.
func TestMidnight(t *testing.T) {
	k := write(t, 5)
	line := audit.Seal(audit.HashOf(bytes.TrimSpace(k.days["2026-01-09"][bytes.LastIndexByte(bytes.TrimSpace(k.days["2026-01-09"]),
		'\n')+1:])), []byte(`{"time":"2026-01-09T23:59:59.999999Z"}`))
	k.days["2026-01-09"] = append(append(k.days["2026-01-09"], line...), '\n')
	if n, err := audit.Verify(t.Context(), audit.Folder{FS: k.files()}); err != nil || n != 11 {
		t.Errorf("Verify = %d, %v; want 11, nil", n, err)
	}
}

// TestLineCutByCrash checks that a last line that a crash cut off does not break the chain, and
// that the next day can follow it.
func TestLineCutByCrash(t *testing.T) {
	k := write(t, 5)
	for day := range k.days {
		k.days[day] = append(k.days[day], `{"time":"2026-01-`...)
	}
	if n, err := audit.Verify(t.Context(), audit.Folder{FS: k.files()}); err != nil || n != 10 {
		t.Errorf("Verify = %d, %v; want 10, nil", n, err)
	}
	if got, err := audit.LastHash(k.files(), "2026-01-11"); err != nil || got != k.last {
		t.Errorf("LastHash = %s, %v; want %s", got, err, k.last)
	}
}

// TestOtherFilesAreIgnored checks that other files in the folder do not matter.
func TestOtherFilesAreIgnored(t *testing.T) {
	files := write(t, 2).files()
	files["2020-01-01.jsonl/x"] = &fstest.MapFile{Data: []byte("a folder with the name of a day")}
	files["notes.jsonl"] = &fstest.MapFile{Data: []byte("{}\n")}
	files["2020-01-02.jsonl"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	if n, err := audit.Verify(t.Context(), audit.Folder{FS: files}); err != nil || n != 4 {
		t.Errorf("Verify = %d, %v; want 4, nil", n, err)
	}
	if _, err := audit.LastHash(files, "2026-01-11"); err != nil {
		t.Error(err)
	}
}

func TestVerifyEmptyFolder(t *testing.T) {
	if n, err := audit.Verify(t.Context(), audit.Folder{FS: fstest.MapFS{}}); n != 0 || err != nil {
		t.Errorf("Verify = %d, %v", n, err)
	}
}

func TestLastHash(t *testing.T) {
	k := write(t, 2)
	for day, want := range map[string]string{"2026-01-09": audit.InitialHash, "2026-01-11": k.last} {
		if got, err := audit.LastHash(k.files(), day); err != nil || got != want {
			t.Errorf("LastHash before %s = %s, %v; want %s", day, got, err, want)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	log := &audit.Log{Storage: discard{}}
	r := &audit.Record{
		Time: time.Now(), Principal: "local", Tool: "booster/hello",
		Arguments: jsontree.Obj(jsontree.M("name", jsontree.Str("Ada"))), Outcome: "ok",
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := log.Write(context.Background(), r, false); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Ready(string) error { return nil }

func (discard) Append(string, []byte, bool) (func(context.Context) error, error) {
	return func(context.Context) error { return nil }, nil
}

func (discard) Replace(string, []byte, string) error { return nil }

func ExampleBrokenError() {
	fmt.Println(&audit.BrokenError{File: "2026-01-09.jsonl", Line: 3, Reason: "it was altered"})
	// Output: 2026-01-09.jsonl line 3: it was altered
}

// TestErrorWords checks that records with the words of an error verify beside older ones, and that
// these are short and hold no credential.
func TestErrorWords(t *testing.T) {
	k := write(t, 2)
	log := &audit.Log{Storage: k}
	for _, message := range []string{
		`No "file" here`, "Token ghp_0123456789abcdefghijABCDEFGHIJ012345 is unknown", strings.Repeat("é", 1000),
		"Words, then " + strings.Repeat("x", 490) + " sk-0123456789abcdefghij0123",
	} {
		if err := log.Write(t.Context(), &audit.Record{
			Time: time.Date(2026, 1, 10, 11, 0, 0, 0, time.UTC), Tool: "demo/note", Outcome: "conflict", Code: "STALE", Message: message, Call: "C",
		}, true); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := audit.Verify(t.Context(), audit.Folder{FS: k.files()}); err != nil || n != 8 {
		t.Errorf("Verify = %d, %v; want 8, nil", n, err)
	}
	lines := strings.Split(strings.TrimSpace(string(k.days["2026-01-10"])), "\n")[2:]
	for i, want := range []string{
		`"code":"STALE","message":"No \"file\" here","call":"C"`, `"message":"Token ghp_(redacted) is unknown"`, strings.Repeat("é", 256) + `..."`,
		`xxx sk-(redac..."`,
	} {
		if !strings.Contains(lines[i], want) || audit.CallOf([]byte(lines[i])) != "C" || !audit.Settles([]byte(lines[i])) {
			t.Errorf("no %s in %s", want, lines[i])
		}
	}
}
