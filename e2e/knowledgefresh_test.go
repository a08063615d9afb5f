package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestGoneIsGone: what was deleted, ignored or denied is not found by the next search, however many files it is at once.
func TestGoneIsGone(t *testing.T) {
	t.Parallel()
	s := newSpace(t, map[string]string{"README.md": "# Zoo\n\nA list of animals.\n"})
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
	s.indexed() // all of it, so that there is something to lose
	if !from("src/") {
		t.Fatal("nothing is found to begin with")
	}
	s.check(os.RemoveAll(s.path("src/part0")))
	s.check(os.RemoveAll(s.path("src/part1")))
	if from("src/part0") || from("src/part1") {
		t.Error("what was deleted is found")
	}
	s.write(".gitignore", "src/part2/\n")
	if from("src/part2") {
		t.Error("what is ignored now is found")
	}
	s.write("src/part0/keeper.go", "package part\n\n// Feed gives the quagga its hay again.\nfunc Feed() {}\n")
	if !from("src/part0") {
		t.Error("what came back is not found")
	}
	server.end()
	s.write("remit.yaml", "tools:\n  read_file:\n    deny: [\"src/part3/**\"]\n")
	server = s.stdio("--toolsets", "context", "--rate-limits", "off")
	if from("src/part3") {
		t.Error("what is denied now is found")
	}
}
