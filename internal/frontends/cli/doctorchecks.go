package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"remit/internal/frontends/cli/clients"
)

// The timeouts of the checks of doctor.
const (
	healthTimeout  = 3 * time.Second
	versionTimeout = 10 * time.Second
)

// noRecordFix is the fix for a data folder that cannot be written.
const noRecordFix = "Make the folder writable, or name another one with --data. Until then every call is refused, " +
	"because it cannot be recorded."

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// wrapped breaks text into lines of at most maxWidth columns. It does not break lines if maxWidth
// is below 20.
func wrapped(text string, maxWidth int) []string {
	if maxWidth < 20 {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && columns(line)+1+columns(word) > maxWidth {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// checkWorkspace checks that the root can be read, and written by creating and removing a file.
func checkWorkspace(s *Settings) Check {
	c := Check{Name: "workspace", Status: StatusOK, Finding: s.Root + " can be read and written"}
	if _, err := os.ReadDir(s.Root); err != nil {
		return Check{
			"workspace", StatusFail,
			fmt.Sprintf("%s cannot be read: %v", s.Root, reasonOf(err)),
			"Make it readable, or name another folder with --root.",
		}
	}
	if s.ReadOnly {
		c.Finding = s.Root + " can be read; the setting read_only prevents writes"
	} else if err := tryWriting(s.Root); err != nil {
		return Check{
			"workspace", StatusWarn,
			fmt.Sprintf("%s cannot be written: %v", s.Root, err),
			"Make it writable, or use --read-only so that no tool that writes is offered.",
		}
	}
	return c
}

// tryWriting creates a file and removes it.
func tryWriting(folder string) error {
	f, err := os.CreateTemp(folder, ".remit-doctor-*")
	if err != nil {
		return reasonOf(err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) //nolint:gosec // it was just created
}

// reasonOf removes the path or the address from an error, because the message already has it.
func reasonOf(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return failed.Err
	}
	return err
}

// checkData checks the data folder. It does not create the folder: Remit does that when it first
// stores something.
func checkData(s *Settings) []Check {
	info, err := os.Lstat(s.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Check{checkCanCreate(s.Data)}
	case err != nil:
		return []Check{{"data", StatusFail, fmt.Sprintf("%s cannot be read: %v", s.Data, reasonOf(err)), "Name another folder with --data."}}
	case info.Mode()&fs.ModeSymlink != 0:
		return []Check{{
			"data", StatusFail,
			s.Data + " is a symbolic link",
			"A workspace could redirect your data with it. Remove it, or name its target with --data.",
		}}
	case !info.IsDir():
		return []Check{{"data", StatusFail, s.Data + " is not a folder", "Move it away, or name another folder with --data."}}
	}
	checks := []Check{{"data", StatusOK, s.Data + " can be written", ""}}
	if err := tryWriting(s.Data); err != nil {
		checks[0] = Check{"data", StatusFail, fmt.Sprintf("%s cannot be written: %v", s.Data, err), noRecordFix}
	}
	if open := info.Mode().Perm() & 0o077; open != 0 && runtime.GOOS != "windows" {
		checks = append(checks, Check{
			"data mode", StatusWarn,
			fmt.Sprintf("%s has mode %o: others on this machine can read it", s.Data, info.Mode().Perm()),
			"chmod 700 " + s.Data,
		})
	}
	return append(checks, checkIgnored(s)...)
}

// checkCanCreate checks whether a missing folder can be created: its nearest existing parent must
// be writable.
func checkCanCreate(folder string) Check {
	above := filepath.Dir(folder)
	for ; above != filepath.Dir(above); above = filepath.Dir(above) {
		if _, err := os.Lstat(above); err == nil {
			break
		}
	}
	if err := tryWriting(above); err != nil {
		return Check{"data", StatusFail, fmt.Sprintf("%s does not exist and cannot be created: %v", folder, err), noRecordFix}
	}
	return Check{"data", StatusOK, folder + " does not exist yet; Remit creates it when it first stores something", ""}
}

// checkIgnored checks that git ignores a data folder inside a repository.
func checkIgnored(s *Settings) []Check {
	beneath, err := filepath.Rel(s.Root, s.Data)
	if err != nil || !filepath.IsLocal(beneath) || !isInRepository(s.Root) {
		return nil
	}
	ignore, err := os.ReadFile(filepath.Join(s.Data, ".gitignore"))
	if err == nil && strings.Contains("\n"+strings.ReplaceAll(string(ignore), "\r", "")+"\n", "\n*\n") {
		return []Check{{"git", StatusOK, "git ignores " + s.Data, ""}}
	}
	return []Check{{
		"git", StatusWarn,
		filepath.Join(s.Data, ".gitignore") + " has no line \"*\", so git may commit your data",
		"echo '*' > " + filepath.Join(s.Data, ".gitignore"),
	}}
}

func isInRepository(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, ".git"))
	above := filepath.Dir(folder)
	return err == nil || above != folder && isInRepository(above)
}

// checkAddress checks whether the address is free for serve, or Remit listens there already.
func (p *Program) checkAddress(ctx context.Context, s *Settings) Check {
	const name = "address"
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Addr)
	if err == nil {
		_ = listener.Close() // no connection was accepted
		return Check{name, StatusOK, s.Addr + " is free for serve", ""}
	}
	scheme := "http://"
	if s.TLSCert != "" {
		scheme = "https://"
	}
	version, status, asked := healthAt(ctx, scheme+s.Addr)
	switch {
	case asked != nil:
		return Check{
			name, StatusFail,
			fmt.Sprintf("serve cannot listen on %s (%v), and the program that listens there is not Remit", s.Addr, reasonOf(err)),
			"Stop that program, or choose another address with --addr.",
		}
	case version != p.Version:
		return Check{
			name, StatusWarn,
			fmt.Sprintf("Remit %s serves %s; this program is version %s", version, s.Addr, p.Version),
			"Restart \"remit serve\" with this version.",
		}
	case status != "ok":
		return Check{
			name, StatusWarn,
			fmt.Sprintf("Remit serves %s with status %s", s.Addr, status),
			"See its log, or GET /health, for the part that does not work.",
		}
	}
	return Check{name, StatusOK, "Remit serves " + s.Addr, ""}
}

// healthAt returns the version and status of a Remit server. It fails if the server is not Remit.
func healthAt(ctx context.Context, base string) (version, status string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/health", nil)
	if err != nil {
		return "", "", err
	}
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		// The certificate is for the public name, not this address. No secret is sent, and the
		// answer is only shown.
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, //nolint:gosec // see above
	}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = response.Body.Close() }() // nothing was written to it
	var health struct {
		Status, Version string
		Checks          map[string]string
	}
	err = json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&health)
	if err != nil || health.Version == "" || health.Checks == nil {
		return "", "", errors.New("the answer is not that of Remit")
	}
	return health.Version, health.Status, nil
}

// checkClock compares the clock with the build time of this program, which cannot be in the future.
func (p *Program) checkClock() Check {
	now := p.Now()
	c := Check{Name: "clock", Status: StatusOK, Finding: now.Format(time.RFC3339)}
	path, err := os.Executable()
	if err != nil {
		return c
	}
	info, err := os.Stat(path)
	if err == nil && info.ModTime().After(now.Add(24*time.Hour)) {
		c.Status = StatusWarn
		c.Finding = fmt.Sprintf("the clock shows %s, but this program was built at %s",
			now.Format(time.RFC3339), info.ModTime().Format(time.RFC3339))
		c.Fix = "Set the clock: approvals, tokens and rate limits depend on it."
	}
	return c
}

// checkClients checks the entries of Remit in the configuration files of clients: those of the
// user, and those of the project, if root is not "".
func (p *Program) checkClients(root string) []Check {
	system, err := clients.NewSystem(runtime.GOOS, p.Env)
	if err != nil {
		return []Check{{"clients", StatusWarn, err.Error(), "Set it; \"remit install\" cannot connect a client without it."}}
	}
	system.Project = root
	var checks []Check
	connected := 0
	for _, c := range clients.All() {
		for _, target := range []*clients.Client{c.InProject(), c} {
			if target == nil || target.IsInProject() && root == "" {
				continue
			}
			entry, found, err := target.Installed(target.File(system), "remit")
			switch {
			case err != nil:
				checks = append(checks, Check{
					"client " + c.Name, StatusWarn,
					err.Error(),
					"Correct the file there; until then the client may not be able to read it either.",
				})
			case found && target.IsInProject():
				connected++
				checks = append(checks, checkProjectEntry(c, entry, root))
			case found:
				connected++
				checks = append(checks, p.checkEntry(c, entry))
			}
		}
	}
	if connected == 0 {
		checks = append(checks, Check{
			"clients", StatusOK,
			"no client has Remit in its own configuration file; \"remit install CLIENT\" connects one",
			"",
		})
	}
	return checks
}

// checkProjectEntry checks that the file of a project starts this program. It starts nothing,
// because the file may have come with a clone.
func checkProjectEntry(c *clients.Client, entry clients.Entry, root string) Check {
	name, again := "client "+c.Name+" (project)", "remit install "+c.Name
	if entry.Command == "" && entry.URL != "" {
		return Check{name, StatusOK, "connects to " + withoutPassword(entry.URL), ""}
	}
	command, err := entry.Command, error(nil)
	if filepath.Base(command) == command {
		command, err = exec.LookPath(command)
	} else if !filepath.IsAbs(command) {
		command = filepath.Join(root, filepath.FromSlash(command))
	}
	if err != nil || !isFile(command) {
		return Check{name, StatusFail, "starts " + entry.Command + ", which does not exist or is not on your PATH", again}
	}
	if own, err := ownPath(os.Executable); err == nil && samePlace(own, command) {
		return Check{name, StatusOK, "starts " + entry.Command, ""}
	}
	return Check{name, StatusWarn, "starts " + entry.Command + ", which is not this program", again}
}

// checkEntry checks that a client starts this program.
func (p *Program) checkEntry(c *clients.Client, entry clients.Entry) Check {
	name, again := "client "+c.Name, "remit install "+c.Name
	if c.InProject() != nil {
		again += " --user"
	}
	switch {
	case entry.Command == "" && entry.URL != "":
		return Check{name, StatusOK, "connects to " + withoutPassword(entry.URL), ""}
	case !filepath.IsAbs(entry.Command):
		return Check{
			name, StatusWarn,
			fmt.Sprintf("starts %q, which is not an absolute path: the client may start another program, or none", entry.Command),
			again,
		}
	case !isFile(entry.Command):
		return Check{name, StatusFail, "starts " + entry.Command + ", which does not exist", again}
	}
	if own, err := ownPath(os.Executable); err == nil && samePlace(own, entry.Command) {
		return Check{name, StatusOK, "starts " + entry.Command, ""}
	}
	version := versionOf(entry.Command)
	if version != p.Version {
		return Check{name, StatusWarn, fmt.Sprintf("starts %s, which is %q, not remit %s", entry.Command, version, p.Version), again}
	}
	return Check{name, StatusOK, "starts " + entry.Command + ", which has this version", ""}
}

func samePlace(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// versionOf runs "remit version" of a program named remit. It does not start other programs.
func versionOf(command string) string {
	if base := strings.TrimSuffix(filepath.Base(command), ".exe"); base != "remit" {
		return base
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, "version")
	cmd.WaitDelay = time.Second // for child processes that it left running
	out, err := cmd.Output()
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return strings.TrimPrefix(first, "remit ")
}
