//go:build !linux

package tree

import "errors"

// watcher is not implemented on this system: trees are swept.
type watcher struct{}

func newWatcher(*rootHandle, int) (*watcher, error) { return nil, errors.ErrUnsupported }

func (*watcher) close()                          {}
func (*watcher) add(*folder, handle) bool        { return false }
func (*watcher) drop(*folder)                    {}
func (*watcher) fail(error)                      {}
func (*watcher) failure(bool) error              { return nil }
func (*watcher) drain(func(event)) (bool, error) { return true, nil }
