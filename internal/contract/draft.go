package contract

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// The drafts, with NAME, TITLE and METHOD where a tool or a set differs from others.
var (
	//go:embed drafts/tool.yaml
	draftTool string
	//go:embed drafts/set.yaml
	draftSet string
	//go:embed drafts/handler.txt
	draftHandler string
)

// Draft is the first version of a contract file, with every key that it needs.
// It passes lint as it stands.
func Draft(name string) ([]byte, error) {
	if !toolName().MatchString(name) {
		return nil, fmt.Errorf("a tool's name must match %s, and %q does not", toolName(), name)
	}
	title := strings.ReplaceAll(name, "_", " ")
	return draft(draftTool, name, strings.ToUpper(title[:1])+title[1:]), nil
}

// DraftSet is the first version of a _set.yaml.
func DraftSet(name string) []byte { return draft(draftSet, name, name) }

func draft(text, name, title string) []byte {
	return []byte(strings.NewReplacer("NAME", scalar(name), "TITLE", scalar(title)).Replace(text))
}

// scalar writes text so that YAML reads a string: null and "a: b" need quotes.
func scalar(text string) string {
	quoted, err := yaml.Marshal(text)
	if err != nil {
		return strconv.Quote(text)
	}
	return strings.TrimSpace(string(quoted))
}

// DraftHandler is the Go that goes with Draft.
func DraftHandler(name string) string {
	method := ""
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			method += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.NewReplacer("NAME", name, "METHOD", method).Replace(draftHandler)
}
