package imports

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pythonOracle prints the imports that Python's own parser finds in files of its standard library,
// one file per line. The argument limits the number of files, spread over all of them.
const pythonOracle = `
import ast, json, os, sys, sysconfig, warnings
warnings.simplefilter("ignore")
top, most = sysconfig.get_path("stdlib"), int(sys.argv[1])
paths = sorted(os.path.join(d, f) for d, _, names in os.walk(top) for f in names if f.endswith(".py"))
for path in paths[::max(1, len(paths) // most)]:
    try:
        tree = ast.parse(open(path, "rb").read())
    except (SyntaxError, ValueError, RecursionError):
        continue
    specs = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            specs += [[a.lineno, a.name, 0] for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            specs += [[a.lineno, "." * node.level + (node.module or "") + " " + a.name, 1] for a in node.names]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            value = node.args[0].value
            if name in ("import_module", "__import__") and isinstance(value, str):
                if all(p.isidentifier() for p in value.split(".")):
                    specs.append([node.args[0].lineno, value, 2])
    print(json.dumps({"path": path, "specs": sorted(specs)}))
`

type pythonSeen struct {
	Path  string
	Specs [][3]any
}

// TestPythonAgainstItsParser compares the imports of files of Python's standard library with those
// that its parser finds.
func TestPythonAgainstItsParser(t *testing.T) {
	limit := "60"
	if os.Getenv("REMIT_FULL") == "true" {
		limit = "3000"
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", pythonOracle, limit)
	output, err := cmd.Output()
	if err != nil {
		t.Skipf("python3 does not run: %v", err)
	}
	files, specs := 0, 0
	lines := bufio.NewScanner(strings.NewReader(string(output)))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var seen pythonSeen
		if err := json.Unmarshal(lines.Bytes(), &seen); err != nil {
			t.Fatal(err)
		}
		files, specs = files+1, specs+len(seen.Specs)
		comparePython(t, seen)
	}
	t.Logf("%d imports in %d files compared", specs, files)
}

func comparePython(t *testing.T, seen pythonSeen) {
	t.Helper()
	content, err := os.ReadFile(seen.Path)
	if err != nil {
		t.Fatal(err)
	}
	var want []spec
	for _, s := range seen.Specs {
		want = append(want, spec{s[1].(string), int(s[0].(float64)), kind(s[2].(float64))})
	}
	got, err := extractPython(content)
	if err != nil {
		t.Errorf("%s: %v", seen.Path, err)
	}
	slices.SortFunc(got, compareSpecs)
	slices.SortFunc(want, compareSpecs)
	if !slices.Equal(got, want) {
		t.Errorf("%s (-want +got):\n%s", seen.Path, cmp.Diff(want, got, cmp.AllowUnexported(spec{})))
	}
}

func compareSpecs(a, b spec) int {
	if a.line != b.line {
		return a.line - b.line
	}
	if a.text != b.text {
		return strings.Compare(a.text, b.text)
	}
	return int(a.kind) - int(b.kind)
}
