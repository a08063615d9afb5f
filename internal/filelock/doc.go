// Package filelock locks files against other processes, and makes what happens to files durable. It
// does not order the goroutines of one process: use a mutex for that.
package filelock
