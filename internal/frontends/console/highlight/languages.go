package highlight

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// language is what tells the parts of code apart.
type language struct {
	Names  string   // what people call it
	Line   []string // what begins a comment up to the end of the line
	Spaced bool     // such a comment has white space before it
	Block  bool     // /* and */ are around comments
	Quotes []quote
	Fold   bool // letter case does not matter

	Capitals  bool   // a name that begins with a capital is a type
	Keys      string // what follows the name of a field: ":" or "="; empty if nothing tells
	LineStart bool   `yaml:"line_start"` // words mean something at the beginning of a line alone
	Hyphens   bool   // names have hyphens
	Sigils    string // what begins a name: $ of shells, @ of CSS and of decorators

	Keywords, Types string
	words           map[string]string // the classes of both
}

// quote is what a string is in.
type quote struct {
	Mark   string
	Lines  bool // it may go over lines
	Raw    bool // a backslash has no meaning
	Single bool // it holds one character
}

func (l *language) sigilClass(c byte) string {
	if c == '@' || c == '#' {
		return keyword
	}
	return typed
}

//go:embed languages.yaml
var languagesYAML []byte

// languages are the tables, by the names of the languages, made when code is first
// shown.
var languages = sync.OnceValue(func() map[string]*language {
	var list []*language
	if err := yaml.UnmarshalWithOptions(languagesYAML, &list, yaml.Strict()); err != nil {
		panic(err) // the file is a part of the program
	}
	all := map[string]*language{}
	for _, l := range list {
		l.words = map[string]string{}
		for word := range strings.FieldsSeq(l.Keywords) {
			l.words[word] = keyword
		}
		for word := range strings.FieldsSeq(l.Types) {
			l.words[word] = typed
		}
		for name := range strings.FieldsSeq(l.Names) {
			all[name] = l
		}
	}
	return all
})
