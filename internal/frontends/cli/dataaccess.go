package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// checkAccess returns an error if a command needs the data folder and the user may not use it.
// Commands that can do without the folder are not checked.
func (s *Settings) checkAccess(cmd *cobra.Command) error {
	path := append(strings.Fields(cmd.CommandPath()), "")
	switch path[1] {
	case "tasks", "token", "approvals", "index", "search":
	case "memory", "books":
		if !slices.Contains([]string{"add", "undo", "new", "import", "restore", "edit", "rename", "rm", "archive"}, cmd.Name()) {
			return nil
		}
	case "audit":
		if folder, err := os.Open(s.Data); err == nil {
			return folder.Close()
		} else if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%s cannot be read: %w; run \"remit doctor\"", s.Data, reasonOf(err))
		}
		return nil
	default:
		return nil
	}
	return s.checkWritable(slices.Contains([]string{"add", "create", "import", "index", "new"}, cmd.Name()))
}

// checkWritable returns an error if the user may not write to the data folder, or may not create it
// where create is true. Other problems are found when the folder is opened.
func (s *Settings) checkWritable(create bool) error {
	if strings.HasPrefix(s.Database, "postgres") {
		return nil // everything is in the database
	}
	folder := s.Data
	err := mayWrite(folder)
	for create && errors.Is(err, fs.ErrNotExist) && folder != filepath.Dir(folder) {
		folder = filepath.Dir(folder)
		err = mayWrite(folder)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%s cannot be written: %w; run \"remit doctor\"", folder, err)
}
