package bookimport

import (
	"path"
	"slices"
	"strings"

	"remit/internal/search/markdown"
)

// place assigns a path in the book to every file and folder of the source.
func (p *Plan) place(top *folder, keepPlaces bool) {
	if top.isBook() {
		p.settle(top, "", nil)
	} else {
		var media map[string]taken
		if !keepPlaces {
			media = map[string]taken{}
		}
		p.settle(top, "lessons", media)
	}
	slices.SortFunc(p.Files, func(a, b File) int { return strings.Compare(a.To, b.To) })
}

// settle assigns paths in the book to the files and folders in f, whose own path in the book is to.
// If media is not nil, it moves media files to the folders below assets; media holds the names that
// are used there, by kind of media.
func (p *Plan) settle(f *folder, to string, media map[string]taken) {
	p.places[f.path] = to
	names := p.names(f)
	for _, file := range f.files {
		at := path.Join(to, names[file.path])
		if kind := mediaKind(file.path); kind != "" && media != nil {
			if media[kind] == nil {
				media[kind] = taken{}
			}
			at = path.Join("assets", kind, media[kind].claim(fit(path.Base(file.path))))
		}
		p.places[file.path] = at
		p.Files = append(p.Files, File{From: file.path, To: at, Size: file.size})
	}
	for _, inner := range f.folders {
		p.settle(inner, path.Join(to, names[inner.path]), media)
	}
}

// names assigns a valid name to each entry of a folder. A name that is valid stays.
func (p *Plan) names(f *folder) map[string]string {
	var all []string
	for _, file := range f.files {
		all = append(all, file.path)
	}
	for _, inner := range f.folders {
		all = append(all, inner.path)
	}
	slices.SortStableFunc(all, func(a, b string) int {
		switch fitsA, fitsB := fits(path.Base(a)), fits(path.Base(b)); {
		case fitsA == fitsB:
			return strings.Compare(a, b)
		case fitsA:
			return -1
		default:
			return 1
		}
	})
	names, used := map[string]string{}, taken{}
	for _, at := range all {
		name := path.Base(at)
		if !isSummary(at) {
			name = fit(name)
		}
		names[at] = used.claim(name)
	}
	return names
}

// mediaKind returns the assets folder for a file, or "" if it is not a media file.
func mediaKind(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".avif", ".bmp", ".ico", ".tif", ".tiff", ".heic":
		return "images"
	case ".pptx", ".ppt", ".odp", ".key", ".pdf":
		return "slides"
	case ".mp4", ".webm", ".mov", ".m4v", ".mkv", ".avi", ".ogv":
		return "videos"
	case ".mp3", ".wav", ".ogg", ".oga", ".m4a", ".flac", ".aac", ".opus":
		return "audio"
	default:
		return ""
	}
}

// relink changes the links of a text to the new paths of their targets.
func (p *Plan) relink(f File, text string) (changed string, links int) {
	d := markdown.Parse(text)
	return d.Replace(func(l markdown.Link) (string, bool) {
		t, ok := markdown.ParseTarget(d.Destination(l))
		if !ok || t.Path == "" {
			return "", false
		}
		place, ok := p.whereTo(markdown.Resolve(f.From, t.Path))
		if !ok || place == markdown.Resolve(f.To, t.Path) {
			return "", false
		}
		slash := ""
		if strings.HasSuffix(t.Path, "/") {
			slash = "/"
		}
		return markdown.Relative(f.To, place) + slash + t.Rest, true
	})
}

// whereTo returns the path in the book of a file or folder of the source. It also finds Markdown
// files without their extension, since some authors omit it in links, and by the HTML page that a
// program makes of them.
func (p *Plan) whereTo(source string) (place string, ok bool) {
	if place, ok = p.places[source]; ok {
		return place, true
	}
	if place, ok = p.places[source+".md"]; ok {
		return strings.TrimSuffix(place, ".md"), true
	}
	for _, file := range markdown.PageSources(source) {
		if place, ok = p.places[file]; !ok {
			continue
		}
		if path.Base(file) == "README.md" && path.Base(source) == "index.html" {
			return path.Join(path.Dir(place), "index.html"), true
		}
		return strings.TrimSuffix(place, path.Ext(place)) + ".html", true
	}
	return "", false
}
