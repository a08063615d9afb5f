package books

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/toolsets/books/bookimport"
)

// booksPrefix begins the key of whatever is in a book.
const booksPrefix = "books/"

// Key is where the store keeps what is at a path of a book.
func Key(book, path string) string { return booksPrefix + book + "/" + path }

// splitKey takes the key of a file of a book apart. It is false for any other key.
func splitKey(key string) (book, path string, ok bool) {
	rest, ok := strings.CutPrefix(key, booksPrefix)
	if !ok {
		return "", "", false
	}
	book, path, ok = strings.Cut(rest, "/")
	return book, path, ok && book != "" && path != ""
}

// checkPath refuses a path that is no clean way to a file in a book. Which letters it
// has, the contract says.
func checkPath(path string) error {
	why := ""
	switch {
	case strings.HasPrefix(path, "/"):
		why = "it begins with /, and paths are relative to the book"
	case strings.HasSuffix(path, "/"):
		why = "it ends with /, and names a folder"
	case strings.Contains(path, "//"):
		why = "it has an empty part (//)"
	case strings.Contains(path, ".."):
		why = "it holds .."
	default:
		for part := range strings.SplitSeq(path, "/") {
			if part == "." {
				why = "it has . as a part"
			}
			if strings.HasPrefix(part, ".remit-") {
				why = "names beginning with .remit- are kept for the store"
			}
		}
	}
	if why == "" {
		return nil
	}
	e := contract.Errorf(contract.Invalid, "Invalid path: %s; %s", path, why).With("path", path)
	e.Code = invalidPath
	return e
}

// assetsPrefix begins the paths of all assets of a book.
const assetsPrefix = "assets/"

// longestName is how long the name of an asset may be.
const longestName = 255

// assetTypes are the folders of assets that tools know.
func assetTypes() []string { return []string{"images", "slides", "videos", "audio"} }

func assetPath(assetType, name string) string { return assetsPrefix + assetType + "/" + name }

// splitAsset takes the path of an asset apart. It is false for any other path.
func splitAsset(path string) (assetType, name string, ok bool) {
	rest, ok := strings.CutPrefix(path, assetsPrefix)
	if !ok {
		return "", "", false
	}
	assetType, name, ok = strings.Cut(rest, "/")
	return assetType, name, ok && name != "" && slices.Contains(assetTypes(), assetType)
}

// isAsset tells whether there is an asset at a key that tools know.
func isAsset(key string) bool {
	_, path, _ := splitKey(key)
	_, _, ok := splitAsset(path)
	return ok
}

// fileName makes of the name that a file has somewhere the one that it has here.
func fileName(given string) (string, error) {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case bookimport.InName(r):
			return r
		}
		return -1
	}, strings.TrimLeft(given, "./\\"))
	if ending := strings.TrimLeft(name, "."); ending != name && ending != "" {
		// Only its ending can be kept, but names that differ shall go on to, as they do in imports.
		sum := sha256.Sum256([]byte(given))
		name = "untitled-" + hex.EncodeToString(sum[:3]) + "." + ending
	}
	name = strings.TrimLeft(name, ".")
	for strings.Contains(name, "..") { // as no path has them
		name = strings.ReplaceAll(name, "..", ".")
	}
	switch {
	case name == "":
		return "", contract.Errorf(contract.Invalid, "filename %q has no letter, digit, hyphen or underscore; give it some", given).With("field", "filename")
	case len(name) > longestName:
		return "", contract.Errorf(contract.Invalid, "filename is %d letters long; at most %d are allowed", len(name), longestName).With("field", "filename")
	}
	return name, nil
}

// fileNames is fileName for an asset that may be in folders of its own, as imports and
// hands put them.
func fileNames(given string) (string, error) {
	parts := strings.Split(given, "/")
	for i, part := range parts {
		name, err := fileName(part)
		if err != nil {
			return "", err
		}
		parts[i] = name
	}
	return strings.Join(parts, "/"), nil
}
