package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/visible"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// resolver looks up values by precedence: flag, environment, file, default.
type resolver struct {
	command   string // the name of the command
	flags     *pflag.FlagSet
	env       func(string) (string, bool)
	file      configFile
	untrusted []Entry // entries of the file that are not in force
	found     []Value
	here      string // see Settings
	// The folder that the client of a stdio session works in; "" for the current folder.
	clientFolder string
	noProject    bool // see Settings
	unmarked     bool // see Settings
	manyProjects bool // holdsProjects(root)
}

// resolver returns a resolver for a command.
func (p *Program) resolver(cmd *cobra.Command) *resolver {
	return &resolver{command: cmd.Name(), flags: cmd.Flags(), env: p.Env, clientFolder: p.clientFolder}
}

// settings returns the effective value of every setting. An entry of a file that nobody has trusted
// must be valid, but is not in force.
func (p *Program) settings(cmd *cobra.Command) (Settings, error) {
	return p.resolve(p.resolver(cmd))
}

func (p *Program) resolve(r *resolver) (Settings, error) {
	s := Settings{Env: p.Env}
	var err error
	if s.Root, err = r.root(); err != nil {
		return s, err
	}
	s.here, s.noProject, s.unmarked = r.here, r.noProject, r.unmarked
	p.rootNotice(&s)
	if s.unmarked && r.manyProjects {
		root := s.Root
		s.OnCreate = sync.OnceFunc(func() {
			fmt.Fprintf(p.Stderr, "remit: %s is no project, but becomes a workspace now; "+
				"to use another folder, cd into a project first, or add --root\n", root)
		})
	}
	if err := p.keys(r, &s); err != nil {
		return s, err
	}
	_, origin := r.lookup("config")
	s.Config = r.path(&s, "config")
	if r.file, err = readConfig(s.Config, origin != FromDefault); err != nil {
		return s, err
	}
	if origin != FromDefault { // the operator named the file
		return s, r.values(&s)
	}
	if err := r.file.checkOperatorOnly(); err != nil {
		return s, err
	}
	checked, all := s, *r
	if err := all.values(&checked); err != nil {
		return checked, err
	}
	s.asked = slices.DeleteFunc(r.file.beyondDefaults(), p.hasUnknownToolset)
	s.applyTrust(p.trust(&s))
	r.untrusted, r.file = s.Untrusted, r.file.without(s.Untrusted)
	if err := r.file.checkWithin(s.Root); err != nil {
		return s, err
	}
	return s, r.values(&s)
}

// hasUnknownToolset reports whether an entry names a toolset that does not exist. Such an entry is
// an error, which opening the workspace reports, and need not be trusted.
func (p *Program) hasUnknownToolset(e Entry) bool {
	if e.Key != "toolsets" || p.Catalog == nil {
		return false
	}
	names := splitList(e.Value)
	sets, err := p.Catalog(names...)
	known := setNames(sets)
	return err == nil && slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(known, name) })
}

// keys resolves the key folder. config print shows the default folder too.
func (p *Program) keys(r *resolver, s *Settings) error {
	text, origin := r.lookup("keys")
	if strings.HasPrefix(text, "~") {
		return &contract.SettingError{Key: "keys", Err: fmt.Errorf("%s is not a path: only a shell replaces ~; write the path in full", text)}
	}
	if text != "" {
		var err error
		if s.Keys, err = filepath.Abs(text); err != nil {
			return &contract.SettingError{Key: "keys", Err: err}
		}
		if !isNoProject(s.Root) && (overlap(realPath(s.Root), realPath(s.Keys)) || overlap(s.Root, s.Keys)) {
			return &contract.SettingError{Key: "keys", Err: fmt.Errorf("%s and the workspace %s overlap, so that a clone could bring "+
				"its own keys; name a folder outside of every workspace", s.Keys, s.Root)}
		}
	}
	shown := s.Keys
	if store := p.trust(s); store != nil {
		shown = store.Folder()
	}
	r.record("keys", shown, origin)
	return nil
}

// isNoProject reports whether a folder holds the home folder or temporary files, so that nobody has
// cloned it: a command like "remit tools" may run anywhere.
func isNoProject(root string) bool {
	home, err := os.UserHomeDir()
	return err == nil && isWithin(root, home) || isWithin(root, os.TempDir())
}

// overlap reports whether one of two folders is within the other.
func overlap(a, b string) bool {
	return isWithin(a, b) || isWithin(b, a)
}

// trust returns the store of what people have trusted, nil if there is none.
func (p *Program) trust(s *Settings) TrustStore {
	if p.Trust == nil {
		return nil
	}
	return p.Trust(s.Keys, p.Env)
}

// values sets the settings that a file may contain.
func (r *resolver) values(s *Settings) error {
	s.file, s.Tools = r.file, r.file.tools
	s.Data = r.path(s, "data")
	database, databaseOrigin := r.lookup("database")
	database = expandPrefix(database, "sqlite://ROOT/", "sqlite://"+s.Root+"/")
	s.Database = expandPrefix(database, "sqlite://DATA/", "sqlite://"+s.Data+"/")
	r.record("database", withoutPassword(s.Database), databaseOrigin)
	err := errors.Join(
		r.books(s),
		r.parse("public_url", webAddress(&s.PublicURL)),
		r.parse("cdn_url", webAddress(&s.CDNURL)),
		r.parse("toolsets", func(text string) error {
			if s.Toolsets = splitList(text); len(s.Toolsets) == 0 {
				return errors.New("name at least one toolset")
			}
			return nil
		}),
		r.parse("read_only", oneOf(&s.ReadOnly, "true", "false")),
		r.parse("approve", func(text string) (err error) { s.Approve, err = approval.ParseMode(text); return err }),
		r.deny(s),
		r.parse("watch", oneOf(&s.Watch, "on", "off")),
		r.parse("code_memory", func(text string) error { return s.CodeMemory.UnmarshalText([]byte(text)) }),
		r.embeddings(s),
		r.parse("elicitation", oneOf(&s.Elicitation, "on", "off")),
		r.parse("rate_limits", oneOf(&s.RateLimits, "on", "off")),
		r.parse("bridge", oneOf(&s.Bridge, "on", "off")),
		r.logging(s),
		r.parse("audit_keep", s.parseAuditKeep),
		r.parse("addr", s.parseAddr),
		r.access(s),
	)
	for _, e := range r.untrusted {
		if toolKey(e.Key) != "" { // the contract has the words that are in force
			r.found = append(r.found, Value{Key: e.Key, Origin: notTrusted, Asked: e.Value})
		}
	}
	s.values = r.found
	return err
}

// checkVisible rejects flags and variables with characters that cannot be seen, like the words of
// the file.
func (r *resolver) checkVisible() error {
	for _, s := range settingsTable {
		for _, given := range r.sources(s.key) {
			if given.Origin == FromFile || visible.Index(given.Value) < 0 {
				continue
			}
			name := "--" + s.flag()
			if given.Origin == FromEnv {
				name = s.variable()
			}
			return fmt.Errorf("%s: %s has characters that cannot be seen; remove them", name, quoted(withoutPassword(given.Value)))
		}
	}
	return nil
}

// root returns the absolute path of the workspace folder, if flags and variables can be used.
func (r *resolver) root() (string, error) {
	if err := r.checkVisible(); err != nil {
		return "", err
	}
	text, origin := r.lookup("root")
	root, err := filepath.Abs(text)
	if err == nil && origin == FromDefault {
		root, err = r.findDefault()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("the current folder does not exist any more; go to another one with cd")
	case err != nil:
		return "", fmt.Errorf("find the root folder: %w", err)
	}
	r.record("root", root, origin)
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return "", fmt.Errorf("root (from %s): folder %s does not exist", origin, root)
	}
	return root, nil
}

// LocalEmbeddings is the value of Settings.Embeddings for the built-in model.
const LocalEmbeddings = "local"

// embeddings resolves the source of embeddings. A service needs the name of a model.
func (r *resolver) embeddings(s *Settings) error {
	return errors.Join(
		r.parse("embeddings", func(text string) error {
			s.Embeddings = LocalEmbeddings
			if text == LocalEmbeddings {
				return nil
			}
			return webAddress(&s.Embeddings)(text)
		}),
		r.parse("embeddings_model", func(text string) error {
			s.EmbeddingsModel = strings.TrimSpace(text)
			if s.EmbeddingsModel == "" && s.Embeddings != LocalEmbeddings {
				return fmt.Errorf("name the model of %s, such as text-embedding-3-small", s.Embeddings)
			}
			return nil
		}),
		r.parse("embeddings_only", oneOf(&s.EmbeddingsOnly, "on", "off")),
	)
}

// access resolves how serve identifies callers and encrypts connections.
func (r *resolver) access(s *Settings) error {
	s.TLSCert, s.TLSKey = r.optionalPath(s, "tls_cert"), r.optionalPath(s, "tls_key")
	err := errors.Join(
		r.parse("behind_proxy", oneOf(&s.BehindProxy, "true", "false")),
		r.parse("identity", func(text string) error {
			s.Identity = text
			return contract.OneOf(text, "auto", "on", "off")
		}),
		r.parse("oidc_issuer", issuerAddress(&s.OIDCIssuer)),
		r.parse("oidc_audience", func(text string) error { s.OIDCAudience = text; return nil }),
		r.parse("oidc_user", func(text string) error { s.OIDCUser = text; return nil }),
		r.webhook(s),
		r.webhookFormat(s),
	)
	if (s.TLSCert == "") != (s.TLSKey == "") {
		err = errors.Join(err, errors.New("tls_cert and tls_key must be set together; set both or neither"))
	}
	return err
}

// logging resolves what is logged, and where.
func (r *resolver) logging(s *Settings) error {
	s.LogFile = r.optionalPath(s, "log_file")
	return errors.Join(
		r.parse("log_level", func(text string) error {
			if s.LogLevel.UnmarshalText([]byte(text)) != nil {
				return contract.OneOf(text, "debug", "info", "warn", "error")
			}
			return nil
		}),
		r.parse("log_format", func(text string) error {
			s.LogFormat = text
			return contract.OneOf(text, LogText, LogJSON)
		}),
	)
}

// parseAuditKeep sets how long audit records are kept.
func (s *Settings) parseAuditKeep(text string) error {
	if text == settingNamed("audit_keep").fallback {
		return nil
	}
	keep, err := parseDuration(text)
	if err != nil || keep%(24*time.Hour) != 0 {
		return fmt.Errorf("%q must be a number of days such as 365d, or forever", text)
	}
	s.AuditKeep = keep
	return nil
}

// optionalPath resolves a path that may be empty.
func (r *resolver) optionalPath(s *Settings, key string) string {
	text, origin := r.lookup(key)
	if text == "" {
		r.record(key, "", origin)
		return ""
	}
	return r.path(s, key)
}

// parseAddr sets the address if it is a valid host and port.
func (s *Settings) parseAddr(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%q must be a host and a port, such as 127.0.0.1:8722", text)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not a port; use 0 to 65535 (0 takes any free port)", port)
	}
	s.Addr = text
	return nil
}

// lookup returns the value of a setting and its origin.
func (r *resolver) lookup(key string) (string, Origin) {
	if found := r.sources(key); len(found) > 0 {
		return found[0].Value, found[0].Origin
	}
	return settingNamed(key).fallback, FromDefault
}

func (r *resolver) record(key, text string, origin Origin) {
	v := Value{Key: key, Value: text, Origin: origin}
	for _, e := range r.untrusted {
		if e.Key == key && origin == FromDefault {
			v.Origin, v.Asked = notTrusted, withoutPassword(e.Value)
		}
	}
	r.found = append(r.found, v)
}

// path resolves a path. A path from the file is relative to the root; a path from a flag or
// variable is relative to the current folder.
func (r *resolver) path(s *Settings, key string) string {
	text, origin := r.lookup(key)
	text = s.absolute(text, origin)
	r.record(key, text, origin)
	return text
}

func (s *Settings) absolute(path string, origin Origin) string {
	path = expandPrefix(path, "ROOT/", s.Root+"/")
	if origin == FromFile && !filepath.IsAbs(path) {
		path = filepath.Join(s.Root, path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// expandPrefix replaces a placeholder such as ROOT/ at the start of a value. Elsewhere in a path
// the same letters are an ordinary name.
func expandPrefix(text, word, folder string) string {
	if rest, ok := strings.CutPrefix(text, word); ok {
		return folder + rest
	}
	return text
}

// parse reads a value. Its error says which setting is wrong and where it was set.
func (r *resolver) parse(key string, read func(string) error) error {
	text, origin := r.lookup(key)
	r.record(key, text, origin)
	if err := read(text); err != nil {
		return r.file.wrongValue(key, origin, err)
	}
	return nil
}

func oneOf(target *bool, yes, no string) func(string) error {
	return func(text string) error {
		*target = text == yes
		return contract.OneOf(text, yes, no)
	}
}

func splitList(text string) []string {
	var list []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}
