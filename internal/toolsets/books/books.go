// Package books holds the book tools of seed 003: lessons, summaries and assets of
// course books, search in them, and what people do with whole books.
package books
