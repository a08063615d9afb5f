package mcp_test

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// everything returns the names in a list, read page by page.
func everything(t *testing.T, method, name string, page func(cursor string) reply) []string {
	t.Helper()
	var all []string
	cursor := ""
	for range 100 {
		got := page(cursor)
		got.want(t, method, http.StatusOK, nil)
		entries, _ := got.at("result", name).([]any)
		if len(entries) > 2 {
			t.Errorf("%s: a page of %d", method, len(entries))
		}
		for _, entry := range entries {
			all = append(all, entry.(map[string]any)["name"].(string))
		}
		next := got.at("result", "nextCursor")
		if next == nil {
			return all
		}
		cursor, _ = next.(string)
		if cursor == "" || len(entries) != 2 {
			t.Fatalf("%s: %s", method, got.body)
		}
	}
	t.Fatalf("%s never ends", method)
	return nil
}

// TestPages checks that the pages of a list give the whole list in order, in both eras.
func TestPages(t *testing.T) {
	r, whole := newRig(t, setup{page: 2}), newRig(t, setup{page: 100})
	s, all := r.initialize("2025-11-25", `{}`), whole.initialize("2025-11-25", `{}`)
	for method, name := range map[string]string{
		"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
	} {
		var want []string
		entries, _ := all.post(message(1, method, `{}`)).at("result", name).([]any)
		for _, entry := range entries {
			want = append(want, entry.(map[string]any)["name"].(string))
		}
		if len(want) == 0 {
			t.Fatalf("%s is empty", method)
		}
		params := func(cursor string) string {
			if cursor == "" {
				return ``
			}
			return `"cursor":"` + cursor + `"`
		}
		old := everything(t, method, name, func(cursor string) reply { return s.post(message(1, method, `{`+params(cursor)+`}`)) })
		young := everything(t, method, name, func(cursor string) reply { return r.ask(modern(1, method, params(cursor), `{}`)) })
		if !slices.Equal(old, want) || !slices.Equal(young, want) {
			t.Errorf("%s: %v and %v, want %v", method, old, young, want)
		}
		for _, cursor := range []string{`""`, `"x"`, `"!"`, `7`, `{}`, `true`, `"` + base64.RawURLEncoding.EncodeToString([]byte("from 99999")) + `"`, `"` + base64.RawURLEncoding.EncodeToString([]byte("from -1")) + `"`} {
			s.post(message(1, method, `{"cursor":`+cursor+`}`)).want(t, method+" "+cursor, http.StatusOK, -32602)
			r.ask(modern(1, method, `"cursor":`+cursor, `{}`)).want(t, method+" "+cursor, http.StatusBadRequest, -32602)
		}
		s.post(message(1, method, `{"cursor":null}`)).want(t, method+" from the start", http.StatusOK, nil)
	}
}

// TestPagesOverStdio checks that a cursor in a large message is used.
func TestPagesOverStdio(t *testing.T) {
	r := newRig(t, setup{page: 2})
	var first, second string
	for i, body := range []string{message(1, "resources/list", `{}`), ""} {
		if i == 1 {
			body = message(1, "resources/list", `{"cursor":"`+at(first, "result", "nextCursor").(string)+`","_meta":{"x":"`+strings.Repeat("x", 10_000)+`"}}`)
		}
		var out strings.Builder
		if err := r.server.ServeStdio(t.Context(), "local", strings.NewReader(body), &out); err != nil {
			t.Fatal(err)
		}
		first, second = out.String(), first
	}
	if a, b := at(first, "result", "resources", "0", "uri"), at(second, "result", "resources", "0", "uri"); a == nil || b == nil || a == b {
		t.Errorf("the second page begins with %v, the first with %v", a, b)
	}
}

func TestCompletion(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", `{}`)
	const argument = `"argument":{"name":"arg1","value":"par"}`
	for _, tc := range []struct {
		name, params string
		code         any
		values       int
	}{
		{"a prompt", `"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},` + argument, nil, 2},
		{"nothing fits", `"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"zzz"}`, nil, 0},
		{"a template", `"ref":{"type":"ref/resource","uri":"test://template/{id}/data"},"argument":{"name":"id","value":"1"}`, nil, 3},
		{"no such prompt", `"ref":{"type":"ref/prompt","name":"nobody"},` + argument, -32602, 0},
		{"no such template", `"ref":{"type":"ref/resource","uri":"test://nowhere/{x}"},` + argument, -32602, 0},
		{"no type", `"ref":{"name":"x"},` + argument, -32602, 0},
		{"no ref", argument, -32602, 0},
		{"no argument", `"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"}`, -32602, 0},
		{"a number", `"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":1}`, -32602, 0},
	} {
		old, young := s.post(message(1, "completion/complete", `{`+tc.params+`}`)), r.ask(modern(1, "completion/complete", tc.params, `{}`))
		old.want(t, tc.name, http.StatusOK, tc.code)
		status := http.StatusOK
		if tc.code != nil {
			status = http.StatusBadRequest
		}
		young.want(t, tc.name, status, tc.code)
		if tc.code != nil {
			continue
		}
		for _, got := range []reply{old, young} {
			values, isList := got.at("result", "completion", "values").([]any)
			if !isList || len(values) != tc.values || got.at("result", "completion", "hasMore") != false {
				t.Errorf("%s: %s", tc.name, got.body)
			}
		}
	}
}

// TestReadResource checks texts, images, templates and missing resources, in both eras.
func TestReadResource(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", `{}`)
	for _, tc := range []struct {
		uri, has string
		old      any
	}{
		{"test://static-text", "This is the content of the static text resource.", nil},
		{"test://static-binary", `"blob":"iVBOR`, nil},
		{"test://template/12%203/data", `Data for ID: 12 3`, nil},
		{"test://nowhere", `"data":{"uri":"test://nowhere"}`, -32002},
	} {
		old, young := s.post(message(1, "resources/read", `{"uri":"`+tc.uri+`"}`)), r.ask(modern(1, "resources/read", `"uri":"`+tc.uri+`"`, `{}`))
		old.want(t, tc.uri, http.StatusOK, tc.old)
		if tc.old != nil {
			young.want(t, tc.uri, http.StatusBadRequest, -32602)
		} else {
			young.want(t, tc.uri, http.StatusOK, nil)
		}
		if !strings.Contains(old.body, tc.has) || !strings.Contains(young.body, tc.has) {
			t.Errorf("%s: %s and %s", tc.uri, old.body, young.body)
		}
	}
	for _, params := range []string{`{}`, `{"uri":7}`, `{"uri":null}`} {
		s.post(message(1, "resources/read", params)).want(t, params, http.StatusOK, -32602)
		s.post(message(1, "prompts/get", params)).want(t, params, http.StatusOK, -32602)
		s.post(message(1, "tools/call", params)).want(t, params, http.StatusOK, -32602)
	}
}

func TestPrompts(t *testing.T) {
	r := newRig(t, setup{})
	s := r.initialize("2025-11-25", `{}`)
	for _, tc := range []struct {
		params, has string
		code        any
	}{
		{`{"name":"test_simple_prompt"}`, "This is a simple prompt for testing.", nil},
		{`{"name":"test_prompt_with_arguments","arguments":{"arg1":"x","arg2":"y"}}`, "arg1='x', arg2='y'", nil},
		{`{"name":"test_prompt_with_arguments","arguments":{"arg1":"x"}}`, "arg2", -32602},
		{`{"name":"test_prompt_with_arguments","arguments":{"arg1":"x","arg2":2}}`, "arg2", -32602},
		{`{"name":"test_prompt_with_arguments","arguments":["x"]}`, "", -32602},
		{`{"name":"nobody"}`, "nobody", -32602},
	} {
		got := s.post(message(1, "prompts/get", tc.params))
		got.want(t, tc.params, http.StatusOK, tc.code)
		if !strings.Contains(got.body, tc.has) {
			t.Errorf("%s: %s", tc.params, got.body)
		}
	}
}

// TestListResources checks that the list shows the current files.
func TestListResources(t *testing.T) {
	r := newRig(t, setup{toolsets: []string{"learning-os"}})
	s := r.initialize("2025-11-25", `{}`)
	count := func() int {
		list, _ := s.post(message(1, "resources/list", `{}`)).at("result", "resources").([]any)
		return len(list)
	}
	before := count()
	writeMemory(t, r, `{"a":1}`)
	if got := count(); got != before+1 {
		t.Errorf("%d resources, want %d", got, before+1)
	}
	if err := os.Remove(filepath.Join(r.root, ".claude/memory/decisions.jsonl")); err != nil {
		t.Fatal(err)
	}
	if got := count(); got != before {
		t.Errorf("%d resources, want %d", got, before)
	}
}
