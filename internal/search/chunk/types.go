package chunk

import (
	"slices"
	"strings"
	"time"
)

// typeNamed returns the type of a discovery for any of its common names, or "".
func typeNamed(word string) string {
	word = strings.ToLower(strings.TrimSpace(word))
	word = strings.NewReplacer("-", "_", " ", "_").Replace(word)
	switch strings.TrimSuffix(word, "s") {
	case "decision", "choice", "adr", "architecture_decision", "design_decision", "decided", "technical_decision", "tradeoff":
		return Decision
	case "rule", "convention", "constraint", "policy", "policie", "guideline", "standard", "requirement", "invariant", "instruction":
		return Rule
	case "pattern", "practice", "best_practice", "technique", "tip", "approach", "idiom", "insight", "recipe", "learning":
		return Pattern
	case "issue", "bug", "problem", "fix", "fixe", "incident", "lesson", "lesson_learned", "error", "bugfix", "bug_fix", "failure", "gotcha",
		"pitfall", "postmortem", "regression", "known_issue", "mistake", "warning", "blocker", "risk", "todo", "fixme":
		return Issue
	}
	return ""
}

// guessType guesses the type of a discovery from its words. The default is a pattern: something
// people do.
func guessType(text string) string {
	words := wordsOf(text)
	switch {
	case hasAny(words, "decided", "chose", "chosen", "picked", "opted", "decision", "adopted", "instead"):
		return Decision
	case hasAny(words, "bug", "fixed", "crash", "crashed", "failed", "fails", "broke", "broken", "leak", "leaked", "race", "regression", "incident",
		"deadlock", "outage", "error", "workaround", "flaky"):
		return Issue
	case commands(words):
		return Rule
	}
	return Pattern
}

// commands reports whether a text demands something.
func commands(words map[string]bool) bool {
	return hasAny(words, "must", "never", "always", "shall", "forbidden", "required", "don't", "mandatory", "prohibited") ||
		words["do"] && words["not"]
}

// advises reports whether a text demands or recommends something.
func advises(words map[string]bool) bool {
	return commands(words) || hasAny(words, "should", "avoid", "prefer", "please", "ensure", "cannot", "need", "needs")
}

// wordsOf returns the words at the beginning of a text, in lower case.
func wordsOf(text string) map[string]bool {
	text = strings.ReplaceAll(strings.ToLower(text[:min(len(text), MaxText)]), "’", "'")
	words := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return (r < 'a' || r > 'z') && r != '\'' }) {
		words[word] = true
	}
	return words
}

func hasAny(words map[string]bool, some ...string) bool {
	return slices.ContainsFunc(some, func(word string) bool { return words[word] })
}

// headingType returns the type of discovery indicated by a heading, or "". Such a heading is a
// title of a few words whose first or last word names the type.
func headingType(heading string) string {
	heading = strings.TrimFunc(strings.ToLower(heading), func(r rune) bool { return (r < 'a' || r > 'z') && r < 0x80 || r > 0x2000 })
	switch heading {
	case "decisions", "decision", "key decisions", "design decisions", "architecture decisions", "architectural decisions", "decision log",
		"technical decisions", "decision record", "decision records", "decisions log", "why":
		return Decision
	case "rules", "conventions", "constraints", "policies", "guidelines", "coding standards", "standards", "invariants", "coding conventions",
		"style guide", "code style", "coding style", "coding guidelines", "house rules", "requirements for contributions", "naming conventions",
		"dos and don'ts", "do's and don'ts", "important rules", "critical rules", "hard rules", "golden rules", "rules that are easy to break":
		return Rule
	case "patterns", "best practices", "practices", "techniques", "idioms", "design patterns", "common patterns", "code patterns", "tips",
		"patterns and practices", "how we do things", "recipes":
		return Pattern
	case "known issues", "gotchas", "pitfalls", "troubleshooting", "lessons", "lessons learned", "lessons learnt", "postmortem", "post-mortem",
		"postmortems", "caveats", "known bugs", "known problems", "common problems", "common issues", "common pitfalls", "known limitations",
		"common mistakes", "incidents", "issues", "bugs", "problems", "things that went wrong", "what went wrong", "root cause":
		return Issue
	}
	first, last := edgeWords(heading)
	switch {
	case strings.Count(heading, " ") > 4:
		return ""
	case last == "gotchas", last == "pitfalls", last == "troubleshooting", first == "troubleshooting", first == "postmortem", first == "gotchas":
		return Issue
	case last == "conventions", last == "rules", last == "guidelines", first == "rules":
		return Rule
	case last == "patterns", last == "practices":
		return Pattern
	case last == "decisions":
		return Decision
	}
	return ""
}

func edgeWords(heading string) (first, last string) {
	words := strings.FieldsFunc(heading, func(r rune) bool { return r == ' ' || r == ':' || r == ',' })
	if len(words) == 0 {
		return "", ""
	}
	return words[0], words[len(words)-1]
}

// dateOf parses a date as people and programs write it. It returns zero for anything else and for
// implausible dates.
func dateOf(text string) time.Time {
	text = strings.Trim(strings.TrimSpace(text), `"'*_()[]`)
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02 15:04",
		"2006-01-02", "2006/01/02", "2006.01.02", "2 January 2006", "January 2, 2006", "2 Jan 2006", "Jan 2, 2006", "02.01.2006",
	} {
		if at, err := time.Parse(layout, text); err == nil {
			return ourTime(at)
		}
	}
	return time.Time{}
}

// ourTime returns zero for dates that cannot be those of a project.
func ourTime(at time.Time) time.Time {
	if at = at.UTC(); at.Year() < 1980 || at.Year() > 2200 {
		return time.Time{}
	}
	return at
}

// dateIn finds a date in digits (2024-05-17) within a text. It returns zero if there is none.
func dateIn(text string) time.Time {
	for i := 0; i+10 <= len(text); i++ {
		if text[i+4] == '-' && text[i+7] == '-' && isDigit(text[i]) && (i == 0 || !isDigit(text[i-1])) {
			if at := dateOf(text[i : i+10]); !at.IsZero() {
				return at
			}
		}
	}
	return time.Time{}
}
