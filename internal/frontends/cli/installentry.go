package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"remit/internal/frontends/cli/clients"
)

// serverEntry returns the server entry for the client. An entry of a project names no folder of
// this machine: the client starts the server in the project.
func (p *Program) serverEntry(cmd *cobra.Command, c *clients.Client, system clients.System, o *installOptions) (clients.Server, error) {
	s := clients.Server{Name: o.name}
	place := absolutePath
	if c.IsInProject() {
		place = pathIn(system.Project)
	}
	given, err := forwardedFlags(cmd.Flags(), place)
	if err != nil {
		return s, usageError{err}
	}
	switch {
	case o.url == "" && o.tokenEnv != "":
		return s, usageError{errors.New("--token-env needs --url: a client that starts Remit itself needs no token")}
	case o.url != "" && len(given) > 0:
		return s, usageError{fmt.Errorf("%s has no effect with --url: the running server has its own settings", given[0])}
	case o.url != "":
		s.URL, s.TokenEnv = o.url, o.tokenEnv
		return s, p.checkRemote(c, &s)
	}
	settings, err := p.settings(cmd)
	if err != nil {
		return s, usageError{err}
	}
	if s.Command, err = ownPath(os.Executable); err != nil {
		return s, err
	}
	s.Args = []string{"stdio"}
	switch found, _, err := findRoot(settings.Root, system.Home); {
	case c.IsInProject() && (err != nil || found != settings.Root):
		s.Args = append(s.Args, "--root", ".") // otherwise it would find a workspace above
	case !c.IsInProject() && (c.NeedsRoot || settings.Origin("root") != FromDefault):
		s.Args = append(s.Args, "--root", settings.Root)
	}
	if c.IsInProject() {
		s.Command = sharedCommand(s.Command, settings.Root)
	}
	if !o.settled {
		s.Args = append(s.Args, given...)
	}
	return s, nil
}

// sharedCommand returns how the file of a project names this program: as remit if the PATH has it,
// relative to the root if it is there, and otherwise by its path on this machine.
func sharedCommand(own, root string) string {
	if found, err := exec.LookPath("remit"); err == nil && samePlace(found, own) {
		return "remit"
	}
	if inner, err := filepath.Rel(realPath(root), own); err == nil && filepath.IsLocal(inner) {
		return "./" + filepath.ToSlash(inner)
	}
	return own
}

// pathIn returns a function that returns paths within the root as ROOT/PATH, and other paths
// absolute.
func pathIn(root string) func(string) string {
	return func(path string) string {
		whole := absolutePath(path)
		if inner, err := filepath.Rel(root, whole); err == nil && filepath.IsLocal(inner) {
			return "ROOT/" + filepath.ToSlash(inner)
		}
		return whole
	}
}

// checkRemote checks the URL, and looks up the token if the client needs it in its file.
func (p *Program) checkRemote(c *clients.Client, s *clients.Server) error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return usageError{fmt.Errorf("--url %q must be a URL such as http://127.0.0.1:8722/mcp", withoutPassword(s.URL))}
	}
	if strings.Trim(u.Path, "/") == "" {
		return usageError{fmt.Errorf("--url %s has no path; the MCP endpoint is %s/mcp", s.URL, strings.TrimRight(s.URL, "/"))}
	}
	if s.TokenEnv == "" {
		return nil
	}
	if !isVariable(s.TokenEnv) {
		return usageError{errors.New("--token-env takes the name of a variable such as REMIT_TOKEN, not the token itself")}
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		fmt.Fprintf(p.Stderr, "remit: %s is not encrypted: others on the network could read the token\n", s.URL)
	}
	if c.NeedsToken(*s) {
		if c.IsInProject() {
			return usageError{fmt.Errorf("%s does not read environment variables, so the token itself would be in a file of the project; "+
				"add --user to write it to your own file", c.Title)}
		}
		if s.Token, _ = p.Env(s.TokenEnv); s.Token == "" {
			return fmt.Errorf("%s does not read environment variables, so the token itself must be written to its "+
				"file; set %s to the token and try again",
				c.Title, s.TokenEnv)
		}
	}
	return nil
}

func isVariable(name string) bool { return regexp.MustCompile(`^[A-Za-z_]\w*$`).MatchString(name) }

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// forwardedFlags returns the given setting flags for the server's command line. Paths are made
// absolute, because a client may start the server in any folder. In the file of a project, those
// within the root are relative to it.
func forwardedFlags(flags *pflag.FlagSet, absolute func(path string) string) ([]string, error) {
	var args []string
	for _, s := range settingsTable {
		f := flags.Lookup(s.flag())
		if s.key == "root" || f == nil || !f.Changed {
			continue
		}
		value := f.Value.String()
		if withoutPassword(value) != value {
			return nil, fmt.Errorf("--%s contains a password, which must not be written to the file of a client; set "+
				"%s in the environment of the client instead",
				s.flag(), s.variable())
		}
		if rest, ok := strings.CutPrefix(value, folderScheme); ok {
			value = folderScheme + absolute(rest)
		} else if rest, ok := strings.CutPrefix(value, "sqlite://"); ok {
			value = "sqlite://" + absolute(rest)
		} else if slices.Contains([]string{"data", "config", "tls_cert", "tls_key"}, s.key) {
			value = absolute(value)
		}
		if s.fallback == "false" {
			args = append(args, "--"+s.flag()+"="+value)
		} else {
			args = append(args, "--"+s.flag(), value)
		}
	}
	return args, nil
}

// absolutePath returns the absolute path, unless the path begins with DATA/ or ROOT/.
func absolutePath(path string) string {
	if strings.HasPrefix(path, "DATA/") || strings.HasPrefix(path, "ROOT/") {
		return path
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// ownPath returns the path of this program. It fails for "go run", whose program is deleted at the
// end.
func ownPath(executable func() (string, error)) (string, error) {
	path, err := executable()
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if strings.HasPrefix(part, "go-build") {
			return "", errors.New("this program was started with go run and is deleted when it ends; build it first: " +
				"go build -o bin/remit ./cmd/remit, then bin/remit install")
		}
	}
	return path, nil
}
