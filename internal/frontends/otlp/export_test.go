package otlp

import "remit/internal/engine/telemetry"

// Endpoint returns the endpoint and the headers of a signal.
func Endpoint(lookup func(string) (string, bool), name string, warn func(name, why string)) (protocol, address string, headers map[string]string, err error) {
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
