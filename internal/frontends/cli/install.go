package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"remit/internal/frontends/cli/clients"
)

// installOptions holds the flags of install.
type installOptions struct {
	name, url, tokenEnv string
	print, remove       bool
	settled             bool // the settings are in remit.yaml, so they are not passed as flags
}

func (p *Program) installCommand() *cobra.Command {
	var o installOptions
	c := &cobra.Command{
		Use:               "install CLIENT",
		Args:              oneClient,
		ValidArgsFunction: arguments(1, clientNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.install(cmd, clients.Find(args[0]), &o)
		},
	}
	c.Flags().BoolVar(&o.print, "print", false, "show what would be written and where, without writing it")
	c.Flags().BoolVar(&o.remove, "remove", false, "remove Remit from the configuration of the client")
	c.Flags().StringVar(&o.name, "name", "remit", "name of the server in the client")
	c.Flags().StringVar(&o.url, "url", "", "connect to a running server at this URL, such as http://127.0.0.1:8722/mcp")
	c.Flags().StringVar(&o.tokenEnv, "token-env", "", "environment variable that holds the token for --url")
	return c
}

// oneClient requires the name of a known client as the only argument.
func oneClient(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError{fmt.Errorf("name one client: %s", strings.Join(clients.Names(), ", "))}
	}
	if clients.Find(args[0]) == nil {
		return unknownValue("client", args[0], clients.Names())
	}
	return nil
}

func (p *Program) install(cmd *cobra.Command, c *clients.Client, o *installOptions) error {
	system, err := clients.NewSystem(runtime.GOOS, p.Env)
	if err != nil {
		return err
	}
	file := c.File(system)
	if o.remove {
		return p.uninstall(c, file, o)
	}
	server, err := p.serverEntry(cmd.Flags(), c, o)
	if err != nil {
		return err
	}
	if o.print {
		return p.printInstall(c, file, server)
	}
	change, err := c.Install(file, server)
	if err != nil {
		return err
	}
	p.printInstalled(c, change, server)
	return nil
}

func (p *Program) printInstalled(c *clients.Client, change clients.Change, s clients.Server) {
	if change.Prior == clients.Same {
		fmt.Fprintf(p.Stdout, "%s is already connected: %s is in %s.\n", c.Title, s.Name, change.File)
		return
	}
	done := map[clients.PriorState]string{clients.Different: "replaced in", clients.Absent: "added to"}[change.Prior]
	fmt.Fprintf(p.Stdout, "%s is connected: %s was %s %s.\n", c.Title, s.Name, done, change.File)
	if change.Backup != "" {
		fmt.Fprintf(p.Stdout, "A backup of the file is in %s.\n", change.Backup)
	}
	for _, note := range c.Notes {
		fmt.Fprintln(p.Stdout, note)
	}
}

func (p *Program) uninstall(c *clients.Client, file string, o *installOptions) error {
	if o.print || o.url != "" || o.tokenEnv != "" {
		return usageError{errors.New("--remove can only be combined with --name")}
	}
	change, err := c.Remove(file, o.name)
	if err != nil {
		return err
	}
	switch change.Prior {
	case clients.Absent:
		fmt.Fprintf(p.Stdout, "%s is not connected: there is no %s in %s.\n", c.Title, o.name, change.File)
	case clients.Restored:
		fmt.Fprintf(p.Stdout, "%s is no longer connected: %s is as it was before.\n", c.Title, change.File)
	default:
		fmt.Fprintf(p.Stdout, "%s is no longer connected: %s was removed from %s. Other changes to the file were kept.\n",
			c.Title, o.name, change.File)
	}
	return nil
}

// printInstall prints every way to connect the client, even if its file cannot be read. It masks
// the token.
func (p *Program) printInstall(c *clients.Client, file string, s clients.Server) error {
	change, unread := c.Plan(file, s)
	if s.Token != "" {
		s.Token = "***"
	}
	snippet, err := c.Snippet(s)
	if err != nil {
		return err
	}
	state := map[clients.PriorState]string{
		clients.Same:      "already contains this",
		clients.Different: "this would replace the present entry",
		clients.Absent:    "this would be added to it",
	}[change.Prior]
	switch {
	case unread != nil:
		state = "would not be changed"
	case change.Prior == clients.Absent && change.Backup == "":
		state = "would be created"
	}
	fmt.Fprintf(p.Stdout, "%s (%s):\n\n%s", file, state, snippet)
	if command := c.Command(s); command != "" {
		fmt.Fprintf(p.Stdout, "\nOr use the client's own command:\n\n%s\n", command)
	}
	for _, link := range c.Links(s) {
		if !link.Web {
			fmt.Fprintf(p.Stdout, "\nOr open this link in %s:\n\n%s\n", link.Title, link.URL)
		}
	}
	return unread
}

// serverEntry returns the server entry for the client.
func (p *Program) serverEntry(flags *pflag.FlagSet, c *clients.Client, o *installOptions) (clients.Server, error) {
	s := clients.Server{Name: o.name}
	given, err := forwardedFlags(flags)
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
	settings, err := p.resolve(flags)
	if err != nil {
		return s, usageError{err}
	}
	if s.Command, err = ownPath(os.Executable); err != nil {
		return s, err
	}
	s.Args = []string{"stdio", "--root", settings.Root}
	if !o.settled {
		s.Args = append(s.Args, given...)
	}
	return s, nil
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
// absolute, because a client may start the server in any folder.
func forwardedFlags(flags *pflag.FlagSet) ([]string, error) {
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
		if place, ok := strings.CutPrefix(value, folderScheme); ok {
			value = folderScheme + absolutePath(place)
		} else if place, ok := strings.CutPrefix(value, "sqlite://"); ok {
			value = "sqlite://" + absolutePath(place)
		} else if slices.Contains([]string{"data", "config", "tls_cert", "tls_key"}, s.key) {
			value = absolutePath(value)
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
