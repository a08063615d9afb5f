package knowledge

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
)

// vectors gives the local vectors of pieces: those that are kept, and new ones, which are kept then.
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
		return nil, fmt.Errorf("keep vectors: %w", err)
	}
	maps.Copy(vectors, made)
	return vectors, nil
}

// keptTogether is how many vectors are read at once.
const keptTogether = 512

// keptVectors gives those vectors that are kept.
func (x *Index) keptVectors(ctx context.Context, store Store, model string, keys []Key) (map[Key][]float32, error) {
	vectors := make(map[Key][]float32, len(keys))
	for some := range slices.Chunk(keys, keptTogether) {
		x.giveWay()
		found, err := store.Vectors(ctx, model, some)
		if err != nil {
			return nil, err
		}
		maps.Copy(vectors, found)
	}
	return vectors, nil
}

// keysOf gives the different keys of pieces in order, so that a store finds those next to each other that are kept so.
func keysOf(sources []Source) []Key {
	count := 0
	for _, s := range sources {
		count += len(s.Pieces)
	}
	keys := make([]Key, 0, count)
	for _, s := range sources {
		for i := range s.Pieces {
			keys = append(keys, s.Pieces[i].Key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(keys)
}

// textsWithout gives what is embedded of pieces that have no vector, by key.
func textsWithout(sources []Source, vectors map[Key][]float32, dim int) map[Key]string {
	texts := map[Key]string{}
	for _, s := range sources {
		for i := range s.Pieces {
			if p := &s.Pieces[i]; len(vectors[p.Key]) != dim {
				texts[p.Key] = wordsOf(s.Path, p)
			}
		}
	}
	return texts
}

// embedTexts is how many texts are embedded between two looks at whether somebody still wants them.
const embedTexts = 64

// embed makes vectors of texts. A text that makes the model panic has none: it is found by its words.
func (x *Index) embed(ctx context.Context, e Embedder, texts map[Key]string) (map[Key][]float32, error) {
	made := make(map[Key][]float32, len(texts))
	for keys := range slices.Chunk(slices.Collect(maps.Keys(texts)), embedTexts) {
		err := singly("embed pieces", keys, func(keys []Key) error {
			x.giveWay()
			if err := ctx.Err(); err != nil {
				return err
			}
			return ask(ctx, e, keys, texts, made)
		}, func(key Key, err error) {
			x.o.Log.Error("a text cannot be embedded", "begins", texts[key][:min(80, len(texts[key]))], "error", err)
		})
		if err != nil {
			return nil, fmt.Errorf("embed pieces: %w", err)
		}
	}
	return made, nil
}

// ask adds the vectors of some texts.
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
		return fmt.Errorf("%d vectors for %d texts", len(vectors), len(keys))
	}
	for i, key := range keys {
		made[key] = vectors[i]
	}
	return nil
}
