package books

import (
	"bytes"
	"net/http"
	"path"
	"strings"
)

// headSize is how much of a file tells what it is.
const headSize = 3072

// mimeOf tells what a file is by its first bytes, and by its name where these say
// little. It is the same on every machine.
func mimeOf(head []byte, name string) string {
	byContent, clear := sniffed(head)
	if clear {
		return byContent
	}
	if byName := mimeByExtension(strings.ToLower(path.Ext(name))); byName != "" {
		return byName
	}
	return byContent
}

// sniffed is what the first bytes say; clear tells whether a name could not say more.
func sniffed(head []byte) (kind string, clear bool) {
	kind, _, _ = strings.Cut(http.DetectContentType(head), ";")
	switch kind {
	case "application/octet-stream", "application/zip", "application/ogg", "application/vnd.ms-fontobject",
		"video/mp4", "video/webm": // which sound, films of other makers and other containers look like
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

// mimeByExtension is "" for an extension that we do not know.
func mimeByExtension(ext string) string {
	switch ext {
	case ".png", ".gif", ".webp", ".avif", ".heic", ".bmp", ".tiff", ".apng":
		return "image/" + ext[1:]
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".tif":
		return "image/tiff"
	case ".svg":
		return "image/svg+xml"
	case ".ico":
		return "image/x-icon"
	case ".mp4", ".webm":
		return "video/" + ext[1:]
	case ".m4v":
		return "video/x-m4v"
	case ".mov":
		return "video/quicktime"
	case ".mkv":
		return "video/x-matroska"
	case ".avi":
		return "video/x-msvideo"
	case ".mpg", ".mpeg":
		return "video/mpeg"
	case ".ogv":
		return "video/ogg"
	case ".mp3":
		return "audio/mpeg"
	case ".m4a":
		return "audio/x-m4a"
	case ".wav", ".aac", ".flac", ".midi":
		return "audio/" + ext[1:]
	case ".ogg", ".oga", ".opus":
		return "audio/ogg"
	case ".weba":
		return "audio/webm"
	default:
		return mimeOfDocument(ext)
	}
}

// mimeOfDocument knows what slides and texts are called.
func mimeOfDocument(ext string) string {
	const office = "application/vnd.openxmlformats-officedocument."
	switch ext {
	case ".pdf":
		return "application/pdf"
	case ".pptx":
		return office + "presentationml.presentation"
	case ".ppsx":
		return office + "presentationml.slideshow"
	case ".docx":
		return office + "wordprocessingml.document"
	case ".xlsx":
		return office + "spreadsheetml.sheet"
	case ".ppt":
		return "application/vnd.ms-powerpoint"
	case ".key":
		return "application/vnd.apple.keynote"
	case ".odp":
		return "application/vnd.oasis.opendocument.presentation"
	case ".epub":
		return "application/epub+zip"
	case ".zip":
		return "application/zip"
	case ".json":
		return "application/json"
	case ".yaml", ".yml":
		return "application/yaml"
	case ".md", ".markdown":
		return "text/markdown"
	case ".html", ".htm":
		return "text/html"
	case ".css", ".csv":
		return "text/" + ext[1:]
	case ".js", ".mjs":
		return "text/javascript"
	case ".txt":
		return "text/plain"
	case ".vtt":
		return "text/vtt"
	case ".srt":
		return "application/x-subrip"
	case ".xml":
		return "application/xml"
	case ".ipynb":
		return "application/x-ipynb+json"
	default:
		return ""
	}
}
