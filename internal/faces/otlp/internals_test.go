package otlp

import (
	"context"
	"net/http"

	"remit/internal/engine/telemetry"
)

// Try exports spans once, as Open would, without anybody who tries again.
func Try(lookup func(string) (string, bool), source telemetry.Source, spans []telemetry.Span) (on bool, err error) {
	env := telemetry.Env{Lookup: lookup, Warn: func(string, string) {}}
	if len(wantedSignals(&env)) == 0 {
		return false, nil
	}
	c, err := newClient(&environment{env, &traces}, &source, map[connection]*http.Client{})
	if err != nil {
		return true, err
	}
	var o telemetry.Options
	c.serve(&traces, &envelope{version: source.Version}, &o)
	defer c.http.CloseIdleConnections()
	return true, o.Spans(context.Background(), spans)
}

// ReadPartial and ReadStatus are for fuzzing.
var (
	ReadPartial = readPartial
	ReadStatus  = readStatus
)

// Where gives the address that a signal goes to, and the headers, for tests of the variables.
func Where(lookup func(string) (string, bool), name string, warn func(name, why string)) (protocol, address string, headers http.Header, err error) {
	env := telemetry.Env{Lookup: lookup, Warn: warn}
	for _, s := range wantedSignals(&env) {
		if s.name != name {
			continue
		}
		read, err := (&environment{env, s}).read()
		if err != nil {
			return "", "", nil, err
		}
		return read.protocol, read.url.String(), read.headers, nil
	}
	return "", "off", nil, nil
}

// Rejected is how many the collector refused.
func (p partial) Rejected() int64 { return p.rejected }

// Message is why.
func (p partial) Message() string { return p.message }
