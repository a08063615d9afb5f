// Package blob keeps the objects of books in a folder on disk or in a bucket of S3.
package blob
