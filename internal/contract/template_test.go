package contract_test

import (
	"slices"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

func TestSentence(t *testing.T) {
	for name, tc := range map[string]struct{ summary, args, want string }{
		"no template":           {"", `{}`, "Add a note"},
		"no argument":           {"Add a note", `{}`, "Add a note"},
		"values":                {"Add {text}, rank {rank}, to {path}.", `{"path":"a.md","text":"hi {rank}","rank":4.50}`, "Add <hi {rank}>, rank <4.50>, to <a.md>."},
		"a member":              {"Add by {author.name}", `{"author":{"name":"ada"}}`, "Add by <ada>"},
		"a member of no object": {"Add by {author.name}", `{"author":"ada"}`, "Add a note"},
		"a missing argument":    {"Add to {path}", `{}`, "Add a note"},
		"null":                  {"Add to {path}", `{"path":null}`, "Add a note"},
		"sections":              {"Add[ {kind}][, rank {rank} by {author.name}][ to {path}]", `{"kind":"idea","rank":1,"path":"b"}`, "Add <idea> to <b>"},
		"tests":                 {"Add[{?tags} with tags][{?new} again][{?old} and late]", `{"tags":[],"new":false,"old":true}`, "Add with tags and late"},
	} {
		args := tree(t, tc.args)
		c := contract.Contract{Title: "Add a note", Summary: tc.summary}
		if got := c.Sentence(&args, func(v string) string { return "<" + v + ">" }); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestTargetOf: without an argument that the template names there is no target.
func TestTargetOf(t *testing.T) {
	c := contract.Contract{Title: "Note", Target: "{book}/{path}"}
	for args, want := range map[string]string{`{"book":"b","path":"p"}`: "b/p", `{"book":"b"}`: ""} {
		v := tree(t, args)
		if got := c.TargetOf(&v, strings.ToLower); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// TestLintOfTemplates: each mistake in a template gives one finding.
func TestLintOfTemplates(t *testing.T) {
	const summary = `summary: "Add a note to {path}, an {kind}[, by {author.name}]"`
	with := func(template string) string { return swap(t, goodYAML, summary, "summary: '"+template+"'") }
	for _, tc := range []struct{ name, text, where, what string }{
		{"none of a tool that writes", swap(t, goodYAML, summary+"\n", ""), "summary", `is missing; say in one sentence what a call does, such as "Append to {file}"`},
		{"a long one", with(strings.Repeat("ä", 251)), "summary", "has more than 250 characters"},
		{"no end of a place", with("Add {path"), "summary", "a { has no } of its own"},
		{"a place in a place", with("Add {path{kind}}"), "summary", "a { has no } of its own"},
		{"no start of a place", with("Add path}"), "summary", "a } has no {"},
		{"no end of a section", with("Add[ {rank}"), "summary", "a [ has no ] of its own"},
		{"a section in a section", with("Add[ {rank}[ {due}]]"), "summary", "a [ has no ] of its own"},
		{"no start of a section", with("Add {path}]"), "summary", "a ] has no ["},
		{"a section of words", with("Add[ something]"), "summary", "a part in brackets must name an argument"},
		{"an unknown argument", with("Add {pth}"), "summary", `there is no argument "pth"`},
		{"an unknown member", with("Add[ {author.age}]"), "summary", `there is no argument "author.age"`},
		{"a member of a text", with("Add {path.name}"), "summary", `there is no argument "path.name"`},
		{"an optional argument", with("Add {rank}"), "summary", "a call need not have rank; put it in brackets"},
		{"a member of an optional argument", with("Add {author.name}"), "summary", "a call need not have author.name; put it in brackets"},
		{"a list", with("Add[ {tags}]"), "summary", "tags is not a text, a number or a boolean"},
		{"an object", with("Add[ {author}]"), "summary", "author is not a text, a number or a boolean"},
		{"either", with("Add[ {due}]"), "summary", "due is not a text, a number or a boolean"},
		{"a test without brackets", with("Add{?text}"), "summary", "{?text} has an effect in brackets only"},
		{"a redacted argument", strings.Replace(with("Add {text}"), "text: {type: string,", "text: {x-redact: true, type: string,", 1), "summary", "text is not shown to people; {?text} in brackets says that a call has it"},
		{"a member of a redacted one", strings.Replace(with("Add[ {author.name}]"), "author:\n", "author:\n      x-redact: true\n", 1), "summary", "author.name is not shown to people; {?author.name} in brackets says that a call has it"},
		{"a redacted member", strings.Replace(with("Add[ {author.name}]"), "name: {type: string,", "name: {x-redact: true, type: string,", 1), "summary", "author.name is not shown to people; {?author.name} in brackets says that a call has it"},
		{"a secret", strings.NewReplacer("kind: {", "token: {").Replace(with("Add {token}")), "summary", "token is not shown to people; {?token} in brackets says that a call has it"},
		{"a target of nothing", swap(t, goodYAML, `target: "{path}"`, `target: "{file}"`), "target", `there is no argument "file"`},
	} {
		want := []contract.Finding{{Tool: "demo/add_note", Where: tc.where, What: tc.what}}
		if got := load(t, tc.text).Lint(); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", tc.name, got, want)
		}
	}
	for name, text := range map[string]string{
		"a public member of a redacted argument": strings.Replace(strings.Replace(with("Add[ {author.name}]"), "author:\n", "author:\n      x-redact: true\n", 1), "name: {type: string,", "name: {x-redact: false, type: string,", 1),
		"a test of a redacted argument":          strings.Replace(with("Add[{?text} text]"), "text: {type: string,", "text: {x-redact: true, type: string,", 1),
		"a tool that only reads":                 strings.Replace(strings.Replace(swap(t, goodYAML, summary+"\n", ""), "readOnly: false, destructive: false, idempotent: false", "readOnly: true, destructive: false, idempotent: true", 1), "approval: {required: true, window: 1h}\n", "", 1),
	} {
		if got := load(t, text).Lint(); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestSentencesOfExamples: the sentence of every published example is complete.
func TestSentencesOfExamples(t *testing.T) {
	for _, set := range published(t) {
		for _, c := range set.Contracts {
			for _, e := range c.Examples {
				if c.Summary == "" || e.Result.Kind == jsontree.Null {
					continue
				}
				args, err := c.Accept(e.Arguments.Clone())
				if err != nil {
					t.Fatal(err)
				}
				sentence := c.Sentence(&args, func(v string) string { return v })
				if sentence == c.Title || strings.ContainsAny(sentence, "{}[]") {
					t.Errorf("%s/%s, %q: %q", c.Set, c.Name, e.Title, sentence)
				}
			}
		}
	}
}
