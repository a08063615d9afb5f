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

// installOptions are what a person says of a client that should be connected.
type installOptions struct {
	name, url, tokenEnv string
	print, remove       bool
	settled             bool // the settings stand in a file that the server reads
}

func (p *Program) installCommand() *cobra.Command {
	var o installOptions
	c := &cobra.Command{
		Use:               "install CLIENT",
		Args:              oneClient,
		ValidArgsFunction: cobra.FixedCompletions(clients.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.install(cmd, clients.Find(args[0]), &o)
		},
	}
	c.Flags().BoolVar(&o.print, "print", false, "show what would be written and where, and change nothing")
	c.Flags().BoolVar(&o.remove, "remove", false, "take it out again")
	c.Flags().StringVar(&o.name, "name", "remit", "what the client should list it as")
	c.Flags().StringVar(&o.url, "url", "", "connect to this address, such as http://127.0.0.1:8722/mcp")
	c.Flags().StringVar(&o.tokenEnv, "token-env", "", "the variable that holds the token for --url")
	return c
}

// oneClient asks for the name of a client, and says which there are.
func oneClient(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError{fmt.Errorf("name one client: %s", strings.Join(clients.Names(), ", "))}
	}
	if clients.Find(args[0]) == nil {
		return noSuch("client", args[0], clients.Names())
	}
	return nil
}

func (p *Program) install(cmd *cobra.Command, c *clients.Client, o *installOptions) error {
	system, err := clients.SystemOf(runtime.GOOS, p.Env)
	if err != nil {
		return err
	}
	file := c.File(system)
	if o.remove {
		return p.uninstall(c, file, o)
	}
	server, err := p.serverFor(cmd.Flags(), c, o)
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
	p.tellInstalled(c, change, server)
	return nil
}

func (p *Program) tellInstalled(c *clients.Client, change clients.Change, s clients.Server) {
	if change.Was == clients.Same {
		fmt.Fprintf(p.Stdout, "%s is connected already: %s stands in %s.\n", c.Title, s.Name, change.File)
		return
	}
	done := map[clients.Was]string{clients.Other: "replaced in", clients.Absent: "added to"}[change.Was]
	fmt.Fprintf(p.Stdout, "%s is connected: %s was %s %s.\n", c.Title, s.Name, done, change.File)
	if change.Backup != "" {
		fmt.Fprintf(p.Stdout, "What was there is kept in %s.\n", change.Backup)
	}
	for _, note := range c.Notes {
		fmt.Fprintln(p.Stdout, note)
	}
}

func (p *Program) uninstall(c *clients.Client, file string, o *installOptions) error {
	if o.print || o.url != "" || o.tokenEnv != "" {
		return usageError{errors.New("--remove goes with --name alone")}
	}
	change, err := c.Remove(file, o.name)
	if err != nil {
		return err
	}
	switch change.Was {
	case clients.Absent:
		fmt.Fprintf(p.Stdout, "%s is not connected: there is no %s in %s.\n", c.Title, o.name, change.File)
	case clients.Restored:
		fmt.Fprintf(p.Stdout, "%s is no longer connected: %s is as it was before.\n", c.Title, change.File)
	default:
		fmt.Fprintf(p.Stdout, "%s is no longer connected: %s was taken out of %s, and what others changed there stays.\n", c.Title, o.name, change.File)
	}
	return nil
}

// printInstall shows every way to connect the client, also if its file cannot be read.
// A token is not shown.
func (p *Program) printInstall(c *clients.Client, file string, s clients.Server) error {
	change, unread := c.Plan(file, s)
	if s.Token != "" {
		s.Token = "***"
	}
	snippet, err := c.Snippet(s)
	if err != nil {
		return err
	}
	state := map[clients.Was]string{clients.Same: "holds this already", clients.Other: "this would be replaced in it", clients.Absent: "this would be added to it"}[change.Was]
	switch {
	case unread != nil:
		state = "it would not be touched"
	case change.Was == clients.Absent && change.Backup == "":
		state = "would be made"
	}
	fmt.Fprintf(p.Stdout, "%s (%s):\n\n%s", file, state, snippet)
	if command := c.Command(s); command != "" {
		fmt.Fprintf(p.Stdout, "\nOr by its own command:\n\n%s\n", command)
	}
	for _, link := range c.Links(s) {
		if !link.Web {
			fmt.Fprintf(p.Stdout, "\nOr by a link, in %s:\n\n%s\n", link.Title, link.URL)
		}
	}
	return unread
}

// serverFor is Remit as the client should know it.
func (p *Program) serverFor(flags *pflag.FlagSet, c *clients.Client, o *installOptions) (clients.Server, error) {
	s := clients.Server{Name: o.name}
	given, err := passedOn(flags)
	if err != nil {
		return s, usageError{err}
	}
	switch {
	case o.url == "" && o.tokenEnv != "":
		return s, usageError{errors.New("--token-env goes with --url: a client that starts Remit itself needs no token")}
	case o.url != "" && len(given) > 0:
		return s, usageError{fmt.Errorf("%s is for who starts Remit; the server at --url has its own", given[0])}
	case o.url != "":
		s.URL, s.TokenEnv = o.url, o.tokenEnv
		return s, p.checkRemote(c, &s)
	}
	settings, err := resolveSettings(flags, p.Env)
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

// checkRemote looks at the address, and finds the token if it has to be written down.
func (p *Program) checkRemote(c *clients.Client, s *clients.Server) error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return usageError{fmt.Errorf("--url %q must be an address such as http://127.0.0.1:8722/mcp", withoutPassword(s.URL))}
	}
	if strings.Trim(u.Path, "/") == "" {
		return usageError{fmt.Errorf("--url %s names no endpoint; MCP is at %s/mcp", s.URL, strings.TrimRight(s.URL, "/"))}
	}
	if s.TokenEnv == "" {
		return nil
	}
	if !isVariable(s.TokenEnv) {
		return usageError{errors.New("--token-env takes the name of a variable such as REMIT_TOKEN, not the token itself")}
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		fmt.Fprintf(p.Stderr, "remit: %s is not encrypted: whoever listens on the way could read the token\n", s.URL)
	}
	if c.NeedsToken(*s) {
		if s.Token, _ = p.Env(s.TokenEnv); s.Token == "" {
			return fmt.Errorf("%s looks at no variables, so the token has to stand in its file; set %s to the token, and try again", c.Title, s.TokenEnv)
		}
	}
	return nil
}

func isVariable(name string) bool { return regexp.MustCompile(`^[A-Za-z_]\w*$`).MatchString(name) }

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// passedOn are the settings that were given for the server to have. A client starts it
// in a folder of its own choice, so paths are whole ones.
func passedOn(flags *pflag.FlagSet) ([]string, error) {
	var args []string
	for _, s := range settingsTable {
		f := flags.Lookup(s.flag())
		if s.key == "root" || f == nil || !f.Changed {
			continue
		}
		value := f.Value.String()
		if withoutPassword(value) != value {
			return nil, fmt.Errorf("--%s has a password in it, which the file of a client is no place for; set %s for the client instead", s.flag(), s.variable())
		}
		if place, ok := strings.CutPrefix(value, folderScheme); ok {
			value = folderScheme + wholePath(place)
		} else if place, ok := strings.CutPrefix(value, "sqlite://"); ok {
			value = "sqlite://" + wholePath(place)
		} else if slices.Contains([]string{"data", "config", "tls_cert", "tls_key"}, s.key) {
			value = wholePath(value)
		}
		if s.fallback == "false" {
			args = append(args, "--"+s.flag()+"="+value)
		} else {
			args = append(args, "--"+s.flag(), value)
		}
	}
	return args, nil
}

// wholePath names a place from anywhere, unless it does so already.
func wholePath(path string) string {
	if strings.HasPrefix(path, "DATA/") || strings.HasPrefix(path, "ROOT/") {
		return path
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// ownPath is where this program lies, for good: go run makes one that is gone soon.
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
			return "", errors.New("this program was started with go run and is gone when it ends; build it first: go build -o bin/remit ./cmd/remit, then bin/remit install")
		}
	}
	return path, nil
}
