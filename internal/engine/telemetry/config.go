package telemetry

import (
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Config is what the environment says of what is told, by the variables of OpenTelemetry.
type Config struct {
	Resource      []slog.Attr // what the program is
	Sampler       Sampler
	Spans, Logs   Batching
	Every         time.Duration // between two exports of metrics
	MetricTimeout time.Duration // for one of them
	Temporality   Temporality
	ValueLimit    int // characters of an attribute's value; 0 is no limit
}

// Env reads variables. What cannot be understood is told, and taken as not set.
type Env struct {
	Lookup func(string) (string, bool)
	Warn   func(name, why string) // never with a value that may be a secret
}

// Text gives a variable; one that is empty is not set.
func (e *Env) Text(name string) string {
	text, _ := e.Lookup(name)
	return strings.TrimSpace(text)
}

// Millis reads a number of milliseconds above 0.
func (e *Env) Millis(name string, fallback time.Duration) time.Duration {
	return time.Duration(e.Count(name, int(fallback/time.Millisecond))) * time.Millisecond
}

// most bounds every number: what is beyond it is a mistake, and as milliseconds still fits.
const most = 1 << 31

// Count reads a whole number above 0.
func (e *Env) Count(name string, fallback int) int {
	text := e.Text(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n >= most {
		e.Warn(name, "use a whole number above 0; "+strconv.Itoa(fallback)+" is used")
		return fallback
	}
	return n
}

// Choice reads one of some words; the first is the fallback.
func (e *Env) Choice(name string, words ...string) string {
	text := strings.ToLower(e.Text(name))
	if text == "" {
		return words[0]
	}
	for _, word := range words {
		if text == word {
			return word
		}
	}
	e.Warn(name, "use "+strings.Join(words, ", ")+"; "+words[0]+" is used")
	return words[0]
}

// IsTrue reads a truth value; only true is true.
func (e *Env) IsTrue(name string) bool { return e.Choice(name, "false", "true") == "true" }

// Pair is one name=value of a list.
type Pair struct{ Name, Value string }

// Pairs reads a list like name=value,name=value, whose values are percent-encoded.
// Warnings hold no values.
func (e *Env) Pairs(name string) []Pair {
	text := e.Text(name)
	if text == "" {
		return nil
	}
	var pairs []Pair
	for i, entry := range strings.Split(text, ",") {
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

// ReadConfig reads what the exporters have in common. instance tells this process from
// others that are the same program.
func ReadConfig(e *Env, version, instance string) Config {
	return Config{
		Resource:      e.resource(version, instance),
		Sampler:       e.sampler(),
		Spans:         e.batching("OTEL_BSP_", 5*time.Second),
		Logs:          e.batching("OTEL_BLRP_", time.Second),
		Every:         e.Millis("OTEL_METRIC_EXPORT_INTERVAL", time.Minute),
		MetricTimeout: e.Millis("OTEL_METRIC_EXPORT_TIMEOUT", 30*time.Second),
		Temporality:   e.temporality(),
		ValueLimit:    e.valueLimit(),
	}
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

func (e *Env) temporality() Temporality {
	switch e.Choice("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "cumulative", "delta", "lowmemory") {
	case "delta":
		return Delta
	case "lowmemory":
		return LowMemory
	default:
		return Cumulative
	}
}

func (e *Env) valueLimit() int {
	const name = "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"
	if e.Text(name) == "" {
		return 0
	}
	return e.Count(name, 0)
}

func (e *Env) sampler() Sampler {
	word := e.Choice("OTEL_TRACES_SAMPLER", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio", "always_on", "always_off", "traceidratio")
	decision, heeds := strings.CutPrefix(word, "parentbased_")
	s := Sampler{Heedless: !heeds}
	switch decision {
	case "always_off":
		s.Skipped = 1
	case "traceidratio":
		s.Skipped = 1 - e.ratio()
	}
	return s
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

// resource says what the program is. What people set goes before what we know; the
// name of the service has a variable of its own, which goes before all.
func (e *Env) resource(version, instance string) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("service.name", "remit"),
		slog.String("service.version", version),
		slog.String("service.instance.id", instance),
		slog.String("telemetry.sdk.name", "remit"), // not opentelemetry: that is its SDK alone
		slog.String("telemetry.sdk.language", "go"),
		slog.String("telemetry.sdk.version", version),
	}
	given := e.Pairs("OTEL_RESOURCE_ATTRIBUTES")
	if name := e.Text("OTEL_SERVICE_NAME"); name != "" {
		given = append(given, Pair{"service.name", name})
	}
	for _, pair := range given {
		attrs = setAttr(attrs, pair)
	}
	return attrs
}

func setAttr(attrs []slog.Attr, pair Pair) []slog.Attr {
	for i := range attrs {
		if attrs[i].Key == pair.Name {
			attrs[i].Value = slog.StringValue(pair.Value)
			return attrs
		}
	}
	return append(attrs, slog.String(pair.Name, pair.Value))
}
