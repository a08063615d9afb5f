package knowledge

import (
	"bytes"
	"context"
	"errors"
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

// embed makes vectors of texts.
func (x *Index) embed(ctx context.Context, e Embedder, texts map[Key]string) (map[Key][]float32, error) {
	made := make(map[Key][]float32, len(texts))
	for keys := range slices.Chunk(slices.Collect(maps.Keys(texts)), embedTexts) {
		if err := x.embedSome(ctx, e, keys, texts, made); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// embedSome makes some vectors. A text that makes the model panic has none: it is found by its words.
func (x *Index) embedSome(ctx context.Context, e Embedder, keys []Key, texts map[Key]string, made map[Key][]float32) error {
	x.giveWay()
	if err := ctx.Err(); err != nil {
		return err
	}
	asked := make([]string, len(keys))
	for i, key := range keys {
		asked[i] = texts[key]
	}
	var vectors [][]float32
	err := guarded("embed pieces", func() (err error) {
		vectors, err = e.Embed(ctx, asked)
		return err
	})
	var broken *panicError
	if errors.As(err, &broken) {
		return x.embedRest(ctx, e, keys, texts, made, broken)
	}
	if err == nil && len(vectors) != len(keys) {
		err = fmt.Errorf("%d vectors for %d texts", len(vectors), len(keys))
	}
	if err != nil {
		return fmt.Errorf("embed pieces: %w", err)
	}
	for i, key := range keys {
		made[key] = vectors[i]
	}
	return nil
}

// embedRest embeds one after the other, after a panic.
func (x *Index) embedRest(ctx context.Context, e Embedder, keys []Key, texts map[Key]string, made map[Key][]float32, broken error) error {
	if len(keys) == 1 {
		x.o.Log.Error("a text cannot be embedded", "begins", texts[keys[0]][:min(80, len(texts[keys[0]]))], "error", broken)
		return nil
	}
	for i := range keys {
		if err := x.embedSome(ctx, e, keys[i:i+1], texts, made); err != nil {
			return err
		}
	}
	return nil
}
