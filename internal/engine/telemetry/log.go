package telemetry

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/audit"
)

// Tee gives a handler that passes records on, and has those from level info on exported
// too, whatever the other one writes.
func (t *Telemetry) Tee(next slog.Handler) slog.Handler {
	if t == nil || t.export == nil {
		return next
	}
	return slog.NewMultiHandler(&exported{to: t.export, secrets: t.secrets}, next)
}

// exported flattens groups and removes secrets before a record reaches the SDK.
type exported struct {
	to      slog.Handler
	secrets *secrets
	given   []slog.Attr // attributes of the logger itself
	group   string
}

// Enabled tells whether records of the level are exported.
func (h *exported) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle puts a record into a queue, and never fails.
func (h *exported) Handle(ctx context.Context, r slog.Record) error {
	_ = h.to.Handle(ctx, h.flatten(&r))
	return nil
}

func (h *exported) flatten(r *slog.Record) slog.Record {
	flat := slog.NewRecord(r.Time, r.Level, valid(h.secrets.mask(r.Message)), 0)
	attrs := slices.Grow(slices.Clip(h.given), r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		// What a caller did wrong may be told in words that quote them; what is our own
		// fault has to be found.
		if a.Key != "cause" || r.Level >= slog.LevelWarn {
			attrs = h.appendAttr(attrs, h.group, a)
		}
		return true
	})
	flat.AddAttrs(attrs...)
	return flat
}

// WithAttrs remembers attributes.
func (h *exported) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.given = slices.Clone(h.given)
	for _, a := range attrs {
		next.given = h.appendAttr(next.given, h.group, a)
	}
	return &next
}

// WithGroup puts a name in front of those to come.
func (h *exported) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.group += name + "."
	return &next
}

// appendAttr appends plain attributes for one that may be anything: it has to be read
// now, since what it leads to may change. Durations are in seconds.
func (h *exported) appendAttr(attrs []slog.Attr, group string, a slog.Attr) []slog.Attr {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, member := range value.Group() {
			attrs = h.appendAttr(attrs, group, member)
		}
		return attrs
	}
	key := valid(group + a.Key)
	if key == "" {
		return attrs
	}
	if contract.IsSecretName(key) {
		return append(attrs, slog.String(key, masked))
	}
	switch value.Kind() {
	case slog.KindInt64, slog.KindFloat64, slog.KindBool:
	case slog.KindDuration:
		value = slog.Float64Value(value.Duration().Seconds())
	case slog.KindTime:
		value = slog.StringValue(value.Time().Format(time.RFC3339Nano))
	default:
		value = slog.StringValue(valid(h.secrets.mask(value.String())))
	}
	return append(attrs, slog.Attr{Key: key, Value: value})
}

// masked stands for what should not leave the machine.
const masked = "***"

// secrets finds in texts what lets somebody in: the log of this machine may name it in the
// cause of an error, a collector need not know.
type secrets struct{ inURL, name, value *regexp.Regexp }

func newSecrets() *secrets {
	return &secrets{
		inURL: regexp.MustCompile(`(://)[^\s/?#@"']*:[^\s/?#"']*@`),
		name:  regexp.MustCompile(`([\w.-]+)["']?\s*[=:]\s*`),
		value: regexp.MustCompile(`^(?:(?i:bearer|basic)\s+)?(?:"[^"]*"|'[^']*'|[^\s&,;"']+)`),
	}
}

// mask replaces what looks like a credential, passwords in addresses, and values whose
// name says what they are.
func (s *secrets) mask(text string) string {
	text = audit.Mask(text, masked)
	if !strings.ContainsAny(text, ":=") { // most are a word
		return text
	}
	if strings.Contains(text, "://") {
		text = s.inURL.ReplaceAllString(text, "${1}"+masked+"@")
	}
	return s.maskNamed(text)
}

// maskNamed replaces values whose name says what they are. A value may be a name with
// its own value, as in "cause: password=...".
func (s *secrets) maskNamed(text string) string {
	var out strings.Builder
	done := 0
	for _, at := range s.name.FindAllStringSubmatchIndex(text, -1) {
		begins := at[1]
		if begins < done || !contract.IsSecretName(text[at[2]:at[3]]) {
			continue
		}
		if value := s.value.FindStringIndex(text[begins:]); value != nil {
			out.WriteString(text[done:begins])
			out.WriteString(masked)
			done = begins + value[1]
		}
	}
	out.WriteString(text[done:])
	return out.String()
}
