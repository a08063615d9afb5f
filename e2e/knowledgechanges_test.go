package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRemovedFilesAreNotFound checks that the next search does not find files that were deleted,
// ignored or denied, however many they are.
func TestRemovedFilesAreNotFound(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"README.md": "# Zoo\n\nA list of animals.\n"})
	for n := range 400 {
		s.write(fmt.Sprintf("src/part%d/keeper%d.go", n%4, n), fmt.Sprintf("package part\n\n// Feed%d gives the quagga its hay number %d.\nfunc Feed%d() {}\n", n, n, n))
	}
	server := s.stdio("--toolsets", "context", "--rate-limits", "off")
	from := func(folder string) (some bool) {
		t.Helper()
		answer := server.search(`{"query":"who feeds the quagga its hay","limit":20}`)
		if answer.Error != "" {
			t.Fatalf("%+v", answer)
		}
		for _, r := range answer.Results {
			some = some || strings.HasPrefix(r.Path, folder)
		}
		return some
	}
	s.updateIndex() // index all files first
	if !from("src/") {
		t.Fatal("nothing is found at first")
	}
	s.check(os.RemoveAll(s.path("src/part0")))
	s.check(os.RemoveAll(s.path("src/part1")))
	if from("src/part0") || from("src/part1") {
		t.Error("a deleted file is found")
	}
	s.write(".gitignore", "src/part2/\n")
	if from("src/part2") {
		t.Error("an ignored file is found")
	}
	s.write("src/part0/keeper.go", "package part\n\n// Feed gives the quagga its hay again.\nfunc Feed() {}\n")
	// A search waits a few seconds for the index and then answers without the new files.
	for deadline := time.Now().Add(timeout); !from("src/part0"); {
		if time.Now().After(deadline) {
			t.Fatal("a restored file is not found")
		}
	}
	server.end()
	s.write("remit.yaml", "tools:\n  read_file:\n    deny: [\"src/part3/**\"]\n")
	server = s.stdio("--toolsets", "context", "--rate-limits", "off")
	if from("src/part3") {
		t.Error("a denied file is found")
	}
}

// TestDeniedFromTheFirstSearch checks that no search finds files that were denied while no server
// ran, even before the server has looked at all files again.
func TestDeniedFromTheFirstSearch(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"private/a.md": "# Launch codes\n\nThe launch codes are swordfish and trout.\n"})
	for n := range 3000 {
		s.write(fmt.Sprintf("src/part%d/keeper%d.go", n%100, n), fmt.Sprintf("package part\n\n// Feed%d gives the quagga its hay number %d.\nfunc Feed%d() {}\n", n, n, n))
	}
	s.updateIndex()
	const question = `{"query":"launch codes swordfish"}`
	allowed := s.stdio("--toolsets", "context")
	if answer := allowed.search(question); len(answer.Results) == 0 || answer.Results[0].Path != "private/a.md" {
		t.Fatalf("%+v", answer)
	}
	allowed.end()
	s.write("remit.yaml", "tools:\n  read_file:\n    deny: [\"private\"]\n")
	server := s.stdio("--toolsets", "context", "--rate-limits", "off")
	asked := []string{server.start("context_search", question)}
	// Until the first search, which waits for all files, is answered.
	for server.early[asked[0]].ID == nil {
		for range 40 {
			server.ask("ping", "{}")
		}
		asked = append(asked, server.start("context_search", question))
	}
	for i, id := range asked {
		if text := server.result(server.reply(id)).text; strings.Contains(text, "trout") {
			t.Errorf("search %d of %d finds a denied file: %s", i, len(asked), text)
		}
	}
}
