package ignore

import (
	"os"
	"path/filepath"
	"strings"
)

// A place is where a repository is.
type place struct {
	top    string // the folder of its working tree
	git    string // its own files: a folder .git, or what a file .git points to
	common string // the files that it shares with other working trees
}

// locate finds the repository that a folder is in, and none if top is "". As for git, a .git that is none is passed by.
func locate(folder string, seen *seen) place {
	for {
		dotGit := filepath.Join(folder, ".git")
		seen.exists(dotGit)
		if git := resolve(dotGit, seen); git != "" {
			if common := commonFolder(git); isRepository(git, common) {
				return place{top: folder, git: git, common: common}
			}
		}
		up := filepath.Dir(folder)
		if up == folder {
			return place{}
		}
		folder = up
	}
}

// resolve gives the folder that a .git is, or points to if it is a file.
func resolve(dotGit string, seen *seen) string {
	info, err := os.Stat(dotGit)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return dotGit
	}
	target, ok := strings.CutPrefix(string(seen.read(dotGit)), "gitdir: ")
	if !ok {
		return ""
	}
	return beside(filepath.Dir(dotGit), target)
}

// beside is a path that a file in a folder tells, without the end of its line.
func beside(folder, path string) string {
	path = filepath.FromSlash(strings.TrimRight(path, "\r\n"))
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// commonFolder is where the files are that all working trees of a repository share.
func commonFolder(git string) string {
	content, err := os.ReadFile(filepath.Join(git, "commondir"))
	if err != nil {
		return git
	}
	return beside(git, string(content))
}

// isRepository tells whether git would take a folder for one of its own.
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

// configuration reads what holds for all repositories of the system, for those of the user, and for this one.
func (r *Repository) configuration(place place, env func(string) (string, bool)) *config {
	home, _ := env("HOME")
	c := &config{read: r.seen.read, home: home, values: map[string]string{}}
	for _, path := range outside(env, c.xdg(env)) {
		c.load(path, 0)
	}
	// Only the repository itself can say what it is like.
	delete(c.values, "extensions.objectformat")
	delete(c.values, "extensions.worktreeconfig")
	if place.top == "" {
		return c
	}
	c.load(filepath.Join(place.common, "config"), 0)
	if c.yes("extensions.worktreeconfig") {
		c.load(filepath.Join(place.git, "config.worktree"), 0)
	}
	return c
}

// outside are the files of configuration that are in no repository.
func outside(env func(string) (string, bool), xdg string) []string {
	var paths []string
	if no, _ := env("GIT_CONFIG_NOSYSTEM"); !truth(no) {
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

// xdg is the user's folder for git, "" if it is not known.
func (c *config) xdg(env func(string) (string, bool)) string {
	if folder, _ := env("XDG_CONFIG_HOME"); folder != "" {
		return filepath.Join(folder, "git")
	}
	if c.home != "" {
		return filepath.Join(c.home, ".config", "git")
	}
	return ""
}

// excludesFile is the file with rules for all repositories, "" if there is none.
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
