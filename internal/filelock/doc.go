// Package filelock locks files against other processes. It does not order the goroutines of one
// process: use a mutex for that.
package filelock
