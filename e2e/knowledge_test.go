package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// searchAnswer is an answer of context_search.
type searchAnswer struct {
	Results []struct {
		ID, Type, Content, Source, Date, Path, Name string
		Module, Session                             *string
		Score                                       float64
		Line, EndLine                               int
	}
	Query      string
	TotalFound int
	SearchTime int
	Error      string
	Fallback   string
	Action     string
	Details    any
}

// search calls context_search.
func (r *stdioServer) search(args string) searchAnswer {
	r.t.Helper()
	got := r.call("context_search", args)
	var answer searchAnswer
	r.decode([]byte(got.text), &answer)
	return answer
}

// query returns the arguments of a question.
func query(text string) string {
	args, _ := json.Marshal(map[string]any{"query": text})
	return string(args)
}

// decisions are decisions of other teams. None is about databases.
var decisions = []string{
	"Releases are cut every second Tuesday; hotfixes may go out on any day but Friday",
	"Buttons in the design system have four sizes and no custom colours",
	"Feature flags are removed two sprints after they are fully rolled out",
	"The mobile app supports the last three major versions of iOS and Android",
	"Error messages shown to customers are written by the support team",
	"Webhooks are signed with HMAC and retried for twenty-four hours",
	"All dates are sent as ISO 8601 strings in UTC",
	"We use trunk-based development with short-lived branches",
	"Container images are rebuilt every night to pick up security fixes",
	"Log lines are JSON and carry the request id",
	"The public website is rendered on the server for search engines",
	"Translations live in one catalogue per language and are reviewed by native speakers",
	"Emails are sent through a queue so that a slow provider cannot block checkout",
	"Pull requests need one approval from outside the team",
	"Metrics are kept at full resolution for two weeks and downsampled after that",
	"Uploaded pictures are stripped of their location before they are shown",
	"The command line tool prints tables for people and JSON for scripts",
	"Payments are reconciled with the bank every morning by an automatic job",
	"Unit tests must not touch the network",
	"Customer support can impersonate users only with a ticket number",
	"The search page shows at most one hundred results",
	"Kubernetes namespaces are created per team, not per service",
	"Secrets are rotated every ninety days by the platform",
	"We chose gRPC between services and REST for partners",
	"Video files are transcoded to three bitrates when they are uploaded",
	"Fonts are self-hosted so that no visitor is tracked",
	"The onboarding course for new colleagues takes three days",
	"Coupons cannot be combined with seasonal discounts",
	"Terraform state is locked while somebody applies a change",
	"Documentation is reviewed together with the code that it describes",
	"Push notifications are silent between ten at night and seven in the morning",
	"The recommendation model is retrained once a week on anonymised clicks",
	"Address forms ask for the country first and adapt to it",
	"Build artefacts are kept for thirty days",
	"The API returns problem details in the format of RFC 9457",
	"Accessibility is tested with a screen reader before each release",
	"Invoices are numbered without gaps, as the tax office demands",
	"Every service has an owner on call and a runbook",
	"Rate limits are applied per key at the gateway",
	"Refunds above five hundred euros need a second person",
	"We write commit messages in the imperative mood",
	"Old browsers get a plain page without scripts",
	"The warehouse scanners work offline and synchronise when they are back in range",
	"Load tests run against a copy of production every Sunday",
	"Maps are drawn with vector tiles that we host ourselves",
	"Two-factor sign-in is required for everybody with admin rights",
	"Spelling in the product is British",
	"Cron jobs announce themselves to a dead man's switch",
	"The checkout page loads no third-party scripts",
	"Sound effects are licensed once per title and listed in the credits",
}

// TestSearchWithoutSharedWords checks that a question finds its answer among other decisions, even
// if they share no significant word.
func TestSearchWithoutSharedWords(t *testing.T) {
	t.Parallel()
	const picked = "PostgreSQL chosen over MongoDB as the primary database"
	var log strings.Builder
	for i, text := range append(decisions[:25:25], append([]string{picked}, decisions[25:]...)...) {
		line, _ := json.Marshal(map[string]any{"timestamp": fmt.Sprintf("2026-01-%02dT10:00:00Z", i%28+1), "type": "decision", "decision": text})
		log.Write(append(line, '\n'))
	}
	s := newWorkspace(t, map[string]string{".claude/memory/decisions.jsonl": log.String()})
	server := s.stdio("--toolsets", "context")
	for _, args := range []string{query("which datastore did we pick"), `{"query":"which datastore did we pick","type":"decision"}`} {
		answer := server.search(args)
		if len(answer.Results) == 0 || answer.Results[0].Content != picked {
			t.Errorf("%s found %+v", args, answer)
		}
	}
}

// sampleProject returns a small project with decisions, issues, patterns, code and documents.
func sampleProject(t *testing.T) *workspace {
	return newWorkspace(t, map[string]string{
		".claude/memory/decisions.jsonl": `{"timestamp":"2026-01-10T09:00:00Z","type":"decision","module":"database","decision":"PostgreSQL chosen over MongoDB as the primary database because of transactions","session_id":"8b7c2f0e-1111-4222-8333-444455556666"}
{"timestamp":"2026-01-12T09:00:00Z","type":"issue","module":"auth","issue":"Token refresh race condition fixed with mutex lock"}
{"timestamp":"2026-01-13T09:00:00Z","type":"pattern","module":"auth","content":"Use JWT tokens stored in httpOnly cookies for auth"}
{"timestamp":"2026-01-14T09:00:00Z","type":"issue","module":"billing","issue":"Invoices were rounded twice when a discount applied"}
{"timestamp":"2026-01-15T09:00:00Z","type":"decision","module":"web","decision":"Server-side rendering for the public pages, a single page app for the back office"}
not json at all
`,
		".claude/memory/best_practices.md": "# Best practices\n\n- Wrap every API call in the shared client: it retries with backoff, adds the trace header and maps errors\n- Name migrations by date\n",
		"docs/adr/0003-cache.md":           "# 3. Cache catalogue pages\n\nDate: 2026-02-01\n\n## Status\n\nAccepted\n\n## Context\n\nThe catalogue is slow.\n\n## Decision\n\nCatalogue pages are cached for a minute at the edge.\n",
		"src/server/auth/AuthService.ts":   "import jwt from 'jsonwebtoken';\n\n// RULE: names are trimmed before they are compared\nexport class AuthService {\n  /** Signs a user in and sets the cookie. */\n  login(user: User) {\n    const token = jwt.sign({ sub: user.id }, SECRET);\n    return setCookie(token, { httpOnly: true });\n  }\n}\n",
		"src/server/billing/invoice.ts":    "// FIXME: totals of more than a million overflow the column\nexport function total(lines: Line[]) {\n  return lines.reduce((sum, l) => sum + l.amount, 0);\n}\n",
		"README.md":                        "# Shop\n\nA small shop.\n\n## Running\n\nStart it with `npm start`; it listens on port 8080.\n",
		".env":                             "SECRET=do-not-find-this-database-password\n",
	})
}

// TestUseCases checks that the questions in the contract's document find the right answer first.
func TestUseCases(t *testing.T) {
	t.Parallel()
	server := sampleProject(t).stdio("--toolsets", "context")
	for args, want := range map[string]string{
		query("How did we handle authentication?"):                                            "Use JWT tokens stored in httpOnly cookies for auth",
		`{"query":"Find issues related to token refresh","type":"issue"}`:                     "Token refresh race condition fixed with mutex lock",
		query("Find issues related to token refresh"):                                         "Token refresh race condition fixed with mutex lock",
		`{"query":"What patterns do we use for API calls?","type":"pattern"}`:                 "Wrap every API call in the shared client",
		query("What patterns do we use for API calls?"):                                       "Wrap every API call in the shared client",
		query("Show me decisions about database choice"):                                      "PostgreSQL chosen over MongoDB",
		`{"query":"token refresh issue","type":"issue","module":"auth","limit":3}`:            "Token refresh race condition fixed with mutex lock",
		`{"query":"how long are pages kept before they are fetched again","type":"decision"}`: "Catalogue pages are cached for a minute",
		`{"query":"large sums do not fit","type":"issue","module":"billing"}`:                 "totals of more than a million overflow",
	} {
		answer := server.search(args)
		if len(answer.Results) == 0 || !strings.Contains(answer.Results[0].Content, want) {
			t.Errorf("%s found %+v", args, answer)
		}
	}
}

// TestFiltersAreExact checks that type, module and limit restrict the results exactly.
func TestFiltersAreExact(t *testing.T) {
	t.Parallel()
	server := sampleProject(t).stdio("--toolsets", "context", "--rate-limits", "off")
	for _, kind := range []string{"pattern", "rule", "decision", "issue"} {
		for _, module := range []string{"", "auth", "billing", "database", "nowhere", "aut", "AUTH"} {
			args := fmt.Sprintf(`{"query":"token database invoice cookie page","type":%q,"limit":20}`, kind)
			if module != "" {
				args = fmt.Sprintf(`{"query":"token database invoice cookie page","type":%q,"module":%q,"limit":20}`, kind, module)
			}
			answer := server.search(args)
			if module == "nowhere" && (answer.TotalFound != 0 || len(answer.Results) != 0 || answer.Error != "") {
				t.Errorf("%s found %+v", args, answer)
			}
			for _, r := range answer.Results {
				if r.Type != kind || r.Source != "discovery" || module != "" && (r.Module == nil || *r.Module != module) || r.Score < 0 || r.Score > 1 {
					t.Errorf("%s found %+v", args, r)
				}
			}
		}
	}
	for limit := 1; limit <= 20; limit++ {
		answer := server.search(fmt.Sprintf(`{"query":"token","limit":%d}`, limit))
		if len(answer.Results) > limit || answer.TotalFound < len(answer.Results) {
			t.Errorf("limit %d returned %d of %d results", limit, len(answer.Results), answer.TotalFound)
		}
		for i := 1; i < len(answer.Results); i++ {
			if answer.Results[i].Score > answer.Results[i-1].Score {
				t.Errorf("result %d has a higher score than the one before", i)
			}
		}
	}
	if answer := server.search(`{"query":"do-not-find-this-database-password","limit":20}`); strings.Contains(fmt.Sprint(answer.Results), "do-not-find") {
		t.Errorf("a secret is found: %+v", answer)
	}
}

// TestEntryIsFoundByTheNextCall checks that the next search finds a new entry, in the same and in
// another process.
func TestEntryIsFoundByTheNextCall(t *testing.T) {
	t.Parallel()
	s := sampleProject(t)
	writer := s.stdio("--toolsets", "learning-os,context", "--approve", "auto", "--rate-limits", "off")
	reader := s.stdio("--toolsets", "context", "--rate-limits", "off")
	reader.search(query("warm up"))
	for i := range 20 {
		text := fmt.Sprintf("The gearbox of model %d is lubricated with zeppelinol", i)
		writer.call("write_memory_entry", fmt.Sprintf(`{"file":"decisions.jsonl","entry":{"timestamp":"2026-03-01T10:00:00Z","type":"rule","content":%q}}`, text))
		for who, server := range map[string]*stdioServer{"the writer": writer, "another process": reader} {
			found := false
			for _, r := range server.search(`{"query":"` + text + `","limit":20}`).Results {
				found = found || r.Content == text
			}
			if !found {
				t.Fatalf("entry %d is not found by %s", i, who)
			}
		}
	}
}
