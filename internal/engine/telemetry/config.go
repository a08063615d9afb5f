package telemetry

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Config holds the settings that all exporters share.
type Config struct {
	Resource      *resource.Resource
	Sampler       sdktrace.Sampler
	Spans, Logs   Batching
	Every         time.Duration // between two exports of metrics
	MetricTimeout time.Duration // of one of them
	Temporality   sdkmetric.TemporalitySelector
	ValueLimit    int // characters of an attribute value; -1 means no limit
}

// Batching holds the settings of a batch processor.
type Batching struct {
	Queue   int           // at most this many items wait or are being exported
	Batch   int           // at most this many items are exported at once
	Delay   time.Duration // how long items wait for others
	Timeout time.Duration // of one export, retries included
}

// Env reads environment variables. The SDK reads most of them too, but its warnings quote values,
// which may be secrets, and do not name the variable. Some values even make it panic.
type Env struct {
	Lookup func(string) (string, bool)
	Warn   func(name, why string) // called for a value that is ignored, never with the value
}

// Text returns the value of a variable; "" if it is empty or not set.
func (e *Env) Text(name string) string {
	text, _ := e.Lookup(name)
	return strings.TrimSpace(text)
}

// Millis returns a positive number of milliseconds.
func (e *Env) Millis(name string, fallback time.Duration) time.Duration {
	return time.Duration(e.Count(name, int(fallback/time.Millisecond))) * time.Millisecond
}

// maxCount bounds every number; as milliseconds it still fits into a time.Duration.
const maxCount = 1 << 31

// Count returns a positive integer.
func (e *Env) Count(name string, fallback int) int {
	text := e.Text(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n >= maxCount {
		e.Warn(name, "use a whole number above 0; "+strconv.Itoa(fallback)+" is used")
		return fallback
	}
	return n
}

// Choice returns one of some words; the first is the default.
func (e *Env) Choice(name string, words ...string) string {
	text := strings.ToLower(e.Text(name))
	if text == "" {
		return words[0]
	}
	if slices.Contains(words, text) {
		return text
	}
	e.Warn(name, "use "+strings.Join(words, ", ")+"; "+words[0]+" is used")
	return words[0]
}

// Pair is one name=value of a list.
type Pair struct{ Name, Value string }

// Pairs parses a list like name=value,name=value with percent-encoded values.
func (e *Env) Pairs(name string) []Pair {
	var pairs []Pair
	for i, entry := range strings.Split(e.Text(name), ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		key, value, ok := strings.Cut(entry, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || key == "" || err != nil {
			e.Warn(name, "entry "+strconv.Itoa(i+1)+" is left out: use name=value, with the value percent-encoded")
			continue
		}
		pairs = append(pairs, Pair{key, value})
	}
	return pairs
}

// ReadConfig reads the standard variables. instance distinguishes this process from others that run
// the same program.
func ReadConfig(e *Env, version, instance string) Config {
	c := Config{
		Resource:      e.resource(version, instance),
		Sampler:       e.sampler(),
		Spans:         e.batching("OTEL_BSP_", 5*time.Second),
		Logs:          e.batching("OTEL_BLRP_", time.Second),
		Every:         e.Millis("OTEL_METRIC_EXPORT_INTERVAL", time.Minute),
		MetricTimeout: e.Millis("OTEL_METRIC_EXPORT_TIMEOUT", 30*time.Second),
		Temporality:   sdkmetric.CumulativeTemporalitySelector,
		ValueLimit:    -1,
	}
	switch e.Choice("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "cumulative", "delta", "lowmemory") {
	case "delta":
		c.Temporality = sdkmetric.DeltaTemporalitySelector
	case "lowmemory":
		c.Temporality = sdkmetric.LowMemoryTemporalitySelector
	}
	const limit = "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"
	if e.Text(limit) != "" {
		c.ValueLimit = e.Count(limit, -1)
	}
	return c
}

func (e *Env) batching(prefix string, delay time.Duration) Batching {
	b := Batching{
		Queue:   e.Count(prefix+"MAX_QUEUE_SIZE", 2048),
		Batch:   e.Count(prefix+"MAX_EXPORT_BATCH_SIZE", 512),
		Delay:   e.Millis(prefix+"SCHEDULE_DELAY", delay),
		Timeout: e.Millis(prefix+"EXPORT_TIMEOUT", 30*time.Second),
	}
	b.Batch = min(b.Batch, b.Queue)
	return b
}

func (e *Env) sampler() sdktrace.Sampler {
	word := e.Choice("OTEL_TRACES_SAMPLER", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio",
		"always_on", "always_off", "traceidratio")
	decision, parentBased := strings.CutPrefix(word, "parentbased_")
	root := sdktrace.AlwaysSample()
	switch decision {
	case "always_off":
		root = sdktrace.NeverSample()
	case "traceidratio":
		root = sdktrace.TraceIDRatioBased(e.ratio())
	}
	if parentBased {
		return sdktrace.ParentBased(root)
	}
	return root
}

func (e *Env) ratio() float64 {
	const name = "OTEL_TRACES_SAMPLER_ARG"
	text := e.Text(name)
	if text == "" {
		return 1
	}
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		e.Warn(name, "use a number from 0 to 1; 1 is used")
		return 1
	}
	return share
}

// resource describes the program. If an attribute is set twice, the last value counts.
func (e *Env) resource(version, instance string) *resource.Resource {
	attrs := append(resource.Default().Attributes(),
		attribute.String("service.name", "remit"),
		attribute.String("service.version", version),
		attribute.String("service.instance.id", instance),
	)
	for _, pair := range e.Pairs("OTEL_RESOURCE_ATTRIBUTES") {
		attrs = append(attrs, attribute.String(pair.Name, strings.ToValidUTF8(pair.Value, "\uFFFD")))
	}
	if name := e.Text("OTEL_SERVICE_NAME"); name != "" {
		attrs = append(attrs, attribute.String("service.name", strings.ToValidUTF8(name, "\uFFFD")))
	}
	return resource.NewSchemaless(attrs...)
}
