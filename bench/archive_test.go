//go:build linux

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The limits for an archive.
const (
	minZipSpeedup    = 4
	maxArchiveGrowth = 64_000_000 // bytes
)

// TestArchiveAgainstZip: the server sends a book of 500 files and 200 MB as a zip file faster than
// the zip program writes one of the same files. The archive is complete and takes little memory.
// The same holds for a book of text alone.
func TestArchiveAgainstZip(t *testing.T) {
	skipUnlessMeasuring(t)
	zip, unzip := debianProgram(t, "zip"), debianProgram(t, "unzip")
	library := t.TempDir()
	writeMixedBook(t, filepath.Join(library, "books", "mixed"))
	writeTexts(t, filepath.Join(library, "books", "texts"), 500)
	for _, book := range []string{"mixed", "texts"} {
		server := startHTTP(t, remit(t, "serve", "--addr", "127.0.0.1:0", "--toolsets", "books", "--books", "file://"+library))
		address := server.archive(t, book)
		ours, theirs := filepath.Join(t.TempDir(), "ours.zip"), filepath.Join(t.TempDir(), "theirs.zip")
		before := resident(t, server.pid)
		compareTimes(t, "the archive of "+book, minZipSpeedup, 3,
			func() error { return download(address, ours) },
			func() error {
				_ = os.Remove(theirs) // otherwise zip adds to the existing file
				_, err := runIn(filepath.Join(library, "books", book), zip, "-r", "-q", theirs, ".")
				return err
			})
		growth := peakMemory(t, server.pid) - before
		t.Logf("the archive has %d bytes, that of zip -r %d; the server grew by %.1f MB", sizeOf(t, ours), sizeOf(t, theirs), float64(growth)/1e6)
		if growth > maxArchiveGrowth {
			t.Errorf("the server grew by %d bytes, more than %d", growth, maxArchiveGrowth)
		}
		if out, err := exec.Command(unzip, "-t", "-q", ours).CombinedOutput(); err != nil {
			t.Errorf("unzip -t: %v\n%s", err, out)
		}
	}
}

// TestLargeArchive: the download of a 2 GB book starts at once and takes no more memory.
func TestLargeArchive(t *testing.T) {
	skipUnlessMeasuring(t)
	library := t.TempDir()
	book := filepath.Join(library, "books", "measured")
	film := noise(20 << 20)
	writeFile(t, filepath.Join(book, "assets", "videos", "film-000.mp4"), film)
	for n := 1; n < 100; n++ { // links, so that the disk holds only one copy
		name := filepath.Join(book, "assets", "videos", "film-")
		if err := os.Link(name+"000.mp4", fmt.Sprintf("%s%03d.mp4", name, n)); err != nil {
			t.Fatal(err)
		}
	}
	server := startHTTP(t, remit(t, "serve", "--addr", "127.0.0.1:0", "--toolsets", "books", "--books", "file://"+library))
	address := server.archive(t, "measured")
	before, start := resident(t, server.pid), time.Now()
	response, err := plainClient.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.CopyN(io.Discard, response.Body, 1<<20); err != nil {
		t.Fatal(err)
	}
	begun := time.Since(start)
	rest, err := io.Copy(io.Discard, response.Body)
	if err != nil || rest < 99*20<<20 {
		t.Fatalf("%d bytes arrived, %v", rest, err)
	}
	all, growth := time.Since(start), peakMemory(t, server.pid)-before
	t.Logf("the first of %d MB arrived after %s, the last after %s; the server grew by %.1f MB", rest>>20, begun, all, float64(growth)/1e6)
	if begun > all/10 {
		t.Errorf("the first MB arrived after %s of %s", begun, all)
	}
	if growth > maxArchiveGrowth {
		t.Errorf("the server grew by %d bytes, more than %d", growth, maxArchiveGrowth)
	}
}

// debianProgram returns the path of a program from the Debian package of the same name.
func debianProgram(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		skipOutsideCI(t, "the comparison with zip", "install Debian's package "+name)
	}
	return path
}

// writeMixedBook writes 440 lessons of 10 to 100 KB, and media up to 200 MB in total.
func writeMixedBook(t *testing.T, book string) {
	t.Helper()
	const lessons, media = 440, 60
	left := 200_000_000 - writeTexts(t, book, lessons)
	for n := range media {
		kind := []string{"images/%d.png", "images/%d.jpg", "videos/%d.mp4", "slides/%d.pdf", "audio/%d.mp3"}[n%5]
		writeFile(t, filepath.Join(book, "assets", filepath.FromSlash(fmt.Sprintf(kind, n))), noise(left/media))
	}
}

// writeTexts writes lessons of 10 to 100 KB, and returns their size in bytes.
func writeTexts(t *testing.T, book string, lessons int) (size int) {
	t.Helper()
	source := rand.New(rand.NewPCG(1, 2))
	for n := range lessons {
		text := lesson(source, 10_000+source.IntN(90_000))
		writeFile(t, filepath.Join(book, "lessons", fmt.Sprintf("part-%d", n/100), fmt.Sprintf("chapter-%02d", n/10), fmt.Sprintf("lesson-%03d.md", n)), text)
		size += len(text)
	}
	return size
}

// lesson returns text that compresses about as well as prose: a few words are common and most are
// rare.
func lesson(source *rand.Rand, size int) []byte {
	often := rand.NewZipf(source, 1.2, 8, 20_000)
	var text bytes.Buffer
	for text.Len() < size {
		fmt.Fprintf(&text, "%s ", word(often.Uint64()))
		if source.IntN(90) == 0 {
			text.WriteString("\n\n")
		}
	}
	return text.Bytes()[:size]
}

// word returns the word with a number; a lower number gives a shorter word.
func word(n uint64) string {
	var letters strings.Builder
	for n += 7; n > 0; n /= 14 {
		letters.WriteByte("etaoinshrdlucm"[n%14])
	}
	return letters.String()
}

// noise returns data that does not compress.
func noise(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size)}).Read(data)
	return data
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// archive requests the archive of a book, and returns its URL.
func (s *httpServer) archive(t *testing.T, bookID string) string {
	t.Helper()
	answer, err := s.do(t.Context(), http.MethodPost, "/tools/get_book_archive", http.Header{}, `{"book_id":"`+bookID+`"}`, http.StatusOK)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var said struct {
		URL string `json:"archive_url"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		t.Fatal(err)
	}
	return said.URL
}

func download(address, file string) error {
	response, err := plainClient.Get(address)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: status %d", address, response.StatusCode)
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	_, err = io.Copy(out, response.Body)
	return err
}

func timed(t *testing.T, run func() error) time.Duration {
	t.Helper()
	start := time.Now()
	if err := run(); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

func sizeOf(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// peakMemory returns the maximum memory of a process so far, in bytes.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes int
	if _, err := fmt.Sscan(after, &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
