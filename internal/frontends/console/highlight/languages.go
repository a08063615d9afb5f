package highlight

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// language describes the tokens of a language.
type language struct {
	Names  string   // names that people use, separated by spaces
	Line   []string // start of a line comment
	Spaced bool     // a line comment needs white space before it
	Block  bool     // has /* block comments */
	Quotes []quote
	Fold   bool // keywords are case-insensitive

	Capitals  bool   // a name with a capital first letter is a type
	Keys      string // what follows a field name: ":" or "="; empty for languages without
	LineStart bool   `yaml:"line_start"` // keywords count only at the start of a line
	Hyphens   bool   // names may contain hyphens
	Sigils    string // prefixes of names: $ in shells, @ in CSS and for decorators

	Keywords, Types string
	words           map[string]string // CSS class by keyword or type
}

// quote is a string delimiter.
type quote struct {
	Mark   string
	Lines  bool // strings may span lines
	Raw    bool // a backslash does not escape
	Single bool // a character literal
}

func (l *language) sigilClass(c byte) string {
	if c == '@' || c == '#' {
		return keyword
	}
	return typeName
}

//go:embed languages.yaml
var languagesYAML []byte

// languages returns the tables by language name. They are parsed when code is first highlighted.
var languages = sync.OnceValue(func() map[string]*language {
	var list []*language
	if err := yaml.UnmarshalWithOptions(languagesYAML, &list, yaml.Strict()); err != nil {
		panic(err) // the file is embedded, so this is a bug
	}
	all := map[string]*language{}
	for _, l := range list {
		l.words = map[string]string{}
		for word := range strings.FieldsSeq(l.Keywords) {
			l.words[word] = keyword
		}
		for word := range strings.FieldsSeq(l.Types) {
			l.words[word] = typeName
		}
		for name := range strings.FieldsSeq(l.Names) {
			all[name] = l
		}
	}
	return all
})
