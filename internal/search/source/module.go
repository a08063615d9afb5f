package source

import (
	"cmp"
	"path"
	"strings"
)

// Root is the module of files that belong to no other.
const Root = "root"

// Module names the module that a file belongs to: the innermost folder of its path that says what the code is about.
//
// Folders that only say where sources are kept (src, lib, internal, packages, src/main/java) never do, nor do those of
// tests, which belong to the module around them. Folders that name a layer (server, client, core) do if there is no better
// one, and those for things of a kind (utils, models, components) come last. So src/server/auth/X.ts and
// src/server/auth/utils/Y.ts are of auth, src/server/utils/Y.ts is of server, src/utils/Y.ts of utils, src/X.ts of the root.
func Module(name string) string {
	folders := strings.Split(path.Dir(name), "/")
	layer, drawer := "", ""
	for i := len(folders) - 1; i >= 0; i-- {
		folder := plainFolder(folders[i])
		switch lower := strings.ToLower(folder); {
		case folder == "" || isSourceRoot(lower) || isTestFolder(lower) || isVersion(lower):
		case isKindOfTest(lower) && i > 0 && isTestFolder(strings.ToLower(folders[i-1])):
		case isReverseDomain(folders[:i+1]):
		case isLayer(lower):
			layer = cmp.Or(layer, folder)
		case isDrawer(lower):
			drawer = cmp.Or(drawer, folder)
		default:
			return folder
		}
	}
	return cmp.Or(layer, drawer, Root)
}

// plainFolder takes the brackets off that web frameworks put around a folder; a parameter of an address names nothing.
func plainFolder(folder string) string {
	switch {
	case folder == "." || strings.HasPrefix(folder, "["):
		return ""
	case strings.HasPrefix(folder, "(") && strings.HasSuffix(folder, ")"):
		return strings.Trim(folder, "()")
	}
	return folder
}

// isSourceRoot tells whether a folder only says that sources are beneath it.
func isSourceRoot(lower string) bool {
	return isOneOf(lower, "src", "source", "sources", "lib", "libs", "internal", "pkg", "packages", "cmd", "apps", "crates", "modules",
		"projects", "main", "java", "kotlin", "scala", "groovy", "python", "resources", "include", "sourcesets", "commonmain",
		"cpp", "js", "ts")
}

// isTestFolder tells whether a folder holds tests, or what they need.
func isTestFolder(lower string) bool {
	return isOneOf(lower, "test", "tests", "__tests__", "spec", "specs", "__mocks__", "__snapshots__", "__fixtures__", "testdata",
		"fixtures", "mocks", "snapshots")
}

// isKindOfTest tells whether a folder within one of tests says how they test, not what.
func isKindOfTest(lower string) bool {
	return lower == "unit" || lower == "integration" || lower == "functional" || lower == "e2e"
}

// isLayer tells whether a folder names a layer that many projects have.
func isLayer(lower string) bool {
	return isOneOf(lower, "server", "client", "backend", "frontend", "api", "app", "web", "www", "public", "core", "shared", "common",
		"features", "domain", "domains", "infrastructure")
}

// isDrawer tells whether a folder is a drawer for things of a kind.
func isDrawer(lower string) bool {
	return isOneOf(lower, "util", "utils", "helpers", "helper", "types", "interfaces", "models", "model", "entities", "dto", "dtos",
		"services", "service", "controllers", "controller", "repositories", "repository", "handlers", "routes", "views", "components",
		"hooks", "middleware", "middlewares", "impl", "bin", "scripts", "assets", "static", "styles")
}

// isVersion tells whether a folder is v1, v2beta1, ...
func isVersion(lower string) bool {
	return len(lower) > 1 && lower[0] == 'v' && lower[1] >= '0' && lower[1] <= '9'
}

// isReverseDomain tells whether the last folder is the com of java/com/acme.
func isReverseDomain(folders []string) bool {
	if len(folders) < 2 {
		return false
	}
	switch folders[len(folders)-1] {
	case "com", "org", "net", "io", "de", "dev", "edu", "gov":
		return isSourceRoot(strings.ToLower(folders[len(folders)-2]))
	}
	return false
}
