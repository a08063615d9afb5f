package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"remit/internal/app"
)

// fromRoot returns the path of a file in the repository.
func fromRoot(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func readRoot(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(fromRoot(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// runScript runs a script of the repository and returns its output.
func runScript(t *testing.T, env []string, name string, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		skipOutsideCI(t, t.Name()+": bash is missing")
	}
	ctx, cancel := context.WithTimeout(t.Context(), nodeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", append([]string{fromRoot(t, name)}, args...)...)
	cmd.Env = releaseEnv(env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// matchesSchema fails the test unless a document matches a third-party schema.
func matchesSchema(t *testing.T, schema string, document []byte) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiled, err := compiler.Compile(fromRoot(t, "e2e/testdata/schemas/"+schema))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(value); err != nil {
		t.Error(err)
	}
}

// instruction is an instruction of a Dockerfile.
type instruction struct{ name, rest string }

// instructions parses a Dockerfile. It does not support here-documents, which ours does not use.
func instructions(text string) []instruction {
	var list []instruction
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		list = append(list, instruction{name, strings.TrimSpace(rest)})
	}
	return list
}

// only returns the argument of an instruction that the final image must have exactly once.
func only(t *testing.T, list []instruction, name string) string {
	t.Helper()
	last := len(list) - 1
	for list[last].name != "FROM" {
		last--
	}
	var found []string
	for _, i := range list[last:] {
		if i.name == name {
			found = append(found, i.rest)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s: %q, want exactly one", name, found)
	}
	return found[0]
}

// TestDockerfile checks that the image contains only the program, and that it does not run as root.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	text := string(readRoot(t, "Dockerfile"))
	list := instructions(text)
	if from := only(t, list, "FROM"); from != "gcr.io/distroless/static-debian12:nonroot" {
		t.Errorf("the base image is %s", from)
	}
	if user := only(t, list, "USER"); user != "65532:65532" {
		t.Errorf("the user is %s", user)
	}
	if volume := only(t, list, "VOLUME"); volume != "/workspace" {
		t.Errorf("the volume is %s", volume)
	}
	var entry, command []string
	if err := json.Unmarshal([]byte(only(t, list, "ENTRYPOINT")), &entry); err != nil || !slices.Equal(entry, []string{"/remit"}) {
		t.Errorf("ENTRYPOINT is not in exec form: %v, %v", entry, err)
	}
	if err := json.Unmarshal([]byte(only(t, list, "CMD")), &command); err != nil || len(command) == 0 {
		t.Fatalf("CMD is not in exec form: %v", err)
	}
	s := newWorkspace(t, nil)
	if got := s.remit(append(command, "--help")...); got.code != 0 || !strings.Contains(got.out, "remit serve") {
		t.Errorf("%v is not a command: %s%s", command, got.out, got.errOut)
	}
	var server struct{ Name string }
	s.check(json.Unmarshal(readRoot(t, "server.json"), &server))
	if !strings.Contains(text, fmt.Sprintf("io.modelcontextprotocol.server.name=%q", server.Name)) {
		t.Errorf("the image has no label with the server name %s", server.Name)
	}
	_, rest, _ := strings.Cut(string(readRoot(t, "go.mod")), "\ngo ")
	version, _, _ := strings.Cut(rest, "\n")
	if want := "golang:" + version[:strings.LastIndexByte(version, '.')]; !strings.Contains(text, want+" AS build") {
		t.Errorf("the build does not use %s", want)
	}
	checkCopies(t, list)
}

// checkCopies checks that the files which the image copies exist and that .dockerignore does not
// exclude them.
func checkCopies(t *testing.T, list []instruction) {
	t.Helper()
	ignored := strings.Fields(string(readRoot(t, ".dockerignore")))
	if !slices.Contains(ignored, "*") {
		t.Error(".dockerignore does not exclude everything by default")
	}
	for _, i := range list {
		parts := strings.Fields(i.rest)
		if i.name != "COPY" || strings.HasPrefix(i.rest, "--from") {
			continue
		}
		for _, source := range parts[:len(parts)-1] {
			if _, err := os.Stat(fromRoot(t, source)); err != nil || !slices.Contains(ignored, "!"+source) {
				t.Errorf("COPY %s: %v, or .dockerignore excludes it", source, err)
			}
		}
	}
}

// TestDockerContextBuilds checks that the files which .dockerignore lets through are enough to
// build the image.
func TestDockerContextBuilds(t *testing.T) {
	t.Parallel()
	if os.Getenv("REMIT_FULL") != "true" {
		t.Skip("slow: test.sh --full runs it")
	}
	src, out := t.TempDir(), t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", "cmd", "internal"} {
		copyWithoutTests(t, fromRoot(t, name), filepath.Join(src, name))
	}
	for _, i := range instructions(string(readRoot(t, "Dockerfile"))) {
		if i.name != "RUN" || strings.Contains(i.rest, "go mod download") {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(i.rest, "/out/", out+"/"))
		cmd.Dir, cmd.Env = src, releaseEnv("TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", i.rest, err, said)
		}
	}
	said, err := exec.CommandContext(t.Context(), filepath.Join(out, "remit"), "version").Output()
	if err != nil || string(said) != "remit "+app.Version+"\n" {
		t.Errorf("%q, %v", said, err)
	}
}

// copyWithoutTests copies the files that .dockerignore lets through.
func copyWithoutTests(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "testdata" {
			return fs.SkipDir
		}
		name, err := filepath.Rel(from, path)
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestGoreleaser checks that the release configuration matches goreleaser's schema, and that the
// files it names exist after its hooks have run.
func TestGoreleaser(t *testing.T) {
	t.Parallel()
	text := readRoot(t, ".goreleaser.yaml")
	document, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	matchesSchema(t, "goreleaser.schema.json", document)
	var config struct {
		Builds   []struct{ Main string }
		Archives []struct{ Files []any }
		NFPMs    []struct{ Contents []struct{ Src string } } `json:"nfpms"`
		Dockers  []struct {
			Dockerfile string
			Extra      []string `json:"extra_files"`
		} `json:"dockers_v2"`
		Before struct{ Hooks []string }
	}
	if err := json.Unmarshal(document, &config); err != nil {
		t.Fatal(err)
	}
	named := []string{config.Builds[0].Main, config.Dockers[0].Dockerfile}
	named = append(named, config.Dockers[0].Extra...)
	for _, hook := range config.Before.Hooks {
		named = append(named, strings.Fields(hook)[0])
	}
	for _, file := range config.Archives[0].Files {
		if source, ok := file.(map[string]any); ok {
			named = append(named, source["src"].(string))
		} else {
			named = append(named, file.(string))
		}
	}
	for _, content := range config.NFPMs[0].Contents {
		named = append(named, content.Src)
	}
	extras := t.TempDir()
	env := []string{"OUT=" + extras, "SOURCE_DATE_EPOCH=1767225600"}
	if out, err := runScript(t, env, "packaging/extras.sh", app.Version); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range named {
		pattern := fromRoot(t, name)
		if extra, ok := strings.CutPrefix(name, "bin/extras/"); ok {
			pattern = filepath.Join(extras, filepath.FromSlash(extra))
		}
		if found, err := filepath.Glob(pattern); err != nil || len(found) == 0 {
			t.Errorf("%s is missing: %v", name, err)
		}
	}
	if len(named) < 15 {
		t.Errorf("only %v were checked", named)
	}
}

// TestExtrasRefuseAnotherVersion checks that a tag that differs from the program's version stops
// the release.
func TestExtrasRefuseAnotherVersion(t *testing.T) {
	t.Parallel()
	out, err := runScript(t, []string{"OUT=" + t.TempDir()}, "packaging/extras.sh", "9.9.9")
	if err == nil || !strings.Contains(out, "the tag says 9.9.9") {
		t.Errorf("%v\n%s", err, out)
	}
}

// registryPackage is a package in server.json.
type registryPackage struct {
	RegistryType, Identifier, FileSha256 string
}

type registryServer struct {
	Name, Version string
	Packages      []registryPackage
}

// TestServerJSON checks that server.json matches the schema of the MCP registry, and that its
// packages exist.
func TestServerJSON(t *testing.T) {
	t.Parallel()
	document := readRoot(t, "server.json")
	matchesSchema(t, "server.schema.json", document)
	var server registryServer
	if err := json.Unmarshal(document, &server); err != nil {
		t.Fatal(err)
	}
	if server.Version != app.Version {
		t.Errorf("its version is %s, the program's is %s", server.Version, app.Version)
	}
	build := string(readRoot(t, "packaging/mcpb/build.sh"))
	images := 0
	for _, p := range server.Packages {
		switch p.RegistryType {
		case "oci":
			images++
			if !strings.HasSuffix(p.Identifier, "/remit:"+app.Version) || !bytes.Contains(readRoot(t, ".goreleaser.yaml"), []byte(strings.TrimSuffix(p.Identifier, ":"+app.Version))) {
				t.Errorf("no release builds the image %s", p.Identifier)
			}
		case "mcpb":
			target := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(p.Identifier), "remit-"), ".mcpb")
			if !strings.Contains(build, strings.Replace(target, "-", "/", 1)) || !strings.Contains(p.Identifier, "/v"+app.Version+"/") {
				t.Errorf("no release builds the bundle %s", p.Identifier)
			}
		default:
			t.Errorf("no release builds packages of type %s", p.RegistryType)
		}
	}
	if images != 1 || len(server.Packages) != 7 {
		t.Errorf("%d images of %d packages", images, len(server.Packages))
	}
}

// TestRegistryDocument checks that a release puts the owner's name and the digests of the bundles
// into the document.
func TestRegistryDocument(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		skipOutsideCI(t, t.Name()+": node is missing")
	}
	folder := t.TempDir()
	var server registryServer
	if err := json.Unmarshal(readRoot(t, "server.json"), &server); err != nil {
		t.Fatal(err)
	}
	for _, p := range server.Packages {
		if p.RegistryType == "mcpb" {
			if err := os.WriteFile(filepath.Join(folder, filepath.Base(p.Identifier)), []byte("abc"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	made := runNode(t, os.Environ(), "node", fromRoot(t, "packaging/registry.mjs"), "ada-lovelace", folder)
	if made.code != 0 {
		t.Fatal(made.errOut)
	}
	matchesSchema(t, "server.schema.json", []byte(made.out))
	if err := json.Unmarshal([]byte(made.out), &server); err != nil {
		t.Fatal(err)
	}
	// The SHA-256 of abc.
	const digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	for _, p := range server.Packages {
		if !strings.Contains(p.Identifier, "/ada-lovelace/remit") || p.RegistryType == "mcpb" && p.FileSha256 != digest {
			t.Errorf("%+v", p)
		}
	}
	if server.Name != "io.github.ada-lovelace/remit" || strings.Contains(made.out, "example") {
		t.Errorf("it still contains a name of the example: %s", made.out)
	}
	if made := runNode(t, os.Environ(), "node", fromRoot(t, "packaging/registry.mjs"), "../x", folder); made.code != 2 {
		t.Errorf("an invalid owner: exit %d", made.code)
	}
}

// bundleManifest is the manifest of an MCP bundle.
type bundleManifest struct {
	Version string
	Server  struct {
		Config struct {
			Command string
			Args    []string
		} `json:"mcp_config"`
	}
	Compatibility struct{ Platforms []string }
	Tools         []bundleTool
}

type bundleTool struct{ Name, Description string }

func readManifest(t *testing.T, path string) bundleManifest {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m bundleManifest
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestBundleManifest checks that the manifest in the repository lists the tools of the program.
func TestBundleManifest(t *testing.T) {
	t.Parallel()
	m := readManifest(t, fromRoot(t, "packaging/mcpb/manifest.json"))
	exported := newWorkspace(t, nil).remit("export", "--format", "mcp")
	var tools []bundleTool
	if err := json.Unmarshal([]byte(exported.out), &tools); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tools, m.Tools); diff != "" || m.Version != app.Version {
		t.Errorf("run packaging/mcpb/build.sh --manifest: version %s, %s", m.Version, diff)
	}
}

// TestBundle builds a bundle, validates it with the official mcpb program, and starts the server
// with the command in its manifest. Full runs also pack and unpack it with that program, which is
// slow.
func TestBundle(t *testing.T) {
	t.Parallel()
	anyNode.ready(t)
	out, s := t.TempDir(), newWorkspace(t, nil)
	program := anyNode.program(t, "@anthropic-ai/mcpb/dist/cli/cli.js")
	mcpb := func(args ...string) string {
		t.Helper()
		got := runNode(t, os.Environ(), "node", append([]string{program}, args...)...)
		if got.code != 0 {
			t.Fatalf("mcpb %v: exit %d: %s%s", args, got.code, got.out, got.errOut)
		}
		return got.out
	}
	mcpb("validate", fromRoot(t, "packaging/mcpb/manifest.json"))
	full, packer := os.Getenv("REMIT_FULL") == "true", "node "+program
	if !full {
		packer = filepath.Join(out, "pack.sh")
		if err := os.WriteFile(packer, []byte("#!/bin/sh\nexec cp -R \"$2\" \"$3\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := runScript(t, []string{"MCPB=" + packer, "OUT=" + out}, "packaging/mcpb/build.sh"); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	bundle := filepath.Join(out, "remit-"+runtime.GOOS+"-"+runtime.GOARCH+".mcpb")
	unpacked := bundle
	if full {
		if info := mcpb("info", bundle); !strings.Contains(info, filepath.Base(bundle)) {
			t.Errorf("mcpb info prints %s", info)
		}
		unpacked = filepath.Join(out, "unpacked")
		mcpb("unpack", bundle, unpacked)
	}
	mcpb("validate", filepath.Join(unpacked, "manifest.json"))
	m := readManifest(t, filepath.Join(unpacked, "manifest.json"))
	if len(m.Compatibility.Platforms) != 1 {
		t.Errorf("the manifest names the platforms %v", m.Compatibility.Platforms)
	}
	s.write("docs/plan.md", "begin\n")
	if tools := startBundle(t, m, unpacked, s, "false"); !slices.Equal(tools, m.Tools) {
		t.Errorf("the tools in the manifest and the served tools differ: %s", cmp.Diff(m.Tools, tools))
	}
	if tools := startBundle(t, m, unpacked, s, "true"); slices.ContainsFunc(tools, func(tool bundleTool) bool { return tool.Name == "add_task" }) {
		t.Error("it offers tools that write, although it is set to read-only")
	}
	note(t, "the bundle: validated by mcpb, in full runs also packed and unpacked; %d tools served", len(m.Tools))
}

// startBundle starts the server of an unpacked bundle like a client, reads a file with it, and
// returns the tools that it serves.
func startBundle(t *testing.T, m bundleManifest, unpacked string, s *workspace, readOnly string) []bundleTool {
	t.Helper()
	fill := strings.NewReplacer("${__dirname}", unpacked, "${user_config.root}", s.root, "${user_config.read_only}", readOnly)
	args := make([]string, len(m.Server.Config.Args))
	for i, arg := range m.Server.Config.Args {
		args[i] = fill.Replace(arg)
	}
	cmd := exec.Command(fill.Replace(m.Server.Config.Command), args...)
	cmd.Dir, cmd.Env = t.TempDir(), environment()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: timeout}, nil)
	s.check(err)
	defer session.Close()
	listed, err := session.ListTools(ctx, nil)
	s.check(err)
	var tools []bundleTool
	for _, tool := range listed.Tools {
		tools = append(tools, bundleTool{tool.Name, tool.Description})
	}
	read, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "read_repo_file", Arguments: map[string]any{"path": "docs/plan.md"}})
	if err != nil || read.IsError {
		t.Errorf("%+v, %v", read, err)
	}
	return tools
}

// TestBundlerIsPinned checks that build.sh uses the same version of mcpb as the tests.
func TestBundlerIsPinned(t *testing.T) {
	t.Parallel()
	var folder struct{ Dependencies map[string]string }
	if err := json.Unmarshal(readRoot(t, "e2e/package.json"), &folder); err != nil {
		t.Fatal(err)
	}
	if want := "@anthropic-ai/mcpb@" + folder.Dependencies["@anthropic-ai/mcpb"] + "}"; !bytes.Contains(readRoot(t, "packaging/mcpb/build.sh"), []byte(want)) {
		t.Errorf("build.sh does not use %s", want)
	}
}
