package text

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// markdown returns files like those of a book, about 8 KB each. They are the same every time.
func markdown(files int) [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	vocabulary := strings.Fields(`the of and a to in is that it for as with agent Python function lesson value returns model example
		code type data learners write file when you this from tool server context prompt response error tests list dictionary
		Kubernetes container deploy cluster async await request client stream token embedding vector search index chapter exercise`)
	all := make([][]byte, files)
	for n := range all {
		var b strings.Builder
		fmt.Fprintf(&b, "---\ntitle: Lesson %d\nchapter: %d\n---\n\n# Lesson %d\n\n", n, n/10, n)
		for b.Len() < 8<<10 {
			for range 6 + random.IntN(10) {
				b.WriteString(vocabulary[random.IntN(len(vocabulary))] + " ")
			}
			b.WriteString([]string{".\n", ".\n\n", ":\n\n- ", "\n```python\nx = f(y)\n```\n", " \u2014 \u201cquoted\u201d\n"}[random.IntN(5)])
		}
		if n == files/2 {
			b.WriteString("the quixotic zephyr1 passes\n")
		}
		all[n] = []byte(b.String())
	}
	return all
}

func BenchmarkLines(b *testing.B) {
	files := markdown(500)
	total := 0
	for _, f := range files {
		total += len(f)
	}
	for _, c := range []struct {
		name, pattern string
		ignoreCase    bool
	}{
		{"rare literal", "quixotic", false},
		{"common literal", "lesson", false},
		{"without case, rare", "quixotic", true},
		{"without case, common", "lesson", true},
		{"alternation", "quixotic|zephyr|xylophone", false},
		{"long alternation", "quixotic|zephyr|xylophone|marimba|vibraphone|celesta", false},
		{"regex with literal", `Kubernetes \w+ deploy`, false},
		{"regex with rare literal", `\w+ic zephyr\d`, false},
		{"word", `\bserver\b`, false},
		{"no literal", `[A-Z][a-z]+\d`, false},
		{"no literal, without case", `\b[aeiou]\w+[aeiou]{3}\b`, true},
		{"beginning", `^#+ `, false},
		{"no match", "nowhere-to-be-found", false},
		{"Unicode classes", `\p{Greek}\pL*\d`, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, _ := compile(b, c.pattern, c.ignoreCase)
			b.SetBytes(int64(total))
			for b.Loop() {
				for _, f := range files {
					p.Lines(f, func(int, int, int) bool { return true })
				}
			}
		})
	}
}

// BenchmarkDense searches for literals that occur in many lines of source.
func BenchmarkDense(b *testing.B) {
	data := goFiles(b)
	for _, pattern := range []string{"func", "return", "e", "err", "Deadline", "errServerClosedIdle"} {
		p, _ := compile(b, pattern, false)
		b.Run("count "+pattern, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				p.Count(data, nil)
			}
		})
		b.Run("lines "+pattern, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				p.Lines(data, func(int, int, int) bool { return true })
			}
		})
	}
}

// goFiles returns about 5 MB of the standard library's source.
func goFiles(b *testing.B) (all []byte) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	for _, folder := range []string{"net", "os"} {
		top := filepath.Join(strings.TrimSpace(string(root)), "src", folder)
		err := filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			content, err := os.ReadFile(path)
			all = append(all, content...)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return all
}

// BenchmarkRegexp is the baseline of BenchmarkLines.
func BenchmarkRegexp(b *testing.B) {
	file := markdown(1)[0]
	for _, pattern := range []string{"lesson", `(?i)lesson`, `[A-Z][a-z]+\d`} {
		b.Run(pattern, func(b *testing.B) {
			re := regexp.MustCompile(pattern)
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				byRegexp(re, file)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, pattern := range []string{"lesson", `[A-Z][a-z]+\d`, `\pL+`, `\pL{1000}`, `(?:a?){1000}`} {
		b.Run(pattern, func(b *testing.B) {
			for b.Loop() {
				compile(b, pattern, false)
			}
		})
	}
}
