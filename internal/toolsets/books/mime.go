package books

import (
	"bytes"
	"cmp"
	"net/http"
	"path"
	"strings"
)

// headSize is the number of leading bytes used to determine the type of a file.
const headSize = 3072

// mimeOf determines the MIME type of a file from its first bytes, or from its name where the bytes
// are ambiguous. The result does not depend on the machine.
func mimeOf(head []byte, name string) string {
	byContent, clear := sniffed(head)
	if clear {
		return byContent
	}
	return cmp.Or(mimeTypes[strings.ToLower(path.Ext(name))], byContent)
}

// sniffed returns the type that the first bytes indicate. clear reports whether the name could not
// make it more specific.
func sniffed(head []byte) (kind string, clear bool) {
	kind, _, _ = strings.Cut(http.DetectContentType(head), ";")
	switch kind {
	case "application/octet-stream", "application/zip", "application/ogg", "application/vnd.ms-fontobject",
		// Sound files, other vendors' videos and other containers look like these.
		"video/mp4", "video/webm":
		return kind, false
	case "text/plain", "text/xml", "text/html":
		if bytes.Contains(head, []byte("<svg")) && bytes.Contains(head, []byte("http://www.w3.org/2000/svg")) {
			return "image/svg+xml", kind != "text/html"
		}
		return kind, false
	case "application/x-gzip":
		return "application/gzip", false
	case "audio/wave":
		return "audio/wav", true
	case "video/avi":
		return "video/x-msvideo", true
	default:
		return kind, true
	}
}

const office = "application/vnd.openxmlformats-officedocument."

// mimeTypes maps file extensions to MIME types.
var mimeTypes = map[string]string{
	".png": "image/png", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif", ".heic": "image/heic", ".bmp": "image/bmp",
	".tiff": "image/tiff", ".tif": "image/tiff", ".apng": "image/apng", ".jpg": "image/jpeg", ".jpeg": "image/jpeg",
	".svg": "image/svg+xml", ".ico": "image/x-icon",

	".mp4": "video/mp4", ".webm": "video/webm", ".m4v": "video/x-m4v", ".mov": "video/quicktime", ".mkv": "video/x-matroska",
	".avi": "video/x-msvideo", ".mpg": "video/mpeg", ".mpeg": "video/mpeg", ".ogv": "video/ogg",

	".mp3": "audio/mpeg", ".m4a": "audio/x-m4a", ".wav": "audio/wav", ".aac": "audio/aac", ".flac": "audio/flac", ".midi": "audio/midi",
	".ogg": "audio/ogg", ".oga": "audio/ogg", ".opus": "audio/ogg", ".weba": "audio/webm",

	".pdf": "application/pdf", ".ppt": "application/vnd.ms-powerpoint", ".key": "application/vnd.apple.keynote",
	".pptx": office + "presentationml.presentation", ".ppsx": office + "presentationml.slideshow",
	".docx": office + "wordprocessingml.document", ".xlsx": office + "spreadsheetml.sheet",
	".odp": "application/vnd.oasis.opendocument.presentation", ".epub": "application/epub+zip", ".zip": "application/zip",

	".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".xml": "application/xml",
	".ipynb": "application/x-ipynb+json", ".md": "text/markdown", ".markdown": "text/markdown", ".html": "text/html", ".htm": "text/html",
	".css": "text/css", ".csv": "text/csv", ".js": "text/javascript", ".mjs": "text/javascript", ".txt": "text/plain",
	".vtt": "text/vtt", ".srt": "application/x-subrip",
}
