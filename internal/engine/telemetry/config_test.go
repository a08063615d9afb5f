package telemetry_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"remit/internal/engine/telemetry"
)

// read returns the configuration of an environment, and the warnings.
func read(env map[string]string) (telemetry.Config, string) {
	var warned []string
	reader := &telemetry.Env{Lookup: lookup(env), Warn: func(name, why string) { warned = append(warned, name+": "+why) }}
	return telemetry.ReadConfig(reader, "1.2.3", "here"), strings.Join(warned, "\n")
}

// onUnlessParent is the default sampler.
var onUnlessParent = sdktrace.ParentBased(sdktrace.AlwaysSample()).Description()

func TestDefaults(t *testing.T) {
	got, warned := read(nil)
	spans := telemetry.Batching{Queue: 2048, Batch: 512, Delay: 5 * time.Second, Timeout: 30 * time.Second}
	logs := spans
	logs.Delay = time.Second
	if got.Spans != spans || got.Logs != logs || got.Every != time.Minute || got.MetricTimeout != 30*time.Second ||
		got.ValueLimit != -1 || warned != "" ||
		got.Temporality(sdkmetric.InstrumentKindCounter) != metricdata.CumulativeTemporality ||
		got.Sampler.Description() != onUnlessParent {
		t.Errorf("warned %q, got %+v", warned, got)
	}
	name := map[string]string{
		"service.name": "remit", "service.version": "1.2.3", "service.instance.id": "here",
		"telemetry.sdk.name": "opentelemetry", "telemetry.sdk.language": "go", "telemetry.sdk.version": sdk.Version(),
	}
	if diff := cmp.Diff(name, attrs(got.Resource.Attributes())); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}
}

func TestEnvironment(t *testing.T) {
	got, warned := read(map[string]string{
		"OTEL_RESOURCE_ATTRIBUTES":          "service.name=a, deployment.environment.name=b%2Cc ,service.instance.id=i,,broken",
		"OTEL_SERVICE_NAME":                 "mine",
		"OTEL_BSP_MAX_QUEUE_SIZE":           "100",
		"OTEL_BSP_SCHEDULE_DELAY":           "10",
		"OTEL_BLRP_EXPORT_TIMEOUT":          "-1",
		"OTEL_BLRP_MAX_EXPORT_BATCH_SIZE":   "9999999999999",
		"OTEL_METRIC_EXPORT_INTERVAL":       "soon",
		"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "10",
		"OTEL_TRACES_SAMPLER":               "jaeger_remote",
	})
	has := attrs(got.Resource.Attributes())
	if has["service.name"] != "mine" || has["deployment.environment.name"] != "b,c" || has["service.instance.id"] != "i" {
		t.Errorf("resource %v", has)
	}
	if got.Spans.Queue != 100 || got.Spans.Batch != 100 || got.Spans.Delay != 10*time.Millisecond || got.Logs.Timeout != 30*time.Second ||
		got.Logs.Batch != 512 || got.Every != time.Minute || got.ValueLimit != 10 || got.Sampler.Description() != onUnlessParent {
		t.Errorf("got %+v", got)
	}
	want := `OTEL_RESOURCE_ATTRIBUTES: entry 5 is left out: use name=value, with the value percent-encoded
OTEL_TRACES_SAMPLER: use parentbased_always_on, parentbased_always_off, parentbased_traceidratio, always_on, always_off, traceidratio; parentbased_always_on is used
OTEL_BLRP_MAX_EXPORT_BATCH_SIZE: use a whole number above 0; 512 is used
OTEL_BLRP_EXPORT_TIMEOUT: use a whole number above 0; 30000 is used
OTEL_METRIC_EXPORT_INTERVAL: use a whole number above 0; 60000 is used`
	if diff := cmp.Diff(want, warned); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// FuzzEnvironment checks that any values of the variables give a valid configuration, and that no
// warning quotes a value.
func FuzzEnvironment(f *testing.F) {
	f.Add("a=b,c=%20", "100", "0.5")
	f.Add("=,%zz=1", "-1", "NaN")
	f.Add("geheim", "1e9", "Inf")
	f.Fuzz(func(t *testing.T, pairs, number, ratio string) {
		got, warned := read(map[string]string{
			"OTEL_RESOURCE_ATTRIBUTES": pairs, "OTEL_BSP_MAX_QUEUE_SIZE": number, "OTEL_BLRP_SCHEDULE_DELAY": number,
			"OTEL_METRIC_EXPORT_INTERVAL":       number,
			"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": number, "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": ratio,
		})
		if got.Spans.Queue <= 0 || got.Spans.Batch <= 0 || got.Spans.Batch > got.Spans.Queue || got.Logs.Delay <= 0 ||
			got.Every <= 0 || got.ValueLimit == 0 || got.ValueLimit < -1 {
			t.Errorf("got %+v", got)
		}
		var share float64
		if described := got.Sampler.Description(); described != "AlwaysOnSampler" {
			if _, err := fmt.Sscanf(described, "TraceIDRatioBased{%g}", &share); err != nil || !(share >= 0 && share <= 1) {
				t.Errorf("ratio %q gives %s", ratio, described)
			}
		}
		for _, a := range got.Resource.Attributes() {
			if a.Key == "" {
				t.Errorf("an attribute without a name: %v", got.Resource)
			}
		}
		if strings.Contains(pairs, "geheim") && strings.Contains(warned, "geheim") {
			t.Errorf("warned %q", warned)
		}
	})
}
