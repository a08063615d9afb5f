package app

import "golang.org/x/sys/windows"

// diskSpace returns how many bytes are free for us on the disk of a folder, and its size; 0 if that
// is not known.
func diskSpace(folder string) (free, size int64) {
	name, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, 0
	}
	var available, total uint64
	if windows.GetDiskFreeSpaceEx(name, &available, &total, nil) != nil {
		return 0, 0
	}
	return int64(available), int64(total) //nolint:gosec // no disk is that large
}
