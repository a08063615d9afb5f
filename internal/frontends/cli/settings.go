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

	"github.com/spf13/pflag"

	"remit/internal/contract"
	"remit/internal/engine/approval"
)

// Settings are the effective configuration of a command.
type Settings struct {
	Root            string
	Data            string
	Toolsets        []string
	ReadOnly        bool
	Approve         approval.Mode
	Database        string
	Books           []string       // where books are kept: file://FOLDER or s3://...; the first holds new ones
	PublicURL       string         // where others reach what serve serves; "" if that is where it listens
	CDNURL          string         // where others serve assets; "" if nobody does
	Watch           bool           // changes of files are told by the system, where it can; else they are looked for
	CodeMemory      contract.Bytes // how much of the project's text is kept in memory to be searched
	Embeddings      string         // what makes vectors of texts: local, or the address of a service
	EmbeddingsModel string         // the model of that service
	EmbeddingsOnly  bool           // a search fails if the service does, and does not fall back
	Config          string         // the file that was, or would be, read
	RateLimits      bool
	LogLevel        slog.Level
	Addr            string                         // where serve listens
	TLSCert, TLSKey string                         // files of the certificate that serve shows, and of its key; "" is plain HTTP
	BehindProxy     bool                           // whoever connects is a proxy, which keeps others out and speaks TLS with them
	Identity        string                         // whether callers over HTTP have to say who they are: auto, on or off
	OIDCIssuer      string                         // who vouches for callers by OpenID Connect; "" is nobody
	OIDCAudience    string                         // who the tokens of that issuer must be for; "" is this server
	OIDCUser        string                         // the claim that names a caller's user
	Webhook         string                         // what server is told of new approval requests; "" is none
	Tools           map[string]contract.Tightening // by tool name; only from the file
	// Env is the environment, where programs look for the credentials of S3.
	Env func(string) (string, bool)

	values []Value    // as printed by config print
	file   configFile // what was read
}

// Values are all settings with their origin.
func (s *Settings) Values() []Value { return s.values }

// Loosened lists what a file that came with the workspace switches off, so that
// whoever starts Remit is told.
func (s *Settings) Loosened() []string {
	var keys []string
	for _, v := range s.values {
		if v.Origin == FromFile && (v.Key == "approve" && v.Value == "auto" || (v.Key == "rate_limits" || v.Key == "identity") && v.Value == "off") {
			keys = append(keys, v.Key+": "+v.Value)
		}
	}
	return keys
}

// Addressable are the toolsets that each have an address of their own when HTTP
// is served: those that were chosen, and all that people are told of if nobody
// chose.
func (s *Settings) Addressable(known []*contract.Set) []string {
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

// Origin is where the value of a setting came from.
func (s *Settings) Origin(key string) Origin {
	for _, v := range s.values {
		if v.Key == key {
			return v.Origin
		}
	}
	return FromDefault
}

// Origin says where a value came from; the greater one wins.
type Origin string

// The origins, in the order of precedence.
const (
	FromFlag    Origin = "flag"
	FromEnv     Origin = "environment"
	FromFile    Origin = "file"
	FromDefault Origin = "default"
)

// Value is one part of the effective configuration, with what is secret left out.
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin Origin `json:"origin"`
}

// setting is one thing that can be set by flag, environment and file. The flag is
// the key with dashes, the variable is REMIT_ and the key in capitals.
type setting struct {
	key, fallback, about string
}

// settingsTable lists every setting once. Where a default hangs on others, it is
// worked out after them.
var settingsTable = []setting{
	{"root", ".", "folder that the tools work in"},
	{"data", "ROOT/.remit", "folder for Remit's own data"},
	{"toolsets", "learning-os,tasks,books,context", "toolsets to serve, separated by commas"},
	{"read_only", "false", "refuse every tool that writes"},
	{"approve", "ask", "what happens to calls that need approval: ask, auto or deny"},
	{"database", "sqlite://DATA/remit.db", "where state is kept: sqlite://PATH, or postgres://USER@HOST/NAME"},
	{"books", "file://DATA/library", "where books are kept: file://FOLDER, s3://BUCKET/PREFIX?..., or both"},
	{"public_url", "", "where links lead if not to where serve listens: the address of a proxy in front of it"},
	{"cdn_url", "", "where links to assets lead if not to serve: the address of whatever serves the files of the library"},
	{"watch", "on", "let the system tell which files change; off to look at all of them before each search"},
	{"code_memory", "512MiB", "memory for the text of the project; the rest is read from disk"},
	{"embeddings", "local", "vectors for context_search: local, or the URL of a service like OpenAI's"},
	{"embeddings_model", "", "its model; the key is in REMIT_EMBEDDINGS_KEY"},
	{"embeddings_only", "off", "on: a search fails if it does; off: the local model answers"},
	{"config", "ROOT/remit.yaml", "configuration file"},
	{"rate_limits", "on", "on, or off for benchmarks and trusted local use"},
	{"log_level", "warn", "debug, info, warn or error; info for serve"},
	{"addr", "127.0.0.1:8722", "where serve listens; port 0 takes any that is free"},
	{"tls_cert", "", "certificate file of serve, PEM; read again when it changes"},
	{"tls_key", "", "file of its private key, PEM"},
	{"behind_proxy", "false", "a proxy in front of serve speaks TLS with others, and sets X-Forwarded-For"},
	{"identity", "auto", "must callers over HTTP send a token: on, off, or auto: once there is one"},
	{"oidc_issuer", "", "OpenID Connect issuer whose tokens are taken"},
	{"oidc_audience", "", "the audience that its tokens must have; this server's /mcp if not given"},
	{"oidc_user", "sub", "the claim of its tokens that names the user"},
	{"webhook", "", "URL that is told of new approval requests, signed with REMIT_WEBHOOK_SECRET"},
}

func (s setting) flag() string { return strings.ReplaceAll(s.key, "_", "-") }

func (s setting) variable() string { return "REMIT_" + strings.ToUpper(s.key) }

func settingKeys() []string {
	return convert(settingsTable, func(s setting) string { return s.key })
}

// addSettingFlags gives a command the flags of all settings.
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

// resolver looks values up in the four layers.
type resolver struct {
	flags *pflag.FlagSet
	env   func(string) (string, bool)
	file  configFile
	found []Value
}

// resolveSettings works out every setting.
func resolveSettings(flags *pflag.FlagSet, env func(string) (string, bool)) (Settings, error) {
	r := &resolver{flags: flags, env: env}
	s := Settings{Env: env}
	var err error
	if s.Root, err = r.root(); err != nil {
		return s, err
	}
	_, origin := r.lookup("config")
	s.Config = r.path(&s, "config")
	if r.file, err = readConfig(s.Config, origin != FromDefault); err != nil {
		return s, err
	}
	if origin == FromDefault {
		if err := r.file.staysBeneath(s.Root); err != nil {
			return s, err
		}
	}
	s.file, s.Tools = r.file, r.file.tools
	s.Data = r.path(&s, "data")
	database, databaseOrigin := r.lookup("database")
	s.Database = within(database, "sqlite://DATA/", "sqlite://"+s.Data+"/")
	r.note("database", withoutPassword(s.Database), databaseOrigin)
	err = errors.Join(
		r.places(&s),
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
		r.parse("watch", oneOf(&s.Watch, "on", "off")),
		r.parse("code_memory", func(text string) error { return s.CodeMemory.UnmarshalText([]byte(text)) }),
		r.embeddings(&s),
		r.parse("rate_limits", oneOf(&s.RateLimits, "on", "off")),
		r.parse("log_level", func(text string) error {
			if s.LogLevel.UnmarshalText([]byte(text)) != nil {
				return contract.OneOf(text, "debug", "info", "warn", "error")
			}
			return nil
		}),
		r.parse("addr", s.parseAddr),
		r.guarding(&s),
	)
	s.values = r.found
	return s, err
}

// root finds the folder that the tools work in.
func (r *resolver) root() (string, error) {
	text, origin := r.lookup("root")
	root, err := filepath.Abs(text)
	if err != nil {
		return "", fmt.Errorf("find the root folder: %w", err)
	}
	r.note("root", root, origin)
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return "", fmt.Errorf("root (from %s): there is no folder %s", origin, root)
	}
	return root, nil
}

// LocalEmbeddings stands for the model that is part of the program.
const LocalEmbeddings = "local"

// embeddings finds what makes vectors of texts. A service has to be told which model is meant.
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

// guarding finds how serve tells callers apart, and what keeps others from listening.
func (r *resolver) guarding(s *Settings) error {
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
		err = errors.Join(err, errors.New("tls_cert and tls_key go together; give both, or neither"))
	}
	return err
}

// optionalPath finds a path that may be left out.
func (r *resolver) optionalPath(s *Settings, key string) string {
	text, origin := r.lookup(key)
	if text == "" {
		r.note(key, "", origin)
		return ""
	}
	return r.path(s, key)
}

// parseAddr takes the address over if it is one.
func (s *Settings) parseAddr(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%q must be a host and a port, such as 127.0.0.1:8722", text)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not a port; use 0 to 65535, 0 for any that is free", port)
	}
	s.Addr = text
	return nil
}

// lookup finds a value and its origin.
func (r *resolver) lookup(key string) (string, Origin) {
	s := settingsTable[slices.Index(settingKeys(), key)]
	if f := r.flags.Lookup(s.flag()); f != nil && f.Changed {
		return f.Value.String(), FromFlag
	}
	if text, ok := r.env(s.variable()); ok && text != "" {
		return text, FromEnv
	}
	if text, ok := r.file.settings[key]; ok {
		return text, FromFile
	}
	return s.fallback, FromDefault
}

func (r *resolver) note(key, text string, origin Origin) {
	r.found = append(r.found, Value{key, text, origin})
}

// path finds a path. One from the file is relative to the root, one from a
// person's shell to where they stand.
func (r *resolver) path(s *Settings, key string) string {
	text, origin := r.lookup(key)
	text = s.absolute(text, origin)
	r.note(key, text, origin)
	return text
}

func (s *Settings) absolute(path string, origin Origin) string {
	path = within(path, "ROOT/", s.Root+"/")
	if origin == FromFile && !filepath.IsAbs(path) {
		path = filepath.Join(s.Root, path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// within puts a folder in the place of the word that stands for it, at the start of
// a value alone: a path may well have such a word in it.
func within(text, word, folder string) string {
	if rest, ok := strings.CutPrefix(text, word); ok {
		return folder + rest
	}
	return text
}

// parse reads a value, and says which setting is wrong and where it was set.
func (r *resolver) parse(key string, read func(string) error) error {
	text, origin := r.lookup(key)
	r.note(key, text, origin)
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
