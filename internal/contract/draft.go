package contract

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// Draft is the first version of a contract file, with every key that it needs.
// It passes lint as it stands.
func Draft(name string) ([]byte, error) {
	if !toolName().MatchString(name) {
		return nil, fmt.Errorf("a tool's name must match %s, and %q does not", toolName(), name)
	}
	title := strings.ReplaceAll(name, "_", " ")
	return fmt.Appendf(nil, `name: %s
title: %s
version: 1.0.0
description: Say in one sentence what it does, and when to use it.
hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}
access: caller
# rate: 100/min                                  how often a caller may call
# approval: {required: true, window: 1h}         a person agrees first
# paths: [{arg: path, deny: ["**/.env*"], max: 1MiB}]
# x-redact: true on a property keeps its content out of the audit
deadline: {target: 100ms, max: 5s}
size: {request: 64KiB}
input:
  type: object
  properties:
    text: {type: string, minLength: 1, maxLength: 1000, description: What to work on}
  required: [text]
  additionalProperties: false
output:
  type: object
  properties:
    length: {type: integer, description: How many characters it has}
  required: [length]
  additionalProperties: false
examples:
  - title: A short text
    arguments: {text: hello}
    result: {length: 5}
`, scalar(name), scalar(strings.ToUpper(title[:1])+title[1:])), nil
}

// scalar writes text so that YAML reads a string: null and "a: b" need quotes.
func scalar(text string) string {
	quoted, err := yaml.Marshal(text)
	if err != nil {
		return strconv.Quote(text)
	}
	return strings.TrimSpace(string(quoted))
}

// DraftSet is the first version of a _set.yaml.
func DraftSet(name string) []byte {
	return fmt.Appendf(nil, `name: %s
title: %s
description: What these tools are for.
shape: plain
defaults:
  version: 1.0.0
  access: caller
  deadline: {target: 100ms, max: 5s}
  size: {request: 64KiB}
  errors:
    invalid: {when: The arguments break the schema.}
    denied: {when: A rule or a person said no.}
    not_found: {when: There is no such thing.}
    conflict: {when: It changed meanwhile.}
    too_large: {when: It is over a size that the contract states.}
    limited: {when: "Too many calls; retry_after says in how many seconds to come back."}
    pending: {when: A person has yet to approve.}
    unavailable: {when: The deadline passed or a store is down.}
    internal: {message: Internal error, when: A fault of the server.}
`, scalar(name), scalar(name))
}

// DraftHandler is the Go that goes with Draft.
func DraftHandler(name string) string {
	method := ""
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			method += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return fmt.Sprintf(`	type %[1]sIn struct {
		Text string %[2]sjson:"text"%[2]s
	}

	type %[1]sOut struct {
		Length int %[2]sjson:"length"%[2]s
	}

	// %[1]s counts the characters of a text.
	func (t *Tools) %[1]s(_ context.Context, in %[1]sIn) (%[1]sOut, error) {
		return %[1]sOut{Length: utf8.RuneCountInString(in.Text)}, nil
	}

	"%[3]s": engine.Handle(t.%[1]s),   // in the table of Toolset()
`, method, "`", name)
}
