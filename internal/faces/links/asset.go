package links

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"remit/internal/contract"
)

// asset serves an asset, or the parts of it that were asked for.
func (h *Handler) asset(w http.ResponseWriter, r *http.Request, key string) {
	if !isAsset(key) {
		h.fail(w, r, contract.Errorf(contract.NotFound, "Content not found: %s", key).With("path", key))
		return
	}
	found, err := h.Library.Asset(r.Context(), key)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer func() { _ = found.Close() }() // what was only read has nothing left to lose
	describe(w.Header(), found)
	http.ServeContent(w, r, "", found.Modified, found.ReadSeekCloser)
}

// isAsset tells the key of an asset: books/{book}/assets/ and names beneath it, none
// of them hidden.
func isAsset(key string) bool {
	names := strings.Split(key, "/")
	return len(names) >= 4 && names[0] == "books" && names[2] == "assets" && !slices.ContainsFunc(names, isOdd)
}

// isOdd tells a name that no asset has: anything but letters, digits and _ . - in it,
// or a dot in front.
func isOdd(name string) bool {
	return name == "" || name[0] == '.' || strings.IndexFunc(name, isOddRune) >= 0
}

func isOddRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
}

// describe says what an asset is, and what a browser may do with it.
func describe(header http.Header, a *Asset) {
	version := sha256.Sum256([]byte(a.Version)) // it may tell of the machine
	header.Set("ETag", `"`+hex.EncodeToString(version[:16])+`"`)
	// An asset may be replaced, and whoever did so looks for the new one: so anybody may
	// keep it, and asks each time whether it is still the same, which costs no bytes.
	header.Set("Cache-Control", "public, no-cache")
	header.Set("Content-Type", typeOf(a))
	header.Set("Content-Disposition", "attachment")
	if isShown(a.MIME) {
		header.Set("Content-Disposition", "inline")
	}
	header.Set("Access-Control-Allow-Origin", "*") // whoever has the address of an asset may see it
	header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if a.MIME != pdf { // browsers show no PDF in a sandbox; it has one of its own
		header.Set("Content-Security-Policy", sandbox)
	}
}

// sandbox keeps a page or a drawing that somebody uploaded from running scripts here,
// and from asking for anything else.
const sandbox = "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'"

const pdf = "application/pdf"

// typeOf is the type of an asset. Texts are UTF-8 like all that is kept here.
func typeOf(a *Asset) string {
	switch {
	case a.MIME == "":
		return "application/octet-stream"
	case strings.HasPrefix(a.MIME, "text/") && !strings.Contains(a.MIME, ";"):
		return a.MIME + "; charset=utf-8"
	default:
		return a.MIME
	}
}

// isShown tells what a browser shows by itself; all else it keeps as a file.
func isShown(mime string) bool {
	kind, _, _ := strings.Cut(mime, "/")
	return mime == pdf || kind == "image" || kind == "audio" || kind == "video"
}
