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

// How long what doctor asks may take.
const (
	askPatience   = 3 * time.Second
	startPatience = 10 * time.Second
)

// noRecordFix is for a data folder that nobody can write in.
const noRecordFix = "Give yourself the right to write there, or name another folder with --data. Until then no call is on record, so none is carried out."

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// wrapped breaks a text into lines of so many columns; fewer than 20 are no limit.
func wrapped(text string, room int) []string {
	if room < 20 {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && columns(line)+1+columns(word) > room {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// checkWorkspace reads the root, and writes there what it then removes.
func checkWorkspace(s *Settings) Check {
	c := Check{Name: "workspace", Status: Well, Found: s.Root + " can be read and written"}
	if _, err := os.ReadDir(s.Root); err != nil {
		return Check{"workspace", Failed, fmt.Sprintf("%s cannot be read: %v", s.Root, reasonOf(err)), "Give yourself the right to read it, or name another with --root."}
	}
	if s.ReadOnly {
		c.Found = s.Root + " can be read; --read-only keeps it from being written"
	} else if err := tryWriting(s.Root); err != nil {
		return Check{"workspace", Warned, fmt.Sprintf("%s cannot be written: %v", s.Root, err), "Give yourself the right to write there, or use --read-only so that no tool offers to."}
	}
	return c
}

// tryWriting makes a file and removes it.
func tryWriting(folder string) error {
	f, err := os.CreateTemp(folder, ".remit-doctor-*")
	if err != nil {
		return reasonOf(err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// reasonOf leaves out the path or the address that the message names already.
func reasonOf(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return failed.Err
	}
	return err
}

// checkData looks at Remit's own folder, as it is: it is made with the first that is
// kept there.
func checkData(s *Settings) []Check {
	info, err := os.Lstat(s.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Check{checkMaking(s.Data)}
	case err != nil:
		return []Check{{"data", Failed, fmt.Sprintf("%s cannot be looked at: %v", s.Data, reasonOf(err)), "Name another folder with --data."}}
	case info.Mode()&fs.ModeSymlink != 0:
		return []Check{{"data", Failed, s.Data + " is a link", "A workspace could lead your data elsewhere with it. Remove it, or name the folder that it leads to with --data."}}
	case !info.IsDir():
		return []Check{{"data", Failed, s.Data + " is no folder", "Move it away, or name another folder with --data."}}
	}
	checks := []Check{{"data", Well, s.Data + " can be written", ""}}
	if err := tryWriting(s.Data); err != nil {
		checks[0] = Check{"data", Failed, fmt.Sprintf("%s cannot be written: %v", s.Data, err), noRecordFix}
	}
	if open := info.Mode().Perm() & 0o077; open != 0 && runtime.GOOS != "windows" {
		checks = append(checks, Check{"data mode", Warned, fmt.Sprintf("%s has mode %o: others on this machine can look into it", s.Data, info.Mode().Perm()), "chmod 700 " + s.Data})
	}
	return append(checks, checkIgnored(s)...)
}

// checkMaking tells whether a folder that is not there could be made: somebody could
// write in the first above it that is there.
func checkMaking(folder string) Check {
	above := filepath.Dir(folder)
	for ; above != filepath.Dir(above); above = filepath.Dir(above) {
		if _, err := os.Lstat(above); err == nil {
			break
		}
	}
	if err := tryWriting(above); err != nil {
		return Check{"data", Failed, fmt.Sprintf("%s is not there and cannot be made: %v", folder, err), noRecordFix}
	}
	return Check{"data", Well, folder + " is not there yet; it is made when something is first kept", ""}
}

// checkIgnored tells whether git keeps its hands off a data folder in a repository.
func checkIgnored(s *Settings) []Check {
	beneath, err := filepath.Rel(s.Root, s.Data)
	if err != nil || !filepath.IsLocal(beneath) || !isInRepository(s.Root) {
		return nil
	}
	ignore, err := os.ReadFile(filepath.Join(s.Data, ".gitignore"))
	if err == nil && strings.Contains("\n"+strings.ReplaceAll(string(ignore), "\r", "")+"\n", "\n*\n") {
		return []Check{{"git", Well, "git ignores " + s.Data, ""}}
	}
	return []Check{{"git", Warned, filepath.Join(s.Data, ".gitignore") + " does not say \"*\", so git may take your data along", "echo '*' > " + filepath.Join(s.Data, ".gitignore")}}
}

func isInRepository(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, ".git"))
	above := filepath.Dir(folder)
	return err == nil || above != folder && isInRepository(above)
}

// checkAddress tells whether serve could listen, or does.
func (p *Program) checkAddress(ctx context.Context, s *Settings) Check {
	const name = "address"
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Addr)
	if err == nil {
		_ = listener.Close() // nobody came
		return Check{name, Well, s.Addr + " is free for serve", ""}
	}
	scheme := "http://"
	if s.TLSCert != "" {
		scheme = "https://"
	}
	version, status, asked := healthAt(ctx, scheme+s.Addr)
	switch {
	case asked != nil:
		return Check{name, Failed, fmt.Sprintf("serve cannot listen on %s (%v), and what is there does not answer as Remit does", s.Addr, reasonOf(err)), "End what listens there, or choose another address with --addr."}
	case version != p.Version:
		return Check{name, Warned, fmt.Sprintf("Remit %s serves %s; this is %s", version, s.Addr, p.Version), "Restart \"remit serve\" with this version."}
	case status != "ok":
		return Check{name, Warned, fmt.Sprintf("Remit serves %s, and is %s", s.Addr, status), "Its log says which part does not work; GET /health names it."}
	}
	return Check{name, Well, "Remit serves " + s.Addr, ""}
}

// healthAt asks a server whether it is Remit, and how it is.
func healthAt(ctx context.Context, base string) (version, status string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/health", nil)
	if err != nil {
		return "", "", err
	}
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		// The certificate is for a name that others use. Nothing secret is sent, and nothing taken on trust.
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, //nolint:gosec // see above
	}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	var said struct {
		Status, Version string
		Checks          map[string]string
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&said); err != nil || said.Version == "" || said.Checks == nil {
		return "", "", errors.New("it does not say what Remit says")
	}
	return said.Version, said.Status, nil
}

// checkClock compares the clock with what cannot be in its future.
func (p *Program) checkClock() Check {
	now := p.Now()
	c := Check{Name: "clock", Status: Well, Found: now.Format(time.RFC3339)}
	path, err := os.Executable()
	if err != nil {
		return c
	}
	info, err := os.Stat(path)
	if err == nil && info.ModTime().After(now.Add(24*time.Hour)) {
		c.Status = Warned
		c.Found = fmt.Sprintf("the clock says %s, but this program was made at %s", now.Format(time.RFC3339), info.ModTime().Format(time.RFC3339))
		c.Fix = "Set the clock: approvals, tokens and rate limits go by it."
	}
	return c
}

// checkClients looks at the entries of clients that were connected.
func (p *Program) checkClients() []Check {
	system, err := clients.SystemOf(runtime.GOOS, p.Env)
	if err != nil {
		return []Check{{"clients", Warned, err.Error(), "Without it no client can be connected with \"remit install\"."}}
	}
	var checks []Check
	connected := 0
	for _, c := range clients.All() {
		said, isThere, err := c.Installed(c.File(system), "remit")
		switch {
		case err != nil:
			checks = append(checks, Check{"client " + c.Name, Warned, err.Error(), "Mend it there; until then the client may not read it either."})
		case isThere:
			connected++
			checks = append(checks, p.checkEntry(c, said))
		}
	}
	if connected == 0 {
		checks = append(checks, Check{"clients", Well, "none is connected by its own file; \"remit install CLIENT\" connects one", ""})
	}
	return checks
}

// checkEntry tells whether a client would start this program.
func (p *Program) checkEntry(c *clients.Client, said clients.Entry) Check {
	name, again := "client "+c.Name, "remit install "+c.Name
	switch {
	case said.Command == "" && said.URL != "":
		return Check{name, Well, "connects to " + withoutPassword(said.URL), ""}
	case !filepath.IsAbs(said.Command):
		return Check{name, Warned, fmt.Sprintf("starts %q, which is no whole path: it may find another program, or none", said.Command), again}
	case !isFile(said.Command):
		return Check{name, Failed, "starts " + said.Command + ", which is not there", again}
	}
	if own, err := ownPath(os.Executable); err == nil && samePlace(own, said.Command) {
		return Check{name, Well, "starts " + said.Command, ""}
	}
	version := versionOf(said.Command)
	if version != p.Version {
		return Check{name, Warned, fmt.Sprintf("starts %s, which says it is %q; this is remit %s", said.Command, version, p.Version), again}
	}
	return Check{name, Well, "starts " + said.Command + ", of this version", ""}
}

func samePlace(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// versionOf asks a program that is named as this one is; others are not started.
func versionOf(command string) string {
	if base := strings.TrimSuffix(filepath.Base(command), ".exe"); base != "remit" {
		return base
	}
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, "version")
	cmd.WaitDelay = time.Second // for what it started itself and left behind
	out, err := cmd.Output()
	if err != nil {
		return "nothing at all"
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return strings.TrimPrefix(first, "remit ")
}
