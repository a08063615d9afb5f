package clients

import (
	"fmt"
	"path/filepath"
	"strings"
)

// System is the machine of a person, as far as files of clients depend on it.
type System struct {
	OS   string // as runtime.GOOS has it
	Home string
	Env  func(string) (string, bool)
}

// SystemOf finds the home folder of a person in their environment.
func SystemOf(goos string, env func(string) (string, bool)) (System, error) {
	variable := "HOME"
	if goos == "windows" {
		variable = "USERPROFILE"
	}
	home, _ := env(variable)
	if home == "" || !filepath.IsAbs(home) {
		return System{}, fmt.Errorf("find the home folder: %s is not set to a whole path", variable)
	}
	return System{OS: goos, Home: home, Env: env}, nil
}

// File is where the client keeps its servers.
func (c *Client) File(s System) string { return c.file(s) }

// variable is a folder that a variable names, or else another.
func (s System) variable(name, otherwise string) string {
	if value, _ := s.Env(name); value != "" {
		return value
	}
	return otherwise
}

// settings is where programs with windows keep theirs.
func (s System) settings() string {
	switch s.OS {
	case "darwin":
		return s.join(s.Home, "Library", "Application Support")
	case "windows":
		return s.variable("APPDATA", s.join(s.Home, "AppData", "Roaming"))
	default:
		return s.variable("XDG_CONFIG_HOME", s.join(s.Home, ".config"))
	}
}

// zedSettings: on a Mac it has a folder of its own, where programs of terminals do.
func (s System) zedSettings() string {
	switch s.OS {
	case "darwin":
		return s.join(s.Home, ".config", "zed")
	case "windows":
		return s.join(s.settings(), "Zed")
	default:
		return s.join(s.settings(), "zed")
	}
}

// join puts a path together as that system writes it, whichever system this is.
func (s System) join(parts ...string) string {
	separator := "/"
	if s.OS == "windows" {
		separator = `\`
	}
	return strings.Join(parts, separator)
}
