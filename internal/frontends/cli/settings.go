package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/visible"
)

// Settings are the effective configuration of a command.
type Settings struct {
	Root     string
	Data     string
	Toolsets []string
	ReadOnly bool
	Approve  approval.Mode
	Deny     []string // globs of paths that no tool may read, besides secrets
	Database string
	// Where books are stored: file://FOLDER or s3://...; new books go to the first.
	Books     []string
	PublicURL string // base URL for links; "" means the address that serve listens on
	CDNURL    string // base URL for links to assets; "" means serve delivers them
	// Use the system's file notifications, where it has them; otherwise scan.
	Watch           bool
	CodeMemory      contract.Bytes // how much of the project's text is kept in memory for searches
	Embeddings      string         // source of embeddings: local, or the URL of a service
	EmbeddingsModel string         // model of the embedding service
	EmbeddingsOnly  bool           // fail a search if the embedding service fails; no fallback
	Config          string         // path of the configuration file, whether it exists or not
	Keys            string         // folder for keys; "" is the default
	RateLimits      bool
	Elicitation     bool // answers in a dialog of a stdio client count as decisions
	LogLevel        slog.Level
	Addr            string // address that serve listens on
	// Certificate and key files of serve; "" means plain HTTP.
	TLSCert, TLSKey string
	// Only a proxy can connect, and the proxy terminates TLS.
	BehindProxy bool
	// Whether HTTP callers must identify themselves: auto, on or off.
	Identity   string
	OIDCIssuer string // trusted OpenID Connect issuer; "" for none
	// Audience that the issuer's tokens must name; "" means this server.
	OIDCAudience string
	OIDCUser     string // claim that holds the caller's user
	// URL to notify of new approval requests; "" for none.
	Webhook string
	Tools   map[string]contract.Tightening // by tool name; set only in the file
	// Env looks up environment variables, such as the credentials for S3.
	Env func(string) (string, bool)

	// Entries of the configuration file that are not in force, because nobody has trusted them.
	Untrusted []Entry
	// Entries that are in force only because REMIT_TRUST is "all".
	TrustedAll []Entry

	values []Value    // for config print
	file   configFile // the parsed configuration file, without the entries that are not in force
	asked  []Entry    // all entries of the file that must be trusted
	// Why the decisions about the file cannot be read; nil if they can.
	trustProblem error
}

// Values returns all settings with their origins.
func (s *Settings) Values() []Value { return s.values }

// EndpointToolsets returns the toolsets that have an HTTP endpoint of their own: the chosen ones,
// or all toolsets that are not hidden if none were chosen.
func (s *Settings) EndpointToolsets(known []*contract.Set) []string {
	if s.Origin("toolsets") != FromDefault {
		return s.Toolsets
	}
	var names []string
	for _, set := range known {
		if !set.Hidden {
			names = append(names, set.Name)
		}
	}
	return names
}

// Origin returns where the value of a setting came from.
func (s *Settings) Origin(key string) Origin {
	for _, v := range s.values {
		if v.Key == key && v.Origin != notTrusted {
			return v.Origin
		}
	}
	return FromDefault
}

// Origin says where a value came from.
type Origin string

// The origins, highest precedence first.
const (
	FromFlag    Origin = "flag"
	FromEnv     Origin = "environment"
	FromFile    Origin = "file"
	FromDefault Origin = "default"

	// The default applies, because nobody has trusted the file.
	notTrusted Origin = "file (not trusted)"
)

// Value is one setting of the effective configuration, without secrets.
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin Origin `json:"origin"`
	Asked  string `json:"asked,omitempty"` // the value in the file, if that is not trusted
}

// setting can be given by flag, environment variable and file. The flag is the key with dashes;
// the variable is REMIT_ and the key in capitals.
type setting struct {
	group                flagGroup
	trust                trustRule
	key, fallback, about string
}

// flagGroup is a heading for global flags in the help of the root command.
type flagGroup string

const (
	workspaceFlags flagGroup = "Workspace flags"
	servingFlags   flagGroup = "Serving flags"
	identityFlags  flagGroup = "Identity flags"
	searchFlags    flagGroup = "Search flags"
	storageFlags   flagGroup = "Storage flags"
)

// flagGroups returns the groups in the order of the help.
func flagGroups() []flagGroup {
	return []flagGroup{workspaceFlags, servingFlags, identityFlags, searchFlags, storageFlags}
}

// settingsTable lists every setting once. A default with ROOT or DATA in it is expanded after
// those two are known.
var settingsTable = []setting{
	{workspaceFlags, notInFile, "root", ".", "workspace folder that the tools work in"},
	{storageFlags, needsTrust, "data", "ROOT/.remit", "folder for Remit's own data"},
	{workspaceFlags, dependsValue, "toolsets", "learning-os,tasks,books,context", "toolsets to serve, separated by commas"},
	{workspaceFlags, inForce, "read_only", "false", "refuse every tool that writes"},
	{workspaceFlags, dependsValue, "approve", "ask", "how to handle calls that need approval: ask a person, auto (allow all) or deny"},
	{workspaceFlags, inForce, "deny", "", "paths that no tool may read, besides secrets: globs such as drafts/**, separated by commas"},
	{storageFlags, needsTrust, "database", "sqlite://DATA/remit.db", "where to store state: sqlite://PATH or postgres://USER@HOST/NAME"},
	{storageFlags, needsTrust, "books", "file://DATA/library", "where to store books: file://FOLDER, s3://BUCKET/PREFIX?..., or both (with a comma)"},
	{servingFlags, needsTrust, "public_url", "", "base URL for links, if clients reach serve through a proxy; by default the address of serve"},
	{storageFlags, needsTrust, "cdn_url", "", "base URL for links to book assets, if another server delivers them; by default the address of serve"},
	{searchFlags, inForce, "watch", "on", "use file notifications of the system: on, or off to check all files before each search"},
	{searchFlags, dependsValue, "code_memory", "512MiB", "memory for the text of the project; text beyond it is read from disk"},
	{searchFlags, needsTrust, "embeddings", "local", "source of embeddings: local (built-in model), or the URL of an OpenAI-compatible service"},
	{searchFlags, needsTrust, "embeddings_model", "", "model of the embedding service; its API key is read from REMIT_EMBEDDINGS_KEY"},
	{searchFlags, needsTrust, "embeddings_only", "off", "on: fail if the embedding service fails; off: fall back to the built-in model"},
	{storageFlags, operatorOnly, "keys", "", "folder for keys and for what protects workspaces; by default ~/.config/remit"},
	{workspaceFlags, notInFile, "config", "ROOT/remit.yaml", "configuration file"},
	{workspaceFlags, dependsValue, "rate_limits", "on", "enforce rate limits: on, or off for benchmarks and trusted local use"},
	{workspaceFlags, dependsValue, "log_level", "warn", "lowest level to log: debug, info, warn or error; serve uses info unless you set it"},
	{servingFlags, needsTrust, "addr", "127.0.0.1:8722", "address that serve listens on; port 0 takes any free port"},
	{servingFlags, operatorOnly, "tls_cert", "", "TLS certificate file of serve (PEM); reloaded when it changes"},
	{servingFlags, operatorOnly, "tls_key", "", "private key file of the TLS certificate (PEM)"},
	{servingFlags, operatorOnly, "behind_proxy", "false", "serve runs behind a proxy that terminates TLS and sets X-Forwarded-For"},
	{identityFlags, dependsValue, "identity", "auto", "whether HTTP callers must send a token: on, off, or auto (once a token exists)"},
	{identityFlags, dependsValue, "elicitation", "on", "whether answers in a dialog of a stdio client count as decisions: on or off"},
	{identityFlags, operatorOnly, "oidc_issuer", "", "OpenID Connect issuer whose tokens are accepted"},
	{identityFlags, operatorOnly, "oidc_audience", "", "audience that the issuer's tokens must name; by default this server's /mcp URL"},
	{identityFlags, operatorOnly, "oidc_user", "sub", "claim of the issuer's tokens that holds the user"},
	{servingFlags, operatorOnly, "webhook", "", "URL to notify of new approval requests, signed with REMIT_WEBHOOK_SECRET"},
}

func (s setting) flag() string { return strings.ReplaceAll(s.key, "_", "-") }

func (s setting) variable() string { return "REMIT_" + strings.ToUpper(s.key) }

func settingKeys() []string {
	return convert(settingsTable, func(s setting) string { return s.key })
}

func settingNamed(key string) setting { return settingsTable[slices.Index(settingKeys(), key)] }

// addSettingFlags adds a flag for each setting.
func addSettingFlags(flags *pflag.FlagSet) {
	for _, s := range settingsTable {
		about := s.about + " (" + s.variable() + ")"
		if s.fallback == "false" {
			flags.Bool(s.flag(), false, about)
			continue
		}
		flags.String(s.flag(), s.fallback, about)
	}
}

// resolver looks up values by precedence: flag, environment, file, default.
type resolver struct {
	flags     *pflag.FlagSet
	env       func(string) (string, bool)
	file      configFile
	untrusted []Entry // entries of the file that are not in force
	found     []Value
}

// settings returns the effective value of every setting. An entry of a file that nobody has trusted
// must be valid, but is not in force.
func (p *Program) settings(cmd *cobra.Command) (Settings, error) {
	return p.resolve(cmd.Flags())
}

func (p *Program) resolve(flags *pflag.FlagSet) (Settings, error) {
	r := &resolver{flags: flags, env: p.Env}
	s := Settings{Env: p.Env}
	var err error
	if s.Root, err = r.root(); err != nil {
		return s, err
	}
	p.keys(r, &s)
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
func (p *Program) keys(r *resolver, s *Settings) {
	text, origin := r.lookup("keys")
	if text != "" {
		s.Keys = s.absolute(text, origin)
	}
	shown := s.Keys
	if store := p.trust(s); store != nil {
		shown = store.Folder()
	}
	r.record("keys", shown, origin)
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
		r.parse("log_level", func(text string) error {
			if s.LogLevel.UnmarshalText([]byte(text)) != nil {
				return contract.OneOf(text, "debug", "info", "warn", "error")
			}
			return nil
		}),
		r.parse("addr", s.parseAddr),
		r.access(s),
	)
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
	if err != nil {
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
	)
	if (s.TLSCert == "") != (s.TLSKey == "") {
		err = errors.Join(err, errors.New("tls_cert and tls_key must be set together; set both or neither"))
	}
	return err
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
