package outline

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Root is the module of files that belong to no other.
const Root = "root"

// Module returns the module that a file belongs to: the innermost folder of its path that describes
// the code.
//
// Folders that only contain sources (src, lib, internal, packages, src/main/java) never count, nor
// do test folders, whose files belong to the surrounding module. Folders that name a layer (server,
// client, core) count if there is no better one, and folders for a kind of thing (utils, models,
// components) come last. So src/server/auth/X.ts and src/server/auth/utils/Y.ts belong to auth,
// src/server/utils/Y.ts to server, src/utils/Y.ts to utils, and src/X.ts to the root.
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
		case slices.Contains(kindFolders, lower):
			drawer = cmp.Or(drawer, folder)
		default:
			return folder
		}
	}
	return cmp.Or(layer, drawer, Root)
}

// plainFolder removes the brackets that web frameworks put around a folder. It returns "" for a URL
// parameter, which names nothing.
func plainFolder(folder string) string {
	switch {
	case folder == "." || strings.HasPrefix(folder, "["):
		return ""
	case strings.HasPrefix(folder, "(") && strings.HasSuffix(folder, ")"):
		return strings.Trim(folder, "()")
	}
	return folder
}

// Folders by the meaning of their name in lower case.
var (
	// sourceRoots only contain sources.
	sourceRoots = []string{
		"src", "source", "sources", "lib", "libs", "internal", "pkg", "packages", "cmd", "apps", "crates", "modules",
		"projects", "main", "java", "kotlin", "scala", "groovy", "python", "resources", "include", "sourcesets", "commonmain",
		"cpp", "js", "ts",
	}
	// testFolders contain tests, or what tests need.
	testFolders = []string{
		"test", "tests", "__tests__", "spec", "specs", "__mocks__", "__snapshots__", "__fixtures__", "testdata", "fixtures",
		"mocks", "snapshots",
	}
	// kindsOfTests within a test folder say how something is tested, not what.
	kindsOfTests = []string{"unit", "integration", "functional", "e2e"}
	// layers are common architectural layers.
	layers = []string{
		"server", "client", "backend", "frontend", "api", "app", "web", "www", "public", "core", "shared", "common",
		"features", "domain", "domains", "infrastructure",
	}
	// kindFolders group things of a kind.
	kindFolders = []string{
		"util", "utils", "helpers", "helper", "types", "interfaces", "models", "model", "entities", "dto", "dtos", "services",
		"service", "controllers", "controller", "repositories", "repository", "handlers", "routes", "views", "components",
		"hooks", "middleware", "middlewares", "impl", "bin", "scripts", "assets", "static", "styles",
	}
	// workspaces contain a package in each folder.
	workspaces = []string{"packages", "apps", "crates", "projects", "libs", "modules"}
)

// isVersion reports whether a folder is v1, v2beta1, ...
func isVersion(lower string) bool {
	return len(lower) > 1 && lower[0] == 'v' && lower[1] >= '0' && lower[1] <= '9'
}

// isReverseDomain reports whether the last folder is a top-level domain like the com of
// java/com/acme.
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
