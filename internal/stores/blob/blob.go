// Package blob stores the objects of books, in a folder on disk or in an S3 bucket. It implements
// books.Store and does not interpret the content of objects.
package blob
