package clients

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// known lists the clients in the order in which they are shown.
var known = []*Client{
	{ // As "claude mcp add" of 2.1.325 writes it at user scope. CLAUDE_CONFIG_DIR moves the file.
		Name: "claude-code", Title: "Claude Code",
		Notes:       []string{"The entry is for all your projects (user scope).", "Type /mcp in Claude Code to see the server."},
		file:        func(s System) string { return s.join(s.variable("CLAUDE_CONFIG_DIR", s.Home), ".claude.json") },
		project:     []string{".mcp.json"},
		projectNote: "Claude Code asks each person once whether to use the servers of the project. Type /mcp in Claude Code to see it.",
		in:          jsonFile{"mcpServers"},
		stdio:       "stdio", http: "http", address: "url", token: "${%s}",
		command: func(c *Client, s Server, _ []field) []string {
			line := []string{"claude", "mcp", "add", "--scope", c.Scope()}
			if s.URL == "" {
				return append(append(line, s.Name, "--", s.Command), s.Args...)
			}
			return append(append(line, "--transport", "http", s.Name, s.URL), tokenHeader(s)...)
		},
	},
	{ // modelcontextprotocol.io, "Connect to local MCP servers", November 2026.
		Name: "claude-desktop", Title: "Claude Desktop",
		Notes: []string{
			"Quit Claude Desktop and start it again: it reads the file only at start.",
			"If it does not list the server, check which file \"Edit Config\" opens in its settings under Developer: " +
				"some Windows editions use another file.",
			"This file supports only servers that Claude Desktop starts itself; add URLs in its settings under Connectors.",
		},
		file:      func(s System) string { return s.join(s.settings(), "Claude", "claude_desktop_config.json") },
		NeedsRoot: true,
		in:        jsonFile{"mcpServers"},
	},
	{ //nolint:gosec // token is the syntax for a variable. cursor.com/docs/context/mcp and /docs/mcp/install-links, November 2026
		Name: "cursor", Title: "Cursor",
		Notes:       []string{"The server is listed in Cursor's settings under MCP, where it can be switched on and off."},
		file:        func(s System) string { return s.join(s.Home, ".cursor", "mcp.json") },
		project:     []string{".cursor", "mcp.json"},
		projectNote: "The server is listed in Cursor's settings under MCP, where it can be switched on and off.",
		in:          jsonFile{"mcpServers"},
		stdio:       "stdio", address: "url", token: "${env:%s}",
		links: func(s Server, entry []field) []Link {
			config := base64.StdEncoding.EncodeToString(compactJSON(entry))
			query := "?name=" + url.QueryEscape(s.Name) + "&config=" + url.QueryEscape(config)
			return []Link{
				{Title: "Cursor", URL: "cursor://anysphere.cursor-deeplink/mcp/install" + query},
				{Title: "Cursor", URL: "https://cursor.com/en/install-mcp" + query, Web: true},
			}
		},
	},
	{ //nolint:gosec // as above. code.visualstudio.com/docs/copilot/reference/mcp-configuration, November 2026; user profile since 1.102
		Name: "vscode", Title: "Visual Studio Code",
		Notes: []string{
			"The entry is for all your folders, in the default profile. " +
				"\"MCP: List Servers\" in the command palette starts it and shows its output.",
		},
		file:        func(s System) string { return s.join(s.settings(), "Code", "User", "mcp.json") },
		project:     []string{".vscode", "mcp.json"},
		projectNote: "\"MCP: List Servers\" in the command palette starts the server and shows its output.",
		in:          jsonFile{"servers"},
		stdio:       "stdio", http: "http", address: "url", token: "${env:%s}",
		command: func(c *Client, s Server, entry []field) []string {
			if c.inProject { // the command knows only the user's file
				return nil
			}
			return []string{"code", "--add-mcp", named(s, entry)}
		},
		links: func(s Server, entry []field) []Link {
			whole := component(named(s, entry))
			query := "/redirect/mcp/install?name=" + url.QueryEscape(s.Name) + "&config=" + component(string(compactJSON(entry)))
			return []Link{
				{Title: "VS Code", URL: "vscode:mcp/install?" + whole},
				{Title: "VS Code Insiders", URL: "vscode-insiders:mcp/install?" + whole},
				{Title: "VS Code", URL: "https://vscode.dev" + query, Web: true},
				{Title: "VS Code Insiders", URL: "https://insiders.vscode.dev" + query + "&quality=insiders", Web: true},
			}
		},
	},
	{ //nolint:gosec // as above. docs.windsurf.com/windsurf/cascade/mcp, November 2026
		Name: "windsurf", Title: "Windsurf",
		Notes:     []string{"Press the refresh button of the MCP panel in Cascade to reload the file."},
		file:      func(s System) string { return s.join(s.Home, ".codeium", "windsurf", "mcp_config.json") },
		NeedsRoot: true,
		in:        jsonFile{"mcpServers"},
		address:   "serverUrl", token: "${env:%s}",
	},
	{ // As "codex mcp add" of 0.166.0 writes it. CODEX_HOME moves the file.
		Name: "codex", Title: "Codex",
		Notes: []string{"The command line, the app and the editor extension read the same file.", "Type /mcp in Codex to see the server."},
		file: func(s System) string {
			return s.join(s.variable("CODEX_HOME", s.join(s.Home, ".codex")), "config.toml")
		},
		project:     []string{".codex", "config.toml"},
		projectNote: "Codex reads the file only in projects that you trust. Type /mcp in Codex to see the server.",
		in:          tomlFile{"mcp_servers"},
		address:     "url",
		command: func(c *Client, s Server, _ []field) []string {
			line := []string{"codex", "mcp", "add", s.Name}
			switch {
			case c.inProject: // the command knows only the user's file
				return nil
			case s.URL == "":
				return append(append(line, "--", s.Command), s.Args...)
			case s.TokenEnv == "":
				return append(line, "--url", s.URL)
			}
			return append(line, "--url", s.URL, "--bearer-token-env-var", s.TokenEnv)
		},
	},
	{ // As "gemini mcp add" of 0.61.0 writes it at user scope.
		Name: "gemini", Title: "Gemini CLI",
		Notes: []string{
			"The entry is for all your projects (user scope); Gemini CLI starts servers only in folders that you trust.",
			"Type /mcp in Gemini CLI to see the server.",
		},
		file:    func(s System) string { return s.join(s.Home, ".gemini", "settings.json") },
		project: []string{".gemini", "settings.json"},
		projectNote: "Gemini CLI reads the file only when you start it in this folder, not below, and only if you trust the folder. " +
			"Type /mcp in Gemini CLI to see the server.",
		in:   jsonFile{"mcpServers"},
		http: "http", address: "url", token: "${%s}",
		command: func(c *Client, s Server, _ []field) []string {
			line := []string{"gemini", "mcp", "add", "--scope", c.Scope()}
			if s.URL == "" {
				return append(append(line, s.Name, s.Command), s.Args...)
			}
			return slices.Concat(line, []string{"--transport", "http"}, tokenHeader(s), []string{s.Name, s.URL})
		},
	},
	{ // zed.dev/docs/ai/mcp, November 2026. It does not mention environment variables.
		Name: "zed", Title: "Zed",
		Notes: []string{
			"The server is listed in Zed's settings under AI, MCP Servers.",
			"Zed does not read environment variables: with --token-env the token itself is written to its file.",
		},
		file:        func(s System) string { return s.join(s.zedSettings(), "settings.json") },
		project:     []string{".zed", "settings.json"},
		projectNote: "Zed reads the file only in projects that you trust. The server is listed in its settings under AI, MCP Servers.",
		in:          jsonFile{"context_servers"},
		literal:     true,
		address:     "url",
	},
}

// tokenHeader returns the flag that adds the token header, for clients that expand ${NAME}. It
// returns nil if there is no token.
func tokenHeader(s Server) []string {
	if s.TokenEnv == "" {
		return nil
	}
	return []string{"--header", fmt.Sprintf("Authorization: Bearer ${%s}", s.TokenEnv)}
}

// named returns the JSON of an entry with its name as a field, the form that VS Code expects.
func named(s Server, entry []field) string {
	return string(compactJSON(append([]field{{"name", s.Name}}, entry...)))
}

// component escapes text for a URL. A space becomes %20, because not every client decodes a plus
// sign.
func component(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
