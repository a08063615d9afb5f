package knowledge

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
)

// vectors returns the local vectors of chunks: stored ones, and new ones, which it stores.
func (x *Index) vectors(ctx context.Context, store Store, sources []Source) (map[Key][]float32, error) {
	local := x.local()
	keys := keysOf(sources)
	if local == nil || len(keys) == 0 {
		return nil, nil
	}
	vectors, err := x.keptVectors(ctx, store, local.ID(), keys)
	if err != nil {
		return nil, fmt.Errorf("read vectors: %w", err)
	}
	made, err := x.embed(ctx, local, textsWithout(sources, vectors, local.Dim()))
	if err != nil || len(made) == 0 {
		return vectors, err
	}
	if err := store.PutVectors(ctx, local.ID(), made); err != nil {
		return nil, fmt.Errorf("store vectors: %w", err)
	}
	maps.Copy(vectors, made)
	return vectors, nil
}

// keptTogether is the number of vectors read at once.
const keptTogether = 512

// keptVectors returns the stored vectors.
func (x *Index) keptVectors(ctx context.Context, store Store, model string, keys []Key) (map[Key][]float32, error) {
	vectors := make(map[Key][]float32, len(keys))
	for some := range slices.Chunk(keys, keptTogether) {
		x.yield()
		found, err := store.Vectors(ctx, model, some)
		if err != nil {
			return nil, err
		}
		maps.Copy(vectors, found)
	}
	return vectors, nil
}

// keysOf returns the distinct keys of chunks, sorted, so that a store can read neighbouring ones
// together.
func keysOf(sources []Source) []Key {
	count := 0
	for _, s := range sources {
		count += len(s.Chunks)
	}
	keys := make([]Key, 0, count)
	for _, s := range sources {
		for i := range s.Chunks {
			keys = append(keys, s.Chunks[i].Key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(keys)
}

// textsWithout returns the texts of chunks that have no vector, by key.
func textsWithout(sources []Source, vectors map[Key][]float32, dim int) map[Key]string {
	texts := map[Key]string{}
	for _, s := range sources {
		for i := range s.Chunks {
			if p := &s.Chunks[i]; len(vectors[p.Key]) != dim {
				texts[p.Key] = wordsOf(s.Path, p)
			}
		}
	}
	return texts
}

// embedTexts is the number of texts embedded between two checks for cancellation.
const embedTexts = 64

// embed computes vectors of texts. A text with which the model panics gets none and is found by its
// words only.
func (x *Index) embed(ctx context.Context, e Embedder, texts map[Key]string) (map[Key][]float32, error) {
	made := make(map[Key][]float32, len(texts))
	for keys := range slices.Chunk(slices.Collect(maps.Keys(texts)), embedTexts) {
		err := oneByOne("embed chunks", keys, func(keys []Key) error {
			x.yield()
			if err := ctx.Err(); err != nil {
				return err
			}
			return ask(ctx, e, keys, texts, made)
		}, func(key Key, err error) {
			x.o.Log.Error("cannot embed a text", "begins", texts[key][:min(80, len(texts[key]))], "error", err)
		})
		if err != nil {
			return nil, fmt.Errorf("embed chunks: %w", err)
		}
	}
	return made, nil
}

// ask adds the vectors of some texts to made.
func ask(ctx context.Context, e Embedder, keys []Key, texts map[Key]string, made map[Key][]float32) error {
	asked := make([]string, len(keys))
	for i, key := range keys {
		asked[i] = texts[key]
	}
	vectors, err := e.Embed(ctx, asked)
	if err != nil {
		return err
	}
	if len(vectors) != len(keys) {
		return fmt.Errorf("the model returned %d vectors for %d texts", len(vectors), len(keys))
	}
	for i, key := range keys {
		made[key] = vectors[i]
	}
	return nil
}
