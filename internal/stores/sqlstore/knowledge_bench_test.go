package sqlstore_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"remit/internal/search/chunk"
	"remit/internal/stores/sqlstore/pgtest"
	"remit/internal/toolsets/codebase/knowledge"
)

// benchEngines runs a benchmark on an empty database of each kind.
func benchEngines(b *testing.B, run func(b *testing.B, s knowledge.Store)) {
	b.Run("SQLite", func(b *testing.B) {
		run(b, open(b, "sqlite://"+b.TempDir()+"/remit.db").Knowledge("here"))
	})
	b.Run("PostgreSQL", func(b *testing.B) {
		run(b, open(b, pgtest.Database(b)).Knowledge("here"))
	})
}

func benchKey(n int) (key knowledge.Key) {
	binary.BigEndian.PutUint64(key[:], uint64(n)*0x9e3779b97f4a7c15) // spread like a hash
	return key
}

// benchFiles returns 32 files of about eight chunks, each of one kilobyte.
func benchFiles(batch int) (files []knowledge.Source) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog; ", 23)
	for i := range 32 {
		one := knowledge.Source{Path: fmt.Sprintf("internal/some/folder/%d/file%d.go", batch, i), Size: 8000, Modified: noon()}
		for j := range 4 + i%9 {
			one.Chunks = append(one.Chunks, knowledge.Chunk{
				Key:   benchKey(batch<<16 + i<<8 + j),
				Chunk: chunk.Chunk{Source: chunk.Code, Name: "Some.name", Text: text, Module: "internal/some", Line: j * 10, End: j*10 + 9},
			})
		}
		files = append(files, one)
	}
	return files
}

func replaceAll(b *testing.B, s knowledge.Store, batches int) (count int) {
	b.Helper()
	for i := range batches {
		files := benchFiles(i)
		if _, err := s.Replace(b.Context(), files); err != nil {
			b.Fatal(err)
		}
		for _, one := range files {
			count += len(one.Chunks)
		}
	}
	return count
}

func BenchmarkKnowledgeReplace(b *testing.B) {
	benchEngines(b, func(b *testing.B, s knowledge.Store) {
		replaceAll(b, s, 50)
		for i := 0; b.Loop(); i++ {
			if _, err := s.Replace(b.Context(), benchFiles(i%500)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkKnowledgeLoad(b *testing.B) {
	benchEngines(b, func(b *testing.B, s knowledge.Store) {
		count := replaceAll(b, s, 470)
		for b.Loop() {
			loaded := 0
			if _, err := s.Load(b.Context(), 0, func(one knowledge.Source) error { loaded += len(one.Chunks); return nil }); err != nil || loaded != count {
				b.Fatal(loaded, err)
			}
		}
		b.ReportMetric(float64(count), "pieces/op")
	})
}

func BenchmarkKnowledgeChunks(b *testing.B) {
	benchEngines(b, func(b *testing.B, s knowledge.Store) {
		replaceAll(b, s, 50)
		var refs []knowledge.Ref
		for i := range 40 {
			refs = append(refs, knowledge.Ref{Path: fmt.Sprintf("internal/some/folder/%d/file%d.go", i, i%32), Number: i % 4})
		}
		for b.Loop() {
			if list, err := s.Chunks(b.Context(), refs); err != nil || len(list) != len(refs) {
				b.Fatal(len(list), err)
			}
		}
	})
}

func benchVectors(batch int) map[knowledge.Key][]float32 {
	vectors := map[knowledge.Key][]float32{}
	for i := range 256 {
		vector := make([]float32, 256)
		for j := range vector {
			vector[j] = float32(i*j) / 1000
		}
		vectors[benchKey(batch<<8+i)] = vector
	}
	return vectors
}

func putAll(b *testing.B, s knowledge.Store, batches int) {
	b.Helper()
	for i := range batches {
		if err := s.PutVectors(b.Context(), "model", benchVectors(i)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKnowledgePutVectors(b *testing.B) {
	benchEngines(b, func(b *testing.B, s knowledge.Store) {
		putAll(b, s, 100)
		for i := 100; b.Loop(); i++ {
			if err := s.PutVectors(b.Context(), "model", benchVectors(i)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkKnowledgeVectors(b *testing.B) {
	benchEngines(b, func(b *testing.B, s knowledge.Store) {
		putAll(b, s, 100)
		keys := make([]knowledge.Key, 500)
		for i := range keys {
			keys[i] = benchKey(i * 51)
		}
		for b.Loop() {
			if found, err := s.Vectors(b.Context(), "model", keys); err != nil || len(found) != len(keys) {
				b.Fatal(len(found), err)
			}
		}
	})
}

// BenchmarkKnowledgeSweep measures a sweep in which all vectors are used.
func BenchmarkKnowledgeSweep(b *testing.B) {
	benchEngines(b, func(b *testing.B, s knowledge.Store) {
		replaceAll(b, s, 100)
		for i := range 100 {
			vectors := map[knowledge.Key][]float32{}
			for _, one := range benchFiles(i) {
				for _, p := range one.Chunks {
					vectors[p.Key] = make([]float32, 256)
				}
			}
			if err := s.PutVectors(b.Context(), "model", vectors); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			if n, err := s.Sweep(b.Context(), []string{"model"}, 0); err != nil || n != 0 {
				b.Fatal(n, err)
			}
		}
	})
}
