package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/engine/identity"
	"remit/internal/visible"
)

// A configuration file in the workspace may have come with a clone. It may restrict what agents can
// do, but entries that allow more, that send data elsewhere or that speak to the model are in force
// only after a person has trusted them, key and value. What was trusted is stored outside of the
// workspace.

// Entry is a key of the configuration file with its value.
type Entry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// String returns the entry for people, on one line, without passwords.
func (e Entry) String() string { return visible.Line(e.Key) + ": " + e.clipped() }

// clipped returns the beginning of the value, so that a long one hides no other.
func (e Entry) clipped() string {
	const maxValue = 200
	return visible.Clip(visible.Line(e.shown()), maxValue)
}

// shown returns the value without passwords.
func (e Entry) shown() string {
	if toolKey(e.Key) != "" {
		return e.Value
	}
	return withoutPassword(e.Value)
}

// Trust holds what a person has decided about the configuration file of a workspace.
type Trust struct {
	Trusted []TrustedEntry `json:"trusted"`
	// Digests of the entries that a person did not trust.
	Declined []string `json:"declined,omitempty"`
}

// TrustedEntry is an entry that a person has trusted.
type TrustedEntry struct {
	Entry
	At time.Time `json:"at"`
	By string    `json:"by"`
}

func (t *Trust) has(e Entry) bool {
	return slices.ContainsFunc(t.Trusted, func(known TrustedEntry) bool { return known.Entry == e })
}

// TrustStore stores what people have decided about workspaces, outside of them.
type TrustStore interface {
	// Folder returns the path of the key folder, which holds the decisions; "" if there is none.
	Folder() string
	// Load returns the decisions about a workspace, and none with an error. root is its real path.
	Load(root string) (Trust, error)
	// Change changes the decisions about a workspace. Decisions that cannot be read do not count.
	Change(root string, change func(*Trust)) error
	// Revoke removes the decisions about a workspace, whether they can be read or not.
	Revoke(root string) error
}

// trustRule says what a configuration file in the workspace may do with a setting.
type trustRule int

const (
	notInFile    trustRule = iota + 1 // no file can set it
	inForce                           // every value is in force: it restricts, or protects nothing
	dependsValue                      // values that weaken a protection must be trusted
	needsTrust                        // every value must be trusted: it redirects data or callers
	// Only a flag, a variable or a file that --config names can set it.
	operatorOnly
)

// weakens reports whether a value of a setting with the rule dependsValue weakens a protection.
func weakens(key, value string) bool {
	switch key {
	case "approve":
		return value != "ask" && value != "deny"
	case "rate_limits":
		return value != "on"
	case "elicitation":
		return value != "on" && value != "off"
	case "toolsets":
		known := splitList(settingNamed("toolsets").fallback)
		return slices.ContainsFunc(splitList(value), func(set string) bool { return !slices.Contains(known, set) })
	case "code_memory":
		var asked, usual contract.Bytes
		err := errors.Join(asked.UnmarshalText([]byte(value)), usual.UnmarshalText([]byte(settingNamed(key).fallback)))
		return err != nil || asked > usual
	case "log_level":
		return !slices.Contains([]string{"debug", "info", "warn"}, value)
	case "identity":
		return value != "on" && value != "auto"
	}
	return true
}

// beyondDefaults returns the entries of the file that must be trusted, in the order of rank.
func (f *configFile) beyondDefaults() []Entry {
	var list []Entry
	for _, s := range settingsTable {
		value, given := f.settings[s.key]
		if given && (s.trust == needsTrust && value != s.fallback || s.trust == dependsValue && weakens(s.key, value)) {
			list = append(list, Entry{s.key, value})
		}
	}
	for name, rule := range f.tools {
		for _, word := range []Entry{{"title", rule.Title}, {"description", rule.Description}} {
			if word.Value != "" {
				list = append(list, Entry{"tools." + name + "." + word.Key, word.Value})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(toolKey(a.Key), toolKey(b.Key)))
	})
	return list
}

// rank orders entries for people: those that change who approves or who may call come last, next to
// the question.
func (e Entry) rank() int {
	switch {
	case toolKey(e.Key) != "":
		return 0
	case slices.Contains([]string{"elicitation", "identity", "approve"}, e.Key):
		return 2
	}
	return 1
}

// toolKey returns the key of an entry about a tool, and "" for a setting.
func toolKey(key string) string {
	if strings.HasPrefix(key, "tools.") {
		return key
	}
	return ""
}

// without returns the file without the entries.
func (f configFile) without(entries []Entry) configFile {
	f.settings, f.tools = maps.Clone(f.settings), maps.Clone(f.tools)
	for _, e := range entries {
		delete(f.settings, e.Key)
		if rest, isTool := strings.CutPrefix(e.Key, "tools."); isTool {
			name, word, _ := strings.Cut(rest, ".")
			rule := f.tools[name]
			if word == "title" {
				rule.Title = ""
			} else {
				rule.Description = ""
			}
			f.tools[name] = rule
		}
	}
	return f
}

// digestOf identifies a list of entries, for REMIT_TRUST and for what a person has declined.
func digestOf(entries []Entry) string {
	parts := []string{"trust 1"}
	for _, e := range entries {
		parts = append(parts, e.Key, e.Value)
	}
	return identity.Seal(nil, parts...)[:32]
}

// applyTrust divides the entries that must be trusted: into those that nobody has trusted, and
// those that only REMIT_TRUST=all puts in force. A person trusts entries of this workspace, or of
// the main checkout of this worktree. Decisions that cannot be read trust nothing.
func (s *Settings) applyTrust(store TrustStore) {
	known := s.decisions(store)
	given, _ := s.Env("REMIT_TRUST")
	switch left := slices.DeleteFunc(slices.Clone(s.asked), known.has); {
	case len(left) == 0 || given == digestOf(s.asked):
	case given == "all":
		s.TrustedAll = left
	default:
		s.Untrusted = left
	}
}

// mainCheckout returns the main checkout of a linked git worktree, or "". The worktree names its
// checkout, and the checkout must name the worktree: a clone can contain the first, but not the
// second.
func mainCheckout(root string) string {
	folder := firstLine(filepath.Join(root, ".git"))
	folder, isLinked := strings.CutPrefix(folder, "gitdir: ")
	checkout, _, isWorktree := strings.Cut(folder, "/.git/worktrees/")
	if !isLinked || !isWorktree || !filepath.IsAbs(folder) {
		return ""
	}
	back, err := filepath.EvalSymlinks(firstLine(filepath.Join(folder, "gitdir")))
	if err != nil || back != filepath.Join(root, ".git") {
		return ""
	}
	return realPath(checkout)
}

// firstLine returns the only line of a small regular file, or "".
func firstLine(name string) string {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return ""
	}
	text, err := os.ReadFile(name)
	line := strings.TrimRight(string(text), "\r\n")
	if err != nil || strings.Contains(line, "\n") {
		return ""
	}
	return line
}

// realPath returns a path without links in the part of it that exists.
func realPath(name string) string {
	real, err := filepath.EvalSymlinks(name)
	if above := filepath.Dir(name); err != nil && above != name {
		return filepath.Join(realPath(above), filepath.Base(name))
	}
	if err != nil {
		return name
	}
	return real
}

// describeEntries lists entries for a person, one per line.
func describeEntries(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	return b.String()
}

// UntrustedNotice says which entries of the configuration file are not in force, and what to do. It
// is empty if all are.
func (s *Settings) UntrustedNotice() string {
	if len(s.Untrusted) == 0 {
		return ""
	}
	why := ""
	if s.trustProblem != nil {
		why = unreadableTrust(s.trustProblem) + "\n"
	}
	return fmt.Sprintf("%s is not trusted, so these entries are not in force:\n%s%sTo review them, run \"remit trust\" in a terminal.",
		s.Config, describeEntries(s.Untrusted), why)
}

// AgentNotice is UntrustedNotice for a client and its model: it names no command, because only a
// person may trust, and no folder of this machine.
func (s *Settings) AgentNotice() string {
	if len(s.Untrusted) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is not trusted, so these entries are not in force:\n%sThe person who runs this server can review them.",
		filepath.Base(s.Config), describeEntries(s.Untrusted))
}

// unreadableTrust says why earlier decisions do not count.
func unreadableTrust(problem error) string {
	return fmt.Sprintf("What was trusted before does not count, because it cannot be read: %s.", problem)
}

// trustNotice prints which entries of the file are not in force, and for a server also those that
// REMIT_TRUST=all puts in force. It ignores the log level, which the same file may set.
func (p *Program) trustNotice(s *Settings, isServer bool) {
	if notice := s.UntrustedNotice(); notice != "" {
		fmt.Fprintln(p.Stderr, "remit: "+notice)
	}
	if isServer && len(s.TrustedAll) > 0 {
		fmt.Fprintf(p.Stderr, "remit: warning: REMIT_TRUST=all puts these entries of %s in force, which nobody has reviewed:\n%s"+
			"To allow only these, set REMIT_TRUST=%s instead.\n", s.Config, describeEntries(s.TrustedAll), digestOf(s.asked))
	}
}

var errNoTrustStore = errors.New("this program has no key folder, so nothing can be trusted")

// trustTimeout is how long serve waits for an answer about the configuration file.
const trustTimeout = time.Minute

// askTrust asks the person who starts serve about the entries that are not trusted, once. It
// reports whether something was trusted. No answer means later.
func (p *Program) askTrust(ctx context.Context, s *Settings) (bool, error) {
	if len(s.Untrusted) == 0 || p.trust(s) == nil || !(terminal{p}).interactive() {
		return false, nil
	}
	root := realPath(s.Root)
	// Decisions that cannot be read are no decisions.
	if known, _ := p.trust(s).Load(root); slices.Contains(known.Declined, digestOf(s.Untrusted)) {
		return false, nil
	}
	asking, cancel := context.WithTimeout(ctx, trustTimeout)
	defer cancel()
	yes, err := p.confirmPerson(asking, trustQuestion(s.Config, s.Untrusted))
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errNoTerminal) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return yes, p.decideTrust(ctx, s, s.Untrusted, yes)
}

func trustQuestion(file string, entries []Entry) string {
	return fmt.Sprintf("%s asks for more than the defaults:\n%sTrust %s for this workspace?", file, describeEntries(entries),
		map[bool]string{true: "this entry", false: fmt.Sprintf("these %d entries", len(entries))}[len(entries) == 1])
}

// dropStale removes the trust in entries that the file no longer has, so that a later commit cannot
// bring them back unseen.
func (s *Settings) dropStale(t *Trust) {
	t.Trusted = slices.DeleteFunc(t.Trusted, func(e TrustedEntry) bool { return !slices.Contains(s.asked, e.Entry) })
}

// forgetStale stores what dropStale removes, if anything. Decisions that cannot be read stay as
// they are.
func (p *Program) forgetStale(s *Settings) error {
	store := p.trust(s)
	if store == nil {
		return nil
	}
	known, _ := store.Load(realPath(s.Root))
	before := len(known.Trusted)
	if s.dropStale(&known); len(known.Trusted) == before {
		return nil
	}
	return store.Change(realPath(s.Root), s.dropStale)
}

// settleTrust drops the trust in entries that the file no longer has. For serve, it also asks about
// entries that are not trusted, and returns the settings with those that now are.
func (p *Program) settleTrust(cmd *cobra.Command, s Settings) (Settings, error) {
	if err := p.forgetStale(&s); err != nil {
		return s, err
	}
	if cmd.Name() != "serve" {
		return s, nil
	}
	trusted, err := p.askTrust(cmd.Context(), &s)
	if err != nil || !trusted {
		return s, err
	}
	return p.settings(cmd)
}
