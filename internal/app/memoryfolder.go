package app

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/storageid"
	"remit/internal/stores/workspace"
)

// memoryFolder is the folder of the memory files within the root.
const memoryFolder = ".claude/memory"

// memoryID identifies the folder of the memory files. The folder belongs to the repository, so it
// holds no file with an id (ADR 36): any folder that has a memory file is the right one. It
// implements storageid.Identifier.
type memoryID struct {
	root  *workspace.Root
	names []string // of the memory files
}

// storedMemory is the id of a folder that has memory files.
const storedMemory = "files"

// ID implements storageid.Identifier.
func (m memoryID) ID() (string, error) {
	if m.root.Check() != nil {
		return "", fs.ErrNotExist
	}
	for _, name := range m.names {
		info, err := os.Lstat(m.root.Path(path.Join(memoryFolder, name)))
		if err == nil && info.Mode().IsRegular() {
			return storedMemory, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", nil
}

// MakeID implements storageid.Identifier. The file of the first entry has been created before.
func (m memoryID) MakeID() (string, error) { return storedMemory, m.root.Check() }

// Lost implements storageid.Identifier.
func (memoryID) Lost() string { return "all memory files" }

// memoryFiles returns the folder of the memory files, which must stay the same once an entry was
// acknowledged as stored in it.
func (a *anchor) memoryFiles(root *workspace.Root, names []string) *storageid.Folder {
	folder := root.Path(memoryFolder)
	refuse := refuseStorage("The folder " + memoryFolder + " of this workspace")
	return &storageid.Folder{
		Path: folder, ID: memoryID{root, names}, Memory: &knownID{anchor: a, location: memoryLocation + folder},
		Refuse: func(why string) error {
			if err := root.Check(); err != nil {
				return err
			}
			return refuse(why)
		},
	}
}

// checkLocal looks up files of the workspace. A memory file is not reported as missing while its
// folder is away.
func checkLocal(root *workspace.Root, memory *storageid.Folder) func(string, *contract.PathPolicy) (engine.File, error) {
	return func(name string, policy *contract.PathPolicy) (engine.File, error) {
		file, err := root.CheckPath(name, policy)
		isMemory := strings.HasPrefix(path.Clean(name), memoryFolder+"/")
		if err != nil && isMemory && contract.AsError(err).Kind == contract.NotFound {
			if away := memory.Check(); away != nil {
				return nil, away
			}
		}
		return orNil(file, err)
	}
}
