package imports

import (
	"bytes"
	"go/build"
	"go/parser"
	gotoken "go/token"
	"io"
	"path"
	"runtime"
	"strings"
)

// goPackageFiles gives the files that make up the package in a folder when it is built for this system with cgo.
func goPackageFiles(files Files, folder string) []string {
	var found []string
	for _, name := range files.In(folder) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, err := files.Read(path.Join(folder, name))
		if err == nil && goFileFits(name, content) {
			found = append(found, path.Join(folder, name))
		}
	}
	return found
}

// goFileFits tells whether a file's name and build constraint hold, and whether it is more than documentation.
func goFileFits(name string, content []byte) bool {
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled, context.BuildTags = runtime.GOOS, runtime.GOARCH, true, nil
	context.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	if fits, err := context.MatchFile("", name); err != nil || !fits {
		return false
	}
	file, _ := parser.ParseFile(gotoken.NewFileSet(), "", content, parser.PackageClauseOnly|parser.SkipObjectResolution)
	return file == nil || file.Name == nil || file.Name.Name != "documentation"
}
