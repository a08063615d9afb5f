package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"remit/internal/frontends/cli/clients"
	"remit/internal/visible"
)

// ClientRoots is what a stdio client says about the folders that it works in.
type ClientRoots struct {
	Asked  bool     // the client has roots
	URIs   []string // in the client's order
	Reason error    // why there are none
	// The streams for the rest of the session.
	In  io.Reader
	Out io.Writer
}

// chooseRoot returns the first root of a client that can be a workspace, or "" if there is none.
// The session then stays in the folder that the server was started in.
func (p *Program) chooseRoot(c *ClientRoots, start string, log *slog.Logger) string {
	if !c.Asked {
		log.Info("the server was started in no workspace, and the client has no roots; it works in the folder it was started in", "root", start)
		return ""
	}
	chosen, reason := "", c.Reason
	for _, uri := range c.URIs {
		folder, err := p.rootFolder(uri)
		switch {
		case err != nil:
			reason = err
			log.Warn("a root of the client is not used", "uri", uri, "reason", err)
		case chosen == "":
			chosen = folder
		default:
			log.Info("a root of the client is not used", "uri", uri, "reason", "a session works in one folder, the first one")
		}
	}
	if chosen == "" {
		log.Warn("the client named no folder to work in; the server works in the folder it was started in", "root", start, "reason", reason)
	}
	return chosen
}

// rootFolder returns the folder that a root names, if it can be a workspace. A folder that holds
// the home folder is no project.
func (p *Program) rootFolder(uri string) (string, error) {
	folder, err := folderOfURI(uri, runtime.GOOS)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return "", errors.New("the folder does not exist")
	}
	real := realPath(folder)
	system, _ := clients.NewSystem(runtime.GOOS, p.Env) // no home folder is no error here
	if real == filepath.Dir(real) || system.Home != "" && isWithin(real, realPath(system.Home)) {
		return "", errors.New("it is the home folder or holds it, and so more than one project; use --root to work there")
	}
	return folder, nil
}

// folderOfURI returns the path that a file URI names on a system.
func folderOfURI(uri, goos string) (string, error) {
	u, err := url.Parse(uri)
	switch {
	case err != nil || u.Scheme != "file" || u.Opaque != "":
		return "", errors.New("it is not a file:// URI")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the URI has a query or a fragment; encode ? as %3F and # as %23")
	case strings.ContainsRune(u.Path, 0) || visible.Index(u.Path) >= 0:
		return "", errors.New("the path has characters that cannot be seen")
	}
	isRemote := u.Host != "" && !strings.EqualFold(u.Host, "localhost")
	name := u.Path
	switch {
	case goos != "windows" && isRemote:
		return "", fmt.Errorf("the folder is on another machine, %s", u.Host)
	case goos == "windows" && isRemote:
		name = "//" + u.Host + name
	case goos == "windows":
		name = strings.TrimPrefix(name, "/") // file:///C:/x names C:\x
		if len(name) < 2 || name[1] != ':' {
			return "", errors.New("the path has no drive")
		}
	}
	if goos == "windows" {
		name = strings.ReplaceAll(name, "/", `\`)
	} else if !strings.HasPrefix(name, "/") {
		return "", errors.New("the path is not absolute")
	}
	return filepath.Clean(name), nil
}
