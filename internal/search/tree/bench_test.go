package tree

import (
	"os"
	"testing"
)

// benchTree returns the folder to measure: $REMIT_TREE, or the module.
func benchTree() string {
	if path := os.Getenv("REMIT_TREE"); path != "" {
		return path
	}
	return "../../.."
}

func BenchmarkFirst(b *testing.B) {
	for _, noWatch := range []bool{false, true} {
		b.Run(map[bool]string{false: "watch", true: "sweep"}[noWatch], func(b *testing.B) {
			for b.Loop() {
				t, err := Open(Options{Root: benchTree(), NoWatch: noWatch})
				if err != nil {
					b.Fatal(err)
				}
				files := 0
				if err := t.Update(b.Context(), func(c Change) { files += len(c.Added) }); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(files), "files")
				b.StopTimer()
				t.Close()
				b.StartTimer()
			}
		})
	}
}

func BenchmarkAgain(b *testing.B) {
	for _, noWatch := range []bool{false, true} {
		b.Run(map[bool]string{false: "watch", true: "sweep"}[noWatch], func(b *testing.B) {
			t, err := Open(Options{Root: benchTree(), NoWatch: noWatch})
			if err != nil {
				b.Fatal(err)
			}
			defer t.Close()
			var files []*File
			if err := t.Update(b.Context(), func(c Change) { files = append(files, c.Added...) }); err != nil {
				b.Fatal(err)
			}
			buffer := make([]byte, 64<<20)
			for _, f := range files {
				if _, err := t.Read(f, func(int64) []byte { return buffer }); err != nil && !f.Link {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if err := t.Update(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
