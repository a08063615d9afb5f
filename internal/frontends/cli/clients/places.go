package clients

import (
	"fmt"
	"path/filepath"
	"strings"
)

// System holds what the paths of client files depend on.
type System struct {
	OS   string // a value of runtime.GOOS
	Home string
	Env  func(string) (string, bool)
	// Project is the folder of the project, for clients with a file there.
	Project string
}

// NewSystem returns the System of the user, with the home folder from the environment. It returns
// an error if the home folder is not set.
func NewSystem(goos string, env func(string) (string, bool)) (System, error) {
	variable := "HOME"
	if goos == "windows" {
		variable = "USERPROFILE"
	}
	home, _ := env(variable)
	if home == "" || !filepath.IsAbs(home) {
		return System{OS: goos, Env: env}, fmt.Errorf("find the home folder: %s is not set to an absolute path", variable)
	}
	return System{OS: goos, Home: home, Env: env}, nil
}

// File returns the path of the client's configuration file.
func (c *Client) File(s System) string { return c.file(s) }

// variable returns the value of an environment variable, or otherwise if it is not set.
func (s System) variable(name, otherwise string) string {
	if value, _ := s.Env(name); value != "" {
		return value
	}
	return otherwise
}

// settings returns the folder where desktop programs store their settings.
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

// zedSettings returns the folder of Zed's settings. On macOS, Zed uses ~/.config like terminal
// programs.
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

// join joins a path with the separator of s.OS, which need not be the running system.
func (s System) join(parts ...string) string {
	separator := "/"
	if s.OS == "windows" {
		separator = `\`
	}
	return strings.Join(parts, separator)
}
