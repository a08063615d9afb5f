package imports

import (
	"bytes"
	"go/build/constraint"
	"go/parser"
	gotoken "go/token"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// goPackageFiles gives the files that make up the package in a folder when it is built for this system.
func goPackageFiles(files Files, folder string) []string {
	var found []string
	for _, name := range files.In(folder) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			name[0] == '_' || name[0] == '.' || !goNameFits(name) {
			continue
		}
		file := path.Join(folder, name)
		if content, err := files.Read(file); err == nil && goContentFits(content) {
			found = append(found, file)
		}
	}
	return found
}

// goNameFits tells whether a name ends in no other system's or architecture's name.
func goNameFits(name string) bool {
	name, _, _ = strings.Cut(name, ".")
	parts := strings.Split(name, "_")[1:]
	n := len(parts)
	switch {
	case n >= 1 && isGoArchitecture(parts[n-1]):
		return goTagHolds(parts[n-1]) && (n < 2 || !isGoSystem(parts[n-2]) || goTagHolds(parts[n-2]))
	case n >= 1 && isGoSystem(parts[n-1]):
		return goTagHolds(parts[n-1])
	}
	return true
}

// goContentFits tells whether a file's build constraint holds, and whether it is more than documentation.
func goContentFits(content []byte) bool {
	if !goConstraintHolds(content) {
		return false
	}
	file, _ := parser.ParseFile(gotoken.NewFileSet(), "", content, parser.PackageClauseOnly|parser.SkipObjectResolution)
	return file == nil || file.Name == nil || file.Name.Name != "documentation"
}

// goConstraintHolds evaluates the //go:build line above the package clause, or the +build lines if there is none.
func goConstraintHolds(content []byte) bool {
	line, above := goHeader(content)
	if line != "" {
		expr, err := constraint.Parse(line)
		return err == nil && expr.Eval(goTagHolds)
	}
	for line := range bytes.Lines(above) {
		text := string(bytes.TrimSpace(line))
		if !constraint.IsPlusBuild(text) {
			continue
		}
		if expr, err := constraint.Parse(text); err == nil && !expr.Eval(goTagHolds) {
			return false
		}
	}
	return true
}

// goHeader finds the //go:build line among the comments that begin a file, and the part in which +build lines count:
// line comments that a blank line follows.
func goHeader(content []byte) (build string, above []byte) {
	at, end, ended, inside := 0, 0, false, false
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	for raw := range bytes.Lines(content) {
		at += len(raw)
		line := bytes.TrimSpace(raw)
		if len(line) == 0 && !ended {
			end = at
			continue
		}
		ended = ended || !bytes.HasPrefix(line, []byte("//"))
		if !inside && constraint.IsGoBuild(string(line)) {
			if build != "" {
				return "//go:build twice is wrong", nil
			}
			build = string(line)
		}
		var code bool
		if inside, code = goComments(line, inside); code {
			break
		}
	}
	return build, content[:end]
}

// goComments goes through the comments of a line: is it inside one at the end, and is there anything else?
func goComments(line []byte, inside bool) (stillInside, code bool) {
	for len(line) > 0 {
		switch {
		case inside:
			_, after, closed := bytes.Cut(line, []byte("*/"))
			if !closed {
				return true, false
			}
			inside, line = false, bytes.TrimSpace(after)
		case bytes.HasPrefix(line, []byte("//")):
			return false, false
		case bytes.HasPrefix(line, []byte("/*")):
			inside, line = true, line[2:]
		default:
			return false, true
		}
	}
	return inside, false
}

// goTagHolds tells whether a build tag is set when Go builds for this system with cgo and nothing special.
func goTagHolds(tag string) bool {
	if tag == runtime.GOOS || tag == runtime.GOARCH {
		return true
	}
	switch tag {
	case "gc", "cgo":
		return true
	case "unix":
		return isUnix(runtime.GOOS)
	case "linux":
		return runtime.GOOS == "android"
	case "solaris":
		return runtime.GOOS == "illumos"
	case "darwin":
		return runtime.GOOS == "ios"
	case "amd64.v1":
		return runtime.GOARCH == "amd64"
	}
	minor, ok := goMinor(tag)
	own, known := goMinor(runtime.Version())
	return ok && strings.HasPrefix(tag, "go1.") && (!known || minor <= own)
}

// goMinor reads the N of go1.N out of the name of a release.
func goMinor(release string) (int, bool) {
	_, after, ok := strings.Cut(release, "go1.")
	digits := strings.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' })
	if digits >= 0 {
		after = after[:digits]
	}
	n, err := strconv.Atoi(after)
	return n, ok && err == nil && n > 0
}

func isUnix(system string) bool {
	return isGoSystem(system) && system != "js" && system != "nacl" && system != "plan9" && system != "wasip1" &&
		system != "windows" && system != "zos"
}

// isGoSystem knows every system that Go has or had a name for.
func isGoSystem(name string) bool {
	switch name {
	case "aix", "android", "darwin", "dragonfly", "freebsd", "hurd", "illumos", "ios", "js", "linux", "nacl", "netbsd",
		"openbsd", "plan9", "solaris", "wasip1", "windows", "zos":
		return true
	}
	return false
}

// isGoArchitecture knows every architecture that Go has or had a name for.
func isGoArchitecture(name string) bool {
	switch name {
	case "386", "amd64", "amd64p32", "arm", "armbe", "arm64", "arm64be", "loong64", "mips", "mipsle", "mips64",
		"mips64le", "mips64p32", "mips64p32le", "ppc", "ppc64", "ppc64le", "riscv", "riscv64", "s390", "s390x",
		"sparc", "sparc64", "wasm":
		return true
	}
	return false
}
