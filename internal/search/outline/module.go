package outline

import (
	"cmp"
	"path"
	"slices"
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
		case folder == "" || slices.Contains(sourceRoots, lower) || slices.Contains(testFolders, lower) || isVersion(lower):
		case slices.Contains(kindsOfTests, lower) && i > 0 && slices.Contains(testFolders, strings.ToLower(folders[i-1])):
		case isReverseDomain(folders[:i+1]):
		case slices.Contains(layers, lower):
			layer = cmp.Or(layer, folder)
		case slices.Contains(drawers, lower):
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

// Folders by what their name, in lower case, says.
var (
	// sourceRoots only say that sources are beneath them.
	sourceRoots = []string{
		"src", "source", "sources", "lib", "libs", "internal", "pkg", "packages", "cmd", "apps", "crates", "modules",
		"projects", "main", "java", "kotlin", "scala", "groovy", "python", "resources", "include", "sourcesets", "commonmain",
		"cpp", "js", "ts",
	}
	// testFolders hold tests, or what they need.
	testFolders = []string{
		"test", "tests", "__tests__", "spec", "specs", "__mocks__", "__snapshots__", "__fixtures__", "testdata", "fixtures",
		"mocks", "snapshots",
	}
	// kindsOfTests within one of those say how they test, not what.
	kindsOfTests = []string{"unit", "integration", "functional", "e2e"}
	// layers are what many projects have.
	layers = []string{
		"server", "client", "backend", "frontend", "api", "app", "web", "www", "public", "core", "shared", "common",
		"features", "domain", "domains", "infrastructure",
	}
	// drawers hold things of a kind.
	drawers = []string{
		"util", "utils", "helpers", "helper", "types", "interfaces", "models", "model", "entities", "dto", "dtos", "services",
		"service", "controllers", "controller", "repositories", "repository", "handlers", "routes", "views", "components",
		"hooks", "middleware", "middlewares", "impl", "bin", "scripts", "assets", "static", "styles",
	}
	// workspaces have a package in each folder.
	workspaces = []string{"packages", "apps", "crates", "projects", "libs", "modules"}
)

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
		return slices.Contains(sourceRoots, strings.ToLower(folders[len(folders)-2]))
	}
	return false
}
