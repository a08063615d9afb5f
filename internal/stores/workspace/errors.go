package workspace

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"remit/internal/contract"
)

// The errors below name the path as the caller spelled it, and no other path of the host. The real
// failure goes into the cause.

func (q request) denied(cause error) *contract.Error {
	return contract.Errorf(contract.Denied, "Access denied: %s", q.name).With("path", q.name).Because(cause)
}

// notAllowed denies a path by its text alone, and says which paths are allowed if there is a list.
func (q request) notAllowed() *contract.Error {
	e := q.denied(nil)
	if q.policy == nil || len(q.policy.Allow) == 0 {
		return e
	}
	return e.With("allowed", q.policy.Allow)
}

func (q request) notFound(cause error) error {
	return contract.Errorf(contract.NotFound, "File not found: %s", q.name).With("path", q.name).Because(cause)
}

func (q request) isFolder() error {
	return contract.Errorf(contract.Invalid, "%s is a folder, not a file", q.name).With("path", q.name)
}

func (q request) isSpecial() error {
	return contract.Errorf(contract.Invalid, "%s is not a regular file", q.name).With("path", q.name)
}

func (q request) tooLarge(size, limit int64) error {
	return contract.Errorf(contract.TooLarge, "%s is %d bytes; at most %d bytes can be read", q.name, size, limit).
		With("path", q.name).With("size", size).With("max", limit)
}

// failed converts a system error to a contract.Error. It returns a contract.Error unchanged.
func (q request) failed(err error) error {
	var answer *contract.Error
	switch {
	case errors.As(err, &answer):
		return answer
	case isAny(err, fs.ErrNotExist, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.EILSEQ):
		// EINVAL and EILSEQ mean that this file system cannot store such a name.
		if gone := q.root.Check(); gone != nil {
			return gone
		}
		return q.notFound(err)
	case isAny(err, fs.ErrPermission, syscall.ELOOP):
		return q.denied(err)
	default:
		return contract.Errorf(contract.Unavailable, "%s cannot be read right now", q.name).
			With("path", q.name).Because(err)
	}
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}
