// Package offheap allocates memory outside of Go's heap, which the garbage collector neither scans
// nor counts.
package offheap
