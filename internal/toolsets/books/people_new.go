package books

import (
	"cmp"
	"context"
	"strconv"

	"remit/internal/contract"
)

// NewBook is a book to begin.
type NewBook struct {
	ID    string
	Title string // made of the id if there is none
	By    string
}

// Create begins a book: with a lesson and a summary in their places, to be written over.
func (l *Library) Create(ctx context.Context, b NewBook) (Overview, error) {
	if err := checkID(b.ID); err != nil {
		return Overview{}, err
	}
	h, err := l.writable(ctx, b.ID)
	if err != nil {
		return Overview{}, err
	}
	files, err := l.files(ctx, h, "")
	if err != nil {
		return Overview{}, err
	}
	if h.registered || len(files) > 0 {
		return Overview{}, contract.Errorf(contract.Conflict, "There is a book %s already", b.ID).With("path", Key(b.ID, ""))
	}
	title := cmp.Or(cleanTitle(b.Title), titleOf(b.ID))
	if err := l.addBook(ctx, h, title); err != nil {
		return Overview{}, err
	}
	if h, err = l.writable(ctx, b.ID); err != nil {
		return Overview{}, err
	}
	for _, file := range skeleton(b.ID, title) {
		if _, err := l.write(ctx, h, file[0], contentOf([]byte(file[1])), edit{by: b.By, op: opWrite}); err != nil {
			return Overview{}, err
		}
	}
	return Overview{h.book, 1}, nil
}

// skeleton is what a book begins with: paths and texts.
func skeleton(id, title string) [][2]string {
	title = strconv.Quote(title) // YAML reads what JSON writes, and Go's escapes of what a title may hold
	return [][2]string{
		{"book.yaml", "book_id: " + id + "\ntitle: " + title + "\n"},
		{"lessons/part-1/chapter-01/lesson-01.md", "---\ntitle: Introduction\n---\n\n# Introduction\n\n" +
			"What this book is about, and for whom. Chapters are folders named `chapter-01`, `chapter-02` and so on;\n" +
			"pictures go to `assets/images` and are shown like this: `![What it shows](../../../assets/images/name.png)`.\n"},
		{"chapters/chapter-01/.summary.md", "# Chapter 1\n\n## Key concepts\n\n- What this book is about\n"},
	}
}
