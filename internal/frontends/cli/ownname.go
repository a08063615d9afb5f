package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"remit/internal/contract"
)

// nameVariable says how a person starts this program, if neither its path nor PATH tells.
const nameVariable = "REMIT_COMMAND"

// ownName returns what a person types to run this program again in the current folder: remit if
// that is what PATH finds, or else the path of the program.
func (p *Program) ownName() string {
	if p.Executable == nil {
		return "remit"
	}
	if name, _ := p.Env(nameVariable); name != "" {
		return contract.ShellLine(name)
	}
	path, err := p.Executable()
	if err != nil {
		return "remit"
	}
	if found, err := exec.LookPath("remit"); err == nil && samePlace(found, path) {
		return "remit"
	}
	if _, err := ownPath(p.Executable); err != nil && isFolder(filepath.Join("cmd", "remit")) {
		return "go run ./cmd/remit"
	}
	here, err := os.Getwd()
	if inner, relErr := filepath.Rel(realPath(here), realPath(path)); err == nil && relErr == nil && filepath.IsLocal(inner) {
		path = "." + string(filepath.Separator) + inner
	}
	return contract.ShellLine(path)
}

// hint returns a text with commands that begin with remit, as a person can type them.
func (p *Program) hint(text string) string {
	if name := p.ownName(); name != "remit" {
		return strings.ReplaceAll(text, "remit ", name+" ")
	}
	return text
}

// errorHint is hint for a message that may have other texts in it: it changes quoted commands only.
func (p *Program) errorHint(text string) string {
	if name := p.ownName(); name != "remit" {
		return strings.ReplaceAll(text, `"remit `, `"`+name+" ")
	}
	return text
}
