package chunk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/search/chunk"
)

func TestDocuments(t *testing.T) {
	for _, c := range []struct{ name, path, content, want string }{
		{
			"decision in Nygard's form", "docs/adr/0004-use-postgresql.md",
			"# 4. Use PostgreSQL\n\nDate: 2023-02-11\n\n## Status\n\nAccepted\n\n## Context\n\nWe need a database that keeps what it is told.\n\n" +
				"## Decision\n\nPostgreSQL was chosen over MongoDB\nas the primary database.\n\n- One cluster a region\n\n## Consequences\n\nSomebody has to know SQL well enough.\n",
			"1-11 docs [4. Use PostgreSQL] adr: # 4. Use PostgreSQL\n" +
				"15-18 decision [Use PostgreSQL] 2023-02-11 adr: Use PostgreSQL / PostgreSQL was chosen over MongoDB as the primary database. / One cluster a region\n" +
				"20-22 docs [4. Use PostgreSQL > Consequences] adr: ## Consequences\n",
		},
		{
			"decision by its number and headings", "notes/0012-queues.md",
			"---\nstatus: superseded by 0015\ndate: 2024-06-01\n---\n# Queues in Redis\n\n## Context and Problem Statement\n\nJobs get lost when a worker dies.\n\n## Decision Outcome\n\nChosen option: \"Redis streams\", because we have Redis.\n",
			"7-9 docs [Queues in Redis > Context and Problem Statement] 2024-06-01 notes: ## Context and Problem Statement\n" +
				"13-13 decision [Queues in Redis] 2024-06-01 notes: Queues in Redis / Chosen option: \"Redis streams\", because we have Redis. / Status: superseded by 0015\n",
		},
		{
			"decision by its title, in bold", "docs/cookies.md",
			"# ADR-7: Cookies\n\n**Decided.** Sessions live in cookies.\n\n**Why.** Nothing else survives a reload of the page.\n",
			"3-3 decision [Cookies] docs: Cookies / **Decided.** Sessions live in cookies.\n5-5 docs [ADR-7: Cookies] docs: **Why.** Nothing else survives a reload of the page.\n",
		},
		{
			"about decisions", "docs/adr/README.md", "# Decisions\n\nThis is how these records are written and kept.\n",
			"1-3 docs [Decisions] adr: # Decisions\n",
		},
		{
			"instructions", "CLAUDE.md",
			"# Shop\n\nThis file guides whoever works here.\n\n## Commands\n\n- `make test` runs the tests\n\n## Style\n\n- Handlers validate input.\n  Services do not.\n- [the style guide](style.md)\n\n" +
				"Money is kept in cents everywhere, in the database as well as in the code.\n\n## Patterns\n\n- Repositories return domain objects\n\n## Gotchas\n\n1. The cache is cold after a deploy\n\n```\n# not a heading\n```\n",
			"1-7 docs [Shop] root: # Shop\n" +
				"11-12 rule [Shop > Style] root: Handlers validate input. Services do not.\n" +
				"13-13 docs [Shop > Style] root: - [the style guide](style.md)\n" +
				"15-15 rule [Shop > Style] root: Money is kept in cents everywhere, in the database as well as in the code.\n" +
				"19-19 pattern [Shop > Patterns] root: Repositories return domain objects\n" +
				"23-23 issue [Shop > Gotchas] root: The cache is cold after a deploy\n",
		},
		{
			"code within a line is no fence", "CLAUDE.md", "# Shop\n\n```make``` builds it all, from the sources to the image.\n\n## Rules\n\n- Never log a token\n",
			"1-3 docs [Shop] root: # Shop\n7-7 rule [Shop > Rules] root: Never log a token\n",
		},
		{
			"instructions without headings", ".cursorrules", "You are an expert in Go.\n\n- Prefer small functions\n- Never use init\n",
			"1-1 docs [] root: You are an expert in Go.\n3-3 rule [] root: Prefer small functions\n4-4 rule [] root: Never use init\n",
		},
		{
			"contributing", "CONTRIBUTING.md", "# Contributing\n\nThank you for being here with us today.\n\n## Commits\n\n- One idea a commit\n\nEvery change should come with a test.\n",
			"1-3 docs [Contributing] root: # Contributing\n7-7 rule [Contributing > Commits] root: One idea a commit\n9-9 rule [Contributing > Commits] root: Every change should come with a test.\n",
		},
		{
			"practices", "docs/best_practices.md", "# Best practices\n\n- Look at the data first\n- Never log a token\n\n## Timeouts\n\nGive every call a deadline of its own.\n",
			"3-3 pattern [Best practices] docs: Look at the data first\n4-4 rule [Best practices] docs: Never log a token\n6-8 pattern [Best practices > Timeouts] docs: Timeouts / Give every call a deadline of its own.\n",
		},
		{
			"troubleshooting", "docs/run.md", "# Running\n\n## Troubleshooting\n\n### Port in use\n\nStop the other one.\n\n### Slow start\n\nWarm the cache:\n\n```\nmake warm\n```\n",
			"5-7 issue [Running > Troubleshooting > Port in use] docs: Port in use / Stop the other one.\n" +
				"9-15 issue [Running > Troubleshooting > Slow start] docs: Slow start / Warm the cache: / ``` / make warm / ```\n",
		},
		{
			"issues of everybody's page", "README.md", "# Shop\n\n## Issues\n\nPlease report them on the tracker.\n",
			"3-5 docs [Shop > Issues] root: ## Issues\n",
		},
		{
			"type in front", "notes/retry.md", "---\ntype: lesson\nsession: s-1\ntags:\n  - http\n---\n# Retries\n\nA retry without a limit took the service down.\n",
			"7-9 issue [Retries] notes: Retries / A retry without a limit took the service down.\n",
		},
		{
			"reStructuredText", "docs/index.rst", "=======\nProject\n=======\n\nWhat it is about, in a few words.\n\nUsage\n-----\n\nHow it is used is told in this section, which is longer than a line and longer than what would be put together with the one before it.\nIt goes on for a while, so that it stands alone.\n",
			"2-11 docs [Project > Usage] docs: Project\n",
		},
		{
			"AsciiDoc", "docs/a.adoc", "= Manual\n\n== Install\n\n----\n== not a heading\n----\n\nUnpack it where you like, and put the folder on your path.\n",
			"3-9 docs [Manual > Install] docs: == Install\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, list(chunk.Of(c.path, []byte(c.content)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMemory(t *testing.T) {
	for _, c := range []struct{ name, file, content, want string }{
		{
			"as the tools write it", "decisions.jsonl",
			`{"timestamp":"2025-01-15T10:00:00Z","type":"decision","module":"auth","content":"Use JWT tokens in httpOnly cookies"}`,
			"1-1 decision [] 2025-01-15 auth: Use JWT tokens in httpOnly cookies\n",
		},
		{
			"title, text and reason", "decisions.jsonl",
			`{"type":"choice","title":"Database","decision":"PostgreSQL over MongoDB","rationale":"joins","alternatives":["MongoDB","MySQL"],"tags":["db","storage"]}`,
			"1-1 decision [db, storage] : Database / PostgreSQL over MongoDB / joins / Alternatives: MongoDB; MySQL\n",
		},
		{
			"said twice", "x.jsonl", `{"type":"bug","title":"Race in refresh","content":"Race in refresh of tokens"}`,
			"1-1 issue [] : Race in refresh of tokens\n",
		},
		{
			"module of a file", "x.jsonl", `{"type":"fix","message":"refresh is locked now","files":["src/server/auth/Token.ts:12"],"date":"2024-02-03"}`,
			"1-1 issue [] 2024-02-03 auth: refresh is locked now\n",
		},
		{"type by key", "progress_log.jsonl", `{"rule":"every call has a deadline"}`, "1-1 rule [] : every call has a deadline\n"},
		{"type by file", "decisions.jsonl", `{"text":"cents"}`, "1-1 decision [] : cents\n"},
		{"type by words", "progress_log.jsonl", `{"type":"progress","text":"We chose Redis"}`, "1-1 decision [] : We chose Redis\n"},
		{"type by nothing", "progress_log.jsonl", `{"type":"progress","text":"wrote a parser"}`, "1-1 pattern [] : wrote a parser\n"},
		{"text alone", "x.jsonl", `"Never deploy on Fridays"`, "1-1 rule [] : Never deploy on Fridays\n"},
		{"unknown keys", "x.jsonl", `{"who":"ann","did":"wrote tests","n":3,"id":"x-1"}`, "1-1 pattern [] : wrote tests / ann\n"},
		{"seconds and out of range", "x.jsonl", `{"text":"one thing","ts":1700000000}` + "\n" + `{"text":"two things","date":"0001-01-01"}`, "1-1 pattern [] 2023-11-14 : one thing\n2-2 pattern [] : two things\n"},
		{"broken lines", "x.jsonl", "{\n\n{\"text\":\"whole\"}\nnull\n12\n{}\n", "3-3 pattern [] : whole\n"},
		{
			"practices", "best_practices.md", "Intro of the file.\n\n- Look at the data before you model it.\n\n## Errors\n\nAlways wrap them.\n\n| a table | of things |\n|---|---|\n",
			"1-1 pattern [] : Intro of the file.\n3-3 pattern [] : Look at the data before you model it.\n5-10 rule [Errors] : Errors / Always wrap them. / | a table | of things | / |---|---|\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, list(chunk.Memory(c.file, []byte(c.content)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMemoryNamesItsSession(t *testing.T) {
	for _, key := range []string{"session", "session_id", "sessionId"} {
		found := chunk.Memory("x.jsonl", []byte(`{"text":"some words","`+key+`":"s-42"}`))
		if len(found) != 1 || found[0].Session != "s-42" {
			t.Errorf("%s: %+v", key, found)
		}
	}
}
