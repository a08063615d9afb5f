package contract_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// setYAML is a set whose contracts need only a schema of their own.
const setYAML = `name: demo
title: Demo
description: Tools that only tests know.
shape: coded
defaults:
  version: 1.0.0
  access: caller
  deadline: {target: 100ms, max: 5s}
  size: {request: 64KiB}
  errors:
    invalid: {code: 400}
    denied: {code: 403}
    not_found: {code: 404}
    conflict: {code: 409}
    too_large: {code: 413}
    limited: {code: 429}
    pending: {code: 403}
    unavailable: {code: 503}
    internal: {code: 500, message: Internal error}
`

// goodYAML is a valid contract that uses most features.
const goodYAML = `name: add_note
title: Add a note
version: 1.2.3
description: Adds a note to a file.
hints: {readOnly: false, destructive: false, idempotent: false, openWorld: false}
access: caller
summary: "Add a note to {path}, an {kind}[, by {author.name}]"
target: "{path}"
rate: 10/min
deadline: {target: 100ms, max: 5s}
size: {request: 64KiB, args: {text: 1KiB}}
approval: {required: true, window: 1h}
paths:
  - {arg: path, allow: [notes/**], deny: ["**/.env*"], max: 1MiB}
input:
  type: object
  properties:
    path: {type: string, pattern: "^[a-z/.]+$", maxLength: 64, description: Where to put it}
    text: {type: string, minLength: 1, maxLength: 500, description: What it says}
    kind: {type: string, enum: [idea, task], default: idea, description: What it is}
    rank: {type: integer, minimum: 1, maximum: 9, description: How important it is}
    tags:
      type: array
      minItems: 1
      maxItems: 3
      items: {type: string, maxLength: 10}
      description: Words to find it by
    due: {anyOf: [{type: string, format: date}, {type: "null"}], description: When it is due}
    author:
      type: object
      properties:
        name: {type: string, description: Who wrote it}
      required: [name]
      additionalProperties: false
      description: Who wrote it
  required: [path, text]
  additionalProperties: false
output:
  type: object
  properties:
    id: {type: integer, minimum: 1, description: Its number}
    state: {type: string, enum: [new, known], description: Whether it was new}
    note: {type: string, maxLength: 500, description: What it says}
    tags:
      type: array
      maxItems: 3
      items: {type: string}
      description: Its words
  required: [id, state]
  additionalProperties: false
examples:
  - title: A note
    arguments: {path: notes/a.md, text: hello}
    result: {id: 1, state: new}
  - title: An empty note
    arguments: {path: notes/a.md, text: ""}
    error: {error: {code: 400, message: text must not be empty}}
`

// load reads one contract of the set in setYAML.
func load(t testing.TB, text string) *contract.Contract {
	t.Helper()
	return loadBeside(t, setYAML, text)
}

func loadBeside(t testing.TB, set, text string) *contract.Contract {
	t.Helper()
	files := fstest.MapFS{"_set.yaml": {Data: []byte(set)}, "tool.yaml": {Data: []byte(text)}}
	c, err := contract.LoadFile(files, "tool.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// published reads the contracts of all toolsets from their files.
func published(t testing.TB) []*contract.Set {
	t.Helper()
	sets, err := contract.LoadAll(os.DirFS("../toolsets"))
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// withInput returns a contract with this input schema.
func withInput(t testing.TB, schema string) *contract.Contract {
	t.Helper()
	return load(t, "name: demo\ninput: "+schema+"\noutput: {type: object}\n")
}

func withOutput(t testing.TB, schema string) *contract.Contract {
	t.Helper()
	return load(t, "name: demo\ninput: {type: object}\noutput: "+schema+"\n")
}

// swap replaces a text that must occur exactly once.
func swap(t testing.TB, text, was, is string) string {
	t.Helper()
	if n := strings.Count(text, was); n != 1 {
		t.Fatalf("%q stands %d times in the text, want once", was, n)
	}
	return strings.Replace(text, was, is, 1)
}

func tree(t testing.TB, text string) jsontree.Value {
	t.Helper()
	v, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return v
}

func written(v jsontree.Value) string { return string(v.Append(nil)) }
