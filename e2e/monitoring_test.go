package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// readFile returns the content of a file of the repository.
func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// expressions returns the PromQL expressions of the alerts and of the dashboard, by name.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	if err := yaml.Unmarshal(readFile(t, "../packaging/monitoring/rules.yaml"), &rules); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(readFile(t, "../packaging/monitoring/dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			found[rule.Alert] = rule.Expr
		}
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			found[panel.Title+" "+target.RefID] = target.Expr
		}
	}
	return found
}

// The parts of our expressions: a metric with its selector, and the labels that are grouped by.
var (
	metricPattern = regexp.MustCompile(`\b([a-z_]+)(?:\{([^}]*)\})?(?:\[\w+\])?`)
	labelPattern  = regexp.MustCompile(`(\w+)(=~|!=|=)"([^"]*)"`)
	groupPattern  = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// promQL are the functions, operators and own metrics of Prometheus that we use.
var promQL = []string{"sum", "by", "rate", "increase", "histogram_quantile", "topk", "time", "min_over_time", "up"}

// targetLabels are added by Prometheus.
var targetLabels = []string{"instance", "job"}

// TestMonitoringMatchesMetrics checks that a running server exports every metric and label of the
// alerts and of the dashboard.
func TestMonitoringMatchesMetrics(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	s.ownKeys()
	s.write(".remit/last-backup", `{"time":"2026-01-09T12:00:00Z"}`)
	w := s.serve()
	w.post("/tools/hello", `{"name":"Ada"}`, nil)
	w.post("/tools/hello", `{"name":7}`, nil)
	answer := w.get("/metrics", nil)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(answer.body)))
	if err != nil || answer.status != http.StatusOK {
		t.Fatalf("%d %v", answer.status, err)
	}
	if at := families["remit_backup_timestamp_seconds"].GetMetric()[0].GetGauge().GetValue(); at != float64(time.Date(2026, 1, 9, 12, 0, 0, 0, time.UTC).Unix()) {
		t.Errorf("the last backup was at %v", at)
	}
	all := expressions(t)
	if len(all) < 20 {
		t.Errorf("only %d expressions were found", len(all))
	}
	for name, expr := range all {
		checkExpression(t, name, expr, families)
	}
}

func checkExpression(t *testing.T, name, expr string, families map[string]*dto.MetricFamily) {
	t.Helper()
	var labels []string
	for _, group := range groupPattern.FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(group[1], ",") {
			labels = append(labels, strings.TrimSpace(label))
		}
	}
	metrics := 0
	for _, found := range metricPattern.FindAllStringSubmatch(groupPattern.ReplaceAllString(expr, ""), -1) {
		metric, selector := found[1], found[2]
		if slices.Contains(promQL, metric) {
			metrics += strings.Count(metric, "up")
			continue
		}
		metrics++
		base, isBucket := strings.CutSuffix(metric, "_bucket")
		family := families[base]
		if family == nil {
			t.Errorf("%s: the server has no metric %s", name, metric)
			continue
		}
		wanted := slices.Clone(labels)
		for _, label := range labelPattern.FindAllStringSubmatch(selector, -1) {
			wanted = append(wanted, label[1])
			if label[1] == "check" && !slices.Contains(valuesOf(family, "check"), label[3]) {
				t.Errorf("%s: %s has no check %q", name, metric, label[3])
			}
		}
		for _, label := range wanted {
			if !slices.Contains(targetLabels, label) && (!isBucket || label != "le") && len(valuesOf(family, label)) == 0 {
				t.Errorf("%s: %s has no label %s", name, metric, label)
			}
		}
	}
	if metrics == 0 {
		t.Errorf("%s: no metric in %s", name, expr)
	}
}

// valuesOf returns the values of a label of a metric.
func valuesOf(family *dto.MetricFamily, label string) (values []string) {
	for _, m := range family.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				values = append(values, l.GetValue())
			}
		}
	}
	return values
}
