package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/engine/audit"
	"remit/internal/frontends/cli/clients"
)

// installOptions holds the flags of install and uninstall.
type installOptions struct {
	name, url, tokenEnv       string
	print, remove, list, user bool
	settled                   bool // remit.yaml has the settings, so they are not passed as flags
}

func (p *Program) installCommand() *cobra.Command {
	var o installOptions
	c := &cobra.Command{
		Use:               "install CLIENT",
		ValidArgsFunction: arguments(1, clientNames),
		Args: func(cmd *cobra.Command, args []string) error {
			if o.list {
				return cobra.NoArgs(cmd, args)
			}
			return oneClient(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.list {
				return p.listInstalled(cmd)
			}
			return p.install(cmd, clients.Find(args[0]), &o)
		},
	}
	c.Flags().BoolVar(&o.list, "list", false, "list where Remit is installed, in this project and for you")
	c.Flags().BoolVar(&o.print, "print", false, "show what would be written and where, without writing it")
	c.Flags().BoolVar(&o.remove, "remove", false, "remove Remit from the configuration of the client, like uninstall")
	c.Flags().StringVar(&o.url, "url", "", "connect to a running server at this URL, such as http://127.0.0.1:8722/mcp")
	c.Flags().StringVar(&o.tokenEnv, "token-env", "", "environment variable that holds the token for --url")
	o.addFlags(c)
	return p.withJSON("with --list: print as JSON", c)
}

func (p *Program) uninstallCommand() *cobra.Command {
	o := installOptions{remove: true}
	c := &cobra.Command{
		Use:               "uninstall CLIENT",
		Args:              oneClient,
		ValidArgsFunction: arguments(1, clientNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.install(cmd, clients.Find(args[0]), &o)
		},
	}
	o.addFlags(c)
	return c
}

// addFlags adds the flags that install and uninstall share.
func (o *installOptions) addFlags(c *cobra.Command) {
	c.Flags().BoolVar(&o.user, "user", false, "use the file for all your projects, not the one of this project")
	c.Flags().StringVar(&o.name, "name", "remit", "name of the server in the client")
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

// system returns where the files of clients are, for a project. Without a home folder, only those
// of the project are known.
func (p *Program) system(cmd *cobra.Command) (clients.System, error) {
	root, err := p.resolver(cmd).root()
	if err != nil {
		return clients.System{}, usageError{err}
	}
	system, err := clients.NewSystem(runtime.GOOS, p.Env)
	system.Project = root
	return system, err
}

func (p *Program) install(cmd *cobra.Command, c *clients.Client, o *installOptions) error {
	system, err := p.system(cmd)
	target := c
	if own := c.InProject(); own != nil && !o.user && system.Project != "" {
		target, err = own, nil
	}
	if err != nil {
		return err
	}
	file := target.File(system)
	if o.remove {
		return p.uninstall(system, c, target, o)
	}
	server, err := p.serverEntry(cmd, target, system, o)
	if err != nil {
		return err
	}
	if target != c && len(marksOf(system.Project)) == 0 && holdsProjects(system.Project, system.Home) {
		fmt.Fprintf(p.Stderr, "remit: %s is no project; go to one with cd, or add --user to connect all your projects\n", system.Project)
	}
	if o.print {
		return p.printInstall(target, file, server)
	}
	change, err := target.Install(file, server)
	if err != nil {
		return err
	}
	p.printInstalled(target, change, server)
	p.noteOther(system, c, target, o.name)
	return nil
}

// noteOther says that the client has another entry for all projects, which names a folder.
func (p *Program) noteOther(system clients.System, c, target *clients.Client, name string) {
	if target == c || system.Home == "" {
		return
	}
	if entry, found, err := c.Installed(c.File(system), name); err == nil && found && entry.Root != "" {
		fmt.Fprintf(p.Stdout, p.hint("The entry in %s is for all your projects, but starts Remit in %s; \"remit uninstall %s --user\" removes it.\n"),
			c.File(system), entry.Root, c.Name)
	}
}

func (p *Program) printInstalled(c *clients.Client, change clients.Change, s clients.Server) {
	if change.Prior == clients.Same {
		fmt.Fprintf(p.Stdout, "%s is already connected: %s is in %s.\n", c.Title, s.Name, change.File)
		return
	}
	done := map[clients.PriorState]string{clients.Different: "replaced in", clients.Absent: "added to"}[change.Prior]
	fmt.Fprintf(p.Stdout, "%s is connected: %s was %s %s.\n", c.Title, s.Name, done, change.File)
	p.printReplaced(change)
	if change.Backup != "" {
		fmt.Fprintf(p.Stdout, "A backup of the file is in %s.\n", change.Backup)
	}
	if c.IsInProject() && filepath.IsAbs(s.Command) {
		fmt.Fprintf(p.Stdout, "The file starts %s, which other machines may not have; before you share it, put remit on your PATH and "+
			"run this command again.\n", s.Command)
	}
	for _, note := range c.Notes {
		fmt.Fprintln(p.Stdout, note)
	}
}

// printReplaced prints the entry that a change replaces, and the new one, without tokens.
func (p *Program) printReplaced(change clients.Change) {
	if change.Prior == clients.Different {
		fmt.Fprintf(p.Stdout, "\nOld:\n%s\n\nNew:\n%s\n\n", audit.Mask(change.Old, "***"), audit.Mask(change.New, "***"))
	}
}

func (p *Program) uninstall(system clients.System, c, target *clients.Client, o *installOptions) error {
	if o.print || o.url != "" || o.tokenEnv != "" {
		return usageError{errors.New("--remove can only be combined with --name and --user")}
	}
	change, err := target.Remove(target.File(system), o.name)
	if err != nil {
		return err
	}
	switch change.Prior {
	case clients.Absent:
		fmt.Fprintf(p.Stdout, "%s is not connected: there is no %s in %s.\n", c.Title, o.name, change.File)
		if target == c || system.Home == "" {
			break
		}
		if _, found, err := c.Installed(c.File(system), o.name); err == nil && found {
			fmt.Fprintf(p.Stdout, p.hint("It is connected for all your projects: \"remit uninstall %s --user\" removes it from %s.\n"), c.Name, c.File(system))
		}
	case clients.Restored:
		fmt.Fprintf(p.Stdout, "%s is no longer connected: %s is as it was before.\n", c.Title, change.File)
	case clients.Deleted:
		fmt.Fprintf(p.Stdout, "%s is no longer connected: %s had nothing else and was deleted.\n", c.Title, change.File)
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
	case change.Prior == clients.Absent && !isFile(file):
		state = "would be created"
	}
	fmt.Fprintf(p.Stdout, "%s (%s):\n\n%s", file, state, snippet)
	p.printReplaced(change)
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

// installed is a place where Remit is installed.
type installed struct {
	Client string `json:"client"`
	Scope  string `json:"scope"` // project or user
	File   string `json:"file"`
	Name   string `json:"name"`
	Starts string `json:"starts"`
	Folder string `json:"folder,omitempty"` // the workspace that the entry names
	Error  string `json:"error,omitempty"`
}

// listInstalled lists where Remit is installed.
func (p *Program) listInstalled(cmd *cobra.Command) error {
	list, err := p.installedPlaces(cmd)
	if err != nil {
		return err
	}
	return p.show(list, func() {
		if len(list) == 0 {
			fmt.Fprintln(p.Stdout, p.hint("No client starts Remit here. \"remit install CLIENT\" connects one."))
			return
		}
		var t table
		t.add("CLIENT", "FOR", "STARTS", "IN", "FILE")
		for _, one := range list {
			scope := map[string]string{"project": "this project", "user": "all your projects"}[one.Scope]
			folder := one.Folder
			if folder == "" {
				folder = "the folder of the client"
			}
			t.add(one.Client, scope, withoutPassword(one.Starts+one.Error), folder, one.File)
		}
		t.write(p.Stdout)
	})
}

// installedPlaces returns where Remit is installed: in the project and for the user.
func (p *Program) installedPlaces(cmd *cobra.Command) ([]installed, error) {
	system, err := p.system(cmd)
	if system.Project == "" {
		return nil, err
	}
	list := []installed{}
	for _, c := range clients.All() {
		for _, target := range []*clients.Client{c.InProject(), c} {
			if target == nil || target == c && err != nil {
				continue
			}
			scope := target.Scope()
			file := target.File(system)
			found, err := target.Entries(file)
			if err != nil {
				list = append(list, installed{Client: c.Name, Scope: scope, File: file, Error: err.Error()})
			}
			for _, e := range found {
				list = append(list, installed{c.Name, scope, file, e.Name, e.Command + e.URL, e.Root, ""})
			}
		}
	}
	return list, nil
}
