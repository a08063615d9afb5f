package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// settingVariables returns the environment variables of all settings.
func (s *workspace) settingVariables() []string {
	s.t.Helper()
	var settings []struct{ Key string }
	if err := json.Unmarshal([]byte(s.remit("config", "print", "--json").out), &settings); err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, one := range settings {
		names = append(names, "REMIT_"+strings.ToUpper(one.Key))
	}
	return names
}

// parseUnit returns the values of each key of a systemd unit, by section.
func parseUnit(t *testing.T, name string) map[string]map[string][]string {
	t.Helper()
	unit, section := map[string]map[string][]string{}, ""
	for line := range strings.SplitSeq(string(readFile(t, name)), "\n") {
		key, value, isPair := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			unit[section] = map[string][]string{}
		case !isPair || section == "":
			t.Errorf("%s: %q is not a setting", name, line)
		default:
			unit[section][key] = append(unit[section][key], value)
		}
	}
	return unit
}

// TestSystemdUnit checks that a server starts with the command and the environment of the unit,
// that the unit allows what the server needs, and what systemd says about it, where there is one.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	const file = "../packaging/systemd/remit.service"
	s := newWorkspace(t, nil)
	service := parseUnit(t, file)["Service"]
	known := s.settingVariables()
	state := filepath.Join(t.TempDir(), "remit")
	s.check(os.Mkdir(state, 0o700)) // as StateDirectory does
	var env []string
	for _, pair := range strings.Fields(strings.Join(service["Environment"], " ")) {
		name, _, _ := strings.Cut(pair, "=")
		if !slices.Contains(known, name) {
			t.Errorf("there is no setting %s", name)
		}
		env = append(env, strings.ReplaceAll(pair, "/var/lib/remit", state))
	}
	if command := service["ExecStart"]; !slices.Equal(command, []string{"/usr/local/bin/remit serve"}) {
		t.Errorf("the unit starts %v", command)
	}
	w := s.serveWith(env)
	if got := w.get("/health", nil); got.status != http.StatusOK {
		t.Errorf("health: %d %s", got.status, got.body)
	}
	if got := w.post("/tools/add_task", `{"user_id":"ada","title":"x"}`, nil); got.status != http.StatusUnauthorized {
		t.Errorf("a call without a token: %d %s", got.status, got.body)
	}
	w.end()
	if _, err := os.Stat(s.path(".remit")); err == nil {
		t.Error("the server writes to the workspace")
	}
	for _, family := range []string{"AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"} {
		if !slices.Contains(strings.Fields(service["RestrictAddressFamilies"][0]), family) {
			t.Errorf("%s is not allowed", family)
		}
	}
	checkWithSystemd(t, file)
}

// checkWithSystemd checks a unit with systemd-analyze, if that is installed.
func checkWithSystemd(t *testing.T, file string) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed")
		return
	}
	text := strings.ReplaceAll(string(readFile(t, file)), "/usr/local/bin/remit", remitBin)
	unit := filepath.Join(t.TempDir(), "remit.service")
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", unit).CombinedOutput()
	if err != nil || strings.Contains(string(out), unit) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	out, err = exec.Command(analyze, "security", "--offline=true", "--no-pager", unit).CombinedOutput()
	_, level, found := strings.Cut(string(out), "Overall exposure level for remit.service: ")
	if err != nil || !found {
		t.Skipf("this systemd cannot rate a unit: %v\n%s", err, clip(out))
	}
	if exposure, err := strconv.ParseFloat(strings.Fields(level)[0], 64); err != nil || exposure > 2 {
		t.Errorf("the exposure level is %s", level)
	}
}

// TestComposeFile checks the settings and the links between the services of the compose file.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	var file struct {
		Services map[string]struct {
			Image       string
			Command     []string
			Environment map[string]string
			Volumes     []string
			DependsOn   map[string]any `yaml:"depends_on"`
		}
		Volumes map[string]any
	}
	if err := yaml.UnmarshalWithOptions(readFile(t, "../packaging/compose/compose.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	s := newWorkspace(t, nil)
	known := s.settingVariables()
	remit := file.Services["remit"]
	var env []string
	for name, value := range remit.Environment {
		if strings.HasPrefix(name, "REMIT_") && !slices.Contains(known, name) {
			t.Errorf("there is no setting %s", name)
		}
		env = append(env, name+"="+strings.NewReplacer("${POSTGRES_PASSWORD}", "secret", "${S3_SECRET}", "secret").Replace(value))
	}
	s.env = env
	if got := s.remit("config", "print"); got.code != 0 || !strings.Contains(got.out, "postgres://remit:***@postgres/remit") {
		t.Errorf("config print: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	if got := s.remit(append(remit.Command, "--help")...); got.code != 0 {
		t.Errorf("%v: %s", remit.Command, got.errOut)
	}
	for name, service := range file.Services {
		for other := range service.DependsOn {
			if _, ok := file.Services[other]; !ok {
				t.Errorf("%s depends on %s, which does not exist", name, other)
			}
		}
		for _, volume := range service.Volumes {
			if from, _, _ := strings.Cut(volume, ":"); file.Volumes[from] == nil {
				t.Errorf("%s uses the volume %s, which does not exist", name, from)
			}
		}
		if service.Image == "" || len(service.Command) > 0 && service.Command[0] == "" {
			t.Errorf("%s has no image", name)
		}
	}
}
