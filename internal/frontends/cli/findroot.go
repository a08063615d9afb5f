package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/frontends/cli/clients"
)

// A workspace is found like a git repository: it is the nearest folder, from the current one
// upwards, with one of these marks.

// marksOf returns the paths that make a folder a workspace: its remit.yaml, its data folder and its
// git repository. In a linked worktree or a submodule, .git is a file.
func marksOf(folder string) []string {
	var found []string
	for _, mark := range []struct {
		name    string
		accepts func(path string, info fs.FileInfo) bool
	}{
		{configName, func(string, fs.FileInfo) bool { return true }},
		{dataName, func(_ string, info fs.FileInfo) bool { return info.IsDir() }},
		{".git", isRepository},
	} {
		path := filepath.Join(folder, mark.name)
		if info, err := os.Lstat(path); err == nil && mark.accepts(path, info) {
			found = append(found, path)
		}
	}
	return found
}

// The names of the configuration file and the data folder in a workspace.
const configName, dataName = "remit.yaml", ".remit"

// isRepository reports whether a .git is a repository, or a file that names one.
func isRepository(path string, info fs.FileInfo) bool {
	if info.IsDir() {
		_, err := os.Lstat(filepath.Join(path, "HEAD"))
		return err == nil
	}
	return strings.HasPrefix(firstLine(path), "gitdir: ")
}

// findRoot returns the workspace that a folder is in, and whether the folder or one above it is a
// workspace; otherwise the folder itself is the root. The search ends below the home folder and the
// root of the file system, which hold more than one project, and passes folders like /tmp that
// everybody can write to. It fails if the workspace belongs to another user.
func findRoot(here, home string) (root string, found bool, err error) {
	start := realPath(here)
	home = realPath(home)
	for folder := start; ; folder = filepath.Dir(folder) {
		marks := marksOf(folder)
		switch above := filepath.Dir(folder); {
		case len(marks) > 0 && folder == start:
			return here, true, nil
		case len(marks) > 0 && !isShared(folder):
			return folder, true, checkOwners(append(marks, folder))
		case folder == home || above == home || above == filepath.Dir(above):
			return here, false, nil
		}
	}
}

// isShared reports whether everybody can create files in a folder, but only the owners can remove
// them, as in /tmp.
func isShared(folder string) bool {
	info, err := os.Stat(folder)
	return err == nil && info.Mode()&fs.ModeSticky != 0 && info.Mode()&0o002 != 0
}

// holdsProjects reports whether a folder is one that people start in by mistake, because it holds
// more than one project: the home folder, that of the file system, or one like /tmp.
func holdsProjects(folder, home string) bool {
	folder = realPath(folder)
	return folder == realPath(home) || filepath.Dir(folder) == folder || isShared(folder)
}

// checkOwners returns an error if a path belongs to another user. The last path is the workspace.
func checkOwners(paths []string) error {
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			return fmt.Errorf("find the workspace: %w", err)
		}
		if !isOwn(info) {
			root := paths[len(paths)-1]
			return fmt.Errorf("%s is above this folder, but %s belongs to another user; to use that workspace, add --root %s, "+
				"or --root . to use this folder", root, path, root)
		}
	}
	return nil
}

// clientFolders are variables in which clients tell the servers that they start which project is
// open, because they may start them in another folder: Claude Code and Cursor.
var clientFolders = []string{"CLAUDE_PROJECT_DIR", "WORKSPACE_FOLDER_PATHS"}

// findDefault returns the root if none is named. A server that a client starts outside of every
// workspace takes the project that the client names.
func (r *resolver) findDefault() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the current folder: %w", err)
	}
	system, _ := clients.NewSystem(runtime.GOOS, r.env) // no home folder is no error here
	home := system.Home
	if r.clientFolder != "" {
		root, _, err := findRoot(r.clientFolder, home)
		return root, err
	}
	root, found, err := findRoot(here, home)
	r.unmarked, r.manyProjects = !found, holdsProjects(root, home)
	if err != nil || r.command != "stdio" || found && realPath(root) != realPath(home) {
		r.here = pathWithin(root, here)
		return root, err
	}
	for _, name := range clientFolders {
		folder, _ := r.env(name)
		if info, err := os.Stat(folder); err == nil && info.IsDir() && filepath.IsAbs(folder) {
			root, _, err = findRoot(folder, home)
			return root, err
		}
	}
	r.noProject = true
	return root, nil
}

// pathWithin returns the path of a folder within the root above it, with slashes, and "" for the
// root itself.
func pathWithin(root, folder string) string {
	within, err := filepath.Rel(root, realPath(folder))
	if err != nil || within == "." || !filepath.IsLocal(within) {
		return ""
	}
	return filepath.ToSlash(within)
}

// fromHere returns the path of a file of the workspace, relative to the current folder.
func fromHere(here, name string) string {
	relative, err := filepath.Rel(filepath.FromSlash(here), filepath.FromSlash(name))
	if here == "" || name == "" || err != nil {
		return name
	}
	return filepath.ToSlash(relative)
}

// here returns the root of the workspace and the path of the current folder within it, if it was
// found above that; otherwise "".
func (p *Program) here(cmd *cobra.Command) (root, here string, err error) {
	r := p.resolver(cmd)
	if root, err = r.root(); err != nil {
		return "", "", usageError{err}
	}
	return root, r.here, nil
}

// rootNotice says once which workspace was found above the current folder. Completion says nothing.
func (p *Program) rootNotice(s *Settings) {
	isCompletion := len(p.Args) > 0 && strings.HasPrefix(p.Args[0], cobra.ShellCompRequestCmd)
	if s.here == "" || p.saidRoot || isCompletion {
		return
	}
	p.saidRoot = true
	fmt.Fprintf(p.Stderr, "remit: using the workspace %s, found above this folder; --root . uses this folder\n", s.Root)
}
