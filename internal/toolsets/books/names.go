package books

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/toolsets/books/bookimport"
)

// booksPrefix begins the keys of all files of books.
const booksPrefix = "books/"

// Key returns the key under which the store keeps the file at a path of a book.
func Key(book, path string) string { return booksPrefix + book + "/" + path }

// splitKey splits the key of a book's file into book id and path. It returns false for any other
// key.
func splitKey(key string) (book, path string, ok bool) {
	rest, ok := strings.CutPrefix(key, booksPrefix)
	if !ok {
		return "", "", false
	}
	book, path, ok = strings.Cut(rest, "/")
	return book, path, ok && book != "" && path != ""
}

// checkPath refuses a path that is not a clean relative path. The contract restricts its
// characters.
func checkPath(path string) error {
	why := ""
	switch {
	case strings.HasPrefix(path, "/"):
		why = "it begins with /, and paths are relative to the book"
	case strings.HasSuffix(path, "/"):
		why = "it ends with /, so it names a folder"
	case strings.Contains(path, "//"):
		why = "it has an empty segment (//)"
	case strings.Contains(path, ".."):
		why = "it contains .."
	default:
		for part := range strings.SplitSeq(path, "/") {
			if part == "." {
				why = "it has a segment that is only a dot"
			}
			if strings.HasPrefix(part, ".remit-") {
				why = "names that begin with .remit- are reserved"
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

// maxName is the maximum length of an asset's name in bytes.
const maxName = 255

// assetTypes returns the asset folders that the tools support.
func assetTypes() []string { return []string{"images", "slides", "videos", "audio"} }

func assetPath(assetType, name string) string { return assetsPrefix + assetType + "/" + name }

// splitAsset splits the path of an asset into type and name. It returns false for any other path.
func splitAsset(path string) (assetType, name string, ok bool) {
	rest, ok := strings.CutPrefix(path, assetsPrefix)
	if !ok {
		return "", "", false
	}
	assetType, name, ok = strings.Cut(rest, "/")
	return assetType, name, ok && name != "" && slices.Contains(assetTypes(), assetType)
}

// isAsset reports whether a key is that of an asset the tools support.
func isAsset(key string) bool {
	_, path, _ := splitKey(key)
	_, _, ok := splitAsset(path)
	return ok
}

// fileName converts the name of an uploaded file into a valid asset name.
func fileName(given string) (string, error) {
	last := given[strings.LastIndexAny(given, "/\\")+1:]
	var kept strings.Builder
	for _, r := range strings.TrimLeft(last, ".") {
		switch {
		case r == ' ':
			kept.WriteByte('-')
		case bookimport.IsNameRune(r):
			kept.WriteRune(r)
		default:
			kept.WriteString(bookimport.Folded(r))
		}
	}
	name := kept.String()
	if ending := strings.TrimLeft(name, "."); ending != name && ending != "" {
		// Only the extension can be kept. The hash keeps different names different, as in imports.
		sum := sha256.Sum256([]byte(given))
		name = "untitled-" + hex.EncodeToString(sum[:3]) + "." + ending
	}
	name = strings.TrimLeft(name, ".")
	for strings.Contains(name, "..") { // paths must not contain them
		name = strings.ReplaceAll(name, "..", ".")
	}
	switch {
	case name == "":
		return "", contract.Errorf(contract.Invalid, "filename %q has no letter, digit, hyphen or underscore; use at least one of them", given).With("field", "filename")
	case len(name) > maxName:
		return "", contract.Errorf(contract.Invalid, "filename is %d characters long; at most %d are allowed", len(name), maxName).With("field", "filename")
	}
	return name, nil
}

// uploadPath is like fileName for a path: it converts each part. Imports and manual copies may put
// assets in subfolders.
func uploadPath(given string) (string, error) {
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
