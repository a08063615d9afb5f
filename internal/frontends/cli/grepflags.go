package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The reasons why flags of ripgrep are missing.
const (
	noIgnored  = "ignored files are never searched"
	noHeading  = "names are printed as headings only on a terminal; --color always prints colors"
	noThreads  = "the number of threads cannot be chosen"
	noWidth    = "lines are shortened only on a terminal"
	noReplace  = "the output is never changed"
	noFollow   = "symbolic links are never followed"
	noPCRE     = "patterns use Go's syntax (RE2)"
	noPatterns = "give each pattern with -e"
)

// missingFlags are flags of ripgrep that grep does not have, with the reason.
var missingFlags = map[string]string{
	"u": noIgnored, "unrestricted": noIgnored, "no-ignore": noIgnored, "no-ignore-vcs": noIgnored,
	"heading": noHeading, "p": noHeading, "pretty": noHeading,
	"j": noThreads, "threads": noThreads,
	"M": noWidth, "max-columns": noWidth,
	"r": noReplace, "replace": noReplace,
	"L": noFollow, "follow": noFollow,
	"P": noPCRE, "pcre2": noPCRE,
	"f": noPatterns, "file": noPatterns,
}

// flagError says why a flag of ripgrep is missing.
func (g *grepCommands) flagError(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return g.Program.flagError(cmd, err)
	}
	name := unknown.GetSpecifiedName()
	reason, known := missingFlags[name]
	if !known {
		return g.Program.flagError(cmd, err)
	}
	dashes := "--"
	if len(name) == 1 {
		dashes = "-"
	}
	return usageError{fmt.Errorf("remit grep has no %s%s of ripgrep: %s; see docs/code.md", dashes, name, reason)}
}
