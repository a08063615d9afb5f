package ignore

import (
	"os"
	"path/filepath"
	"strings"
)

// A location says where a repository is.
type location struct {
	top    string // folder of its working tree
	git    string // its git folder: a folder .git, or the target of a file .git
	common string // folder with the files that it shares with other working trees
}

// locate finds the repository that contains a folder. If there is none, the result is empty. Like
// git, it ignores a .git that is not a repository.
func locate(folder string, snapshot *snapshot) location {
	for {
		dotGit := filepath.Join(folder, ".git")
		snapshot.exists(dotGit)
		if git := resolve(dotGit, snapshot); git != "" {
			if common := commonFolder(git); isRepository(git, common) {
				return location{top: folder, git: git, common: common}
			}
		}
		up := filepath.Dir(folder)
		if up == folder {
			return location{}
		}
		folder = up
	}
}

// resolve returns the git folder: the .git itself, or its target if it is a file.
func resolve(dotGit string, snapshot *snapshot) string {
	info, err := os.Stat(dotGit)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return dotGit
	}
	target, ok := strings.CutPrefix(string(snapshot.read(dotGit)), "gitdir: ")
	if !ok {
		return ""
	}
	return resolveFrom(filepath.Dir(dotGit), target)
}

// resolveFrom resolves a path that was read from a file in folder. It removes the line end.
func resolveFrom(folder, path string) string {
	path = filepath.FromSlash(strings.TrimRight(path, "\r\n"))
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// commonFolder returns the folder with the files that all working trees of a repository share.
func commonFolder(git string) string {
	content, err := os.ReadFile(filepath.Join(git, "commondir"))
	if err != nil {
		return git
	}
	return resolveFrom(git, string(content))
}

// isRepository reports whether git would accept a folder as a git folder.
func isRepository(git, common string) bool {
	if _, err := os.Lstat(filepath.Join(git, "HEAD")); err != nil {
		return false
	}
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(common, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// configuration reads git's configuration: of the system, of the user, and of this repository.
func (r *Repository) configuration(location location, env func(string) (string, bool)) *config {
	home, _ := env("HOME")
	c := &config{read: r.snapshot.read, home: home, values: map[string]string{}}
	for _, path := range globalConfigs(env, c.xdg(env)) {
		c.load(path, 0)
	}
	// Git accepts these only in the configuration of the repository itself.
	delete(c.values, "extensions.objectformat")
	delete(c.values, "extensions.worktreeconfig")
	if location.top == "" {
		return c
	}
	c.load(filepath.Join(location.common, "config"), 0)
	if c.isTrue("extensions.worktreeconfig") {
		c.load(filepath.Join(location.git, "config.worktree"), 0)
	}
	return c
}

// globalConfigs returns the configuration files that are not in a repository.
func globalConfigs(env func(string) (string, bool), xdg string) []string {
	var paths []string
	if no, _ := env("GIT_CONFIG_NOSYSTEM"); !parseBool(no) {
		system, set := env("GIT_CONFIG_SYSTEM")
		if !set {
			system = "/etc/gitconfig"
		}
		paths = append(paths, system)
	}
	if global, set := env("GIT_CONFIG_GLOBAL"); set {
		return append(paths, global)
	}
	if xdg != "" {
		paths = append(paths, filepath.Join(xdg, "config"))
	}
	if home, _ := env("HOME"); home != "" {
		paths = append(paths, filepath.Join(home, ".gitconfig"))
	}
	return paths
}

// xdg returns the user's folder for git's configuration, or "" if it is not known.
func (c *config) xdg(env func(string) (string, bool)) string {
	if folder, _ := env("XDG_CONFIG_HOME"); folder != "" {
		return filepath.Join(folder, "git")
	}
	if c.home != "" {
		return filepath.Join(c.home, ".config", "git")
	}
	return ""
}

// excludesFile returns the file with rules for all repositories, or "" if there is none.
func (c *config) excludesFile(top string, env func(string) (string, bool)) string {
	value, set := c.values["core.excludesfile"]
	if set {
		path, _ := c.expand(value, top)
		return path
	}
	if folder := c.xdg(env); folder != "" {
		return filepath.Join(folder, "ignore")
	}
	return ""
}
