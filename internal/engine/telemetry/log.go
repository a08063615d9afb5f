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

// Tee returns a handler that passes records to next, and also exports those of level info and
// above, whatever the level of next.
func (t *Telemetry) Tee(next slog.Handler) slog.Handler {
	if t == nil || t.export == nil {
		return next
	}
	return slog.NewMultiHandler(&exportHandler{to: t.export, secrets: t.secrets}, next)
}

// exportHandler flattens groups and removes secrets before a record reaches the SDK.
type exportHandler struct {
	to      slog.Handler
	secrets *secrets
	given   []slog.Attr // attributes of the logger itself
	group   string
}

// Enabled reports whether records of this level are exported.
func (h *exportHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// Handle queues a record. It never fails.
func (h *exportHandler) Handle(ctx context.Context, r slog.Record) error {
	_ = h.to.Handle(ctx, h.flatten(&r))
	return nil
}

func (h *exportHandler) flatten(r *slog.Record) slog.Record {
	flat := slog.NewRecord(r.Time, r.Level, valid(h.secrets.mask(r.Message)), 0)
	attrs := slices.Grow(slices.Clip(h.given), r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		// The cause of a caller's error may quote the caller, so it is not exported. Causes of our
		// own errors are needed to find them.
		if a.Key != "cause" || r.Level >= slog.LevelWarn {
			attrs = h.appendAttr(attrs, h.group, a)
		}
		return true
	})
	flat.AddAttrs(attrs...)
	return flat
}

// WithAttrs returns a handler that adds these attributes.
func (h *exportHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.given = slices.Clone(h.given)
	for _, a := range attrs {
		next.given = h.appendAttr(next.given, h.group, a)
	}
	return &next
}

// WithGroup returns a handler that prefixes further keys with this name.
func (h *exportHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.group += name + "."
	return &next
}

// appendAttr appends an attribute of any kind as plain attributes. It reads the value now, because
// the value may change later. Durations are in seconds.
func (h *exportHandler) appendAttr(attrs []slog.Attr, group string, a slog.Attr) []slog.Attr {
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

// masked replaces secrets in exported records.
const masked = "***"

// secrets finds credentials in texts. The log of this machine may contain them in the cause of an
// error, but a collector must not get them.
type secrets struct{ inURL, name, value *regexp.Regexp }

func newSecrets() *secrets {
	return &secrets{
		inURL: regexp.MustCompile(`(://)[^\s/?#@"']*:[^\s/?#"']*@`),
		name:  regexp.MustCompile(`([\w.-]+)["']?\s*[=:]\s*`),
		value: regexp.MustCompile(`^(?:(?i:bearer|basic)\s+)?(?:"[^"]*"|'[^']*'|[^\s&,;"']+)`),
	}
}

// mask replaces text that looks like a credential, passwords in URLs, and values whose name is that
// of a secret, as in "token=...".
func (s *secrets) mask(text string) string {
	text = audit.Mask(text, masked)
	if !strings.ContainsAny(text, ":=") { // fast path: most texts are a single word
		return text
	}
	if strings.Contains(text, "://") {
		text = s.inURL.ReplaceAllString(text, "${1}"+masked+"@")
	}
	return s.maskNamed(text)
}

// maskNamed replaces values whose name is that of a secret. A value may itself consist of a name
// and a value, as in "cause: password=...".
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
