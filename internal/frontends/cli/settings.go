package cli

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"remit/internal/contract"
	"remit/internal/engine/approval"
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
	Transient       bool           // the index is not stored where nothing is stored yet
	Config          string         // path of the configuration file, whether it exists or not
	Keys            string         // folder for keys; "" is the default
	RateLimits      bool
	Bridge          bool // use the server that runs in this workspace already
	Elicitation     bool // answers in a dialog of a stdio client count as decisions
	LogLevel        slog.Level
	LogFormat       string        // LogText or LogJSON
	LogFile         string        // "" is stderr
	AuditKeep       time.Duration // how long audit records are kept; 0 is for ever
	Addr            string        // address that serve listens on
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
	// The form of these messages: json, slack or ntfy.
	WebhookFormat string
	Tools         map[string]contract.Tightening // by tool name; set only in the file
	// Env looks up environment variables, such as the credentials for S3.
	Env func(string) (string, bool)

	// Reload returns the settings again, for a server that takes changes while it runs; nil if it
	// does not. OnHangup: also on SIGHUP. Level is the level of its log.
	Reload   func() (Settings, error)
	OnHangup bool
	Level    *slog.LevelVar

	// Entries of the configuration file that are not in force, because nobody has trusted them.
	Untrusted []Entry
	// Entries that are in force only because REMIT_TRUST is "all".
	TrustedAll []Entry

	// The path of the current folder within the root, if the root was found above it; otherwise "".
	here string
	// Whether stdio was started in no workspace or in the home folder, and nothing names another
	// folder.
	noProject bool
	// Whether no folder was named, and neither the current folder nor one above it is a workspace.
	unmarked bool
	// OnCreate is called before the data folder is created; nil if there is nothing to say.
	OnCreate func()

	values []Value    // for config print
	file   configFile // the parsed configuration file, without the entries that are not in force
	asked  []Entry    // all entries of the file that must be trusted
	// Why the decisions about the file cannot be read; nil if they can.
	trustProblem error
}

// The formats of the log.
const (
	LogText = "text"
	LogJSON = "json"
)

// LogOptions say what a logger writes, and where.
type LogOptions struct {
	Level  slog.Leveler // slog.LevelInfo if nil
	Format string       // LogText if empty
	File   string       // appended to; "" for the writer of the program
}

// logOptions returns the options of the log that the settings ask for.
func (s *Settings) logOptions() LogOptions {
	if s.Level != nil {
		return LogOptions{s.Level, s.LogFormat, s.LogFile}
	}
	return LogOptions{s.LogLevel, s.LogFormat, s.LogFile}
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
	{workspaceFlags, notInFile, "root", ".", "workspace folder; by default the nearest folder above with remit.yaml, .remit or .git"},
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
	{workspaceFlags, inForce, "bridge", "on", "use a server that runs in this workspace already: on, or off to work alone"},
	{workspaceFlags, dependsValue, "log_level", "warn", "lowest level to log: debug, info, warn or error; serve uses info unless you set it"},
	{workspaceFlags, inForce, "log_format", LogText, "format of the log: text, or json (an object per line)"},
	{workspaceFlags, operatorOnly, "log_file", "", "file to append the log to, instead of stderr; opened again after it was renamed, and on SIGHUP"},
	{storageFlags, operatorOnly, "audit_keep", "forever", "how long serve keeps audit records, in whole days such as 365d; older days are dropped"},
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
	{servingFlags, operatorOnly, "webhook_format", "json", "form of the webhook's messages: json (signed), slack or ntfy"},
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
