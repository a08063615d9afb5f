// Package eval measures how well a search answers questions: it reads sets of questions and
// computes nDCG@10 and recall@10.
package eval

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// Set is a collection of documents and questions about them.
type Set struct {
	Name      string
	Documents []Document
	// Questions are the questions that have an answer.
	Questions []Question
	// Unanswered is the number of questions that were left out because they have no answer.
	Unanswered int
	// Missing is the number of answers that are not documents of the set. They count as not found.
	Missing int
}

// Document is a text that may answer a question.
type Document struct {
	ID   string
	Text string
}

// Question is a text with the documents that answer it.
type Question struct {
	ID   string
	Text string
	// Answers maps the ID of each document that answers the question to a grade above 0.
	Answers map[string]float64
}

// maxLine is the maximum length of a line.
const maxLine = 16 << 20

// entry is a line of a set.
type entry struct {
	Kind   string  `json:"kind"`
	ID     name    `json:"id"`
	Text   string  `json:"text"`
	Answer answers `json:"answer"`
}

// Read reads a set from lines of JSON. Each line has a kind ("d" for a document, "q" for a
// question), an id, a text, and for a question the ids of its answers, as a list or as an object
// with grades. Other fields are ignored. An error contains the line and what is wrong with it.
func Read(name string, r io.Reader) (*Set, error) {
	reader := reader{set: &Set{Name: name}, lines: map[key]int{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	number := 0
	for lines.Scan() {
		number++
		if err := reader.line(number, lines.Bytes()); err != nil {
			return nil, fmt.Errorf("set %s, line %d: %w", name, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("set %s, line %d: %w", name, number+1, err)
	}
	if err := reader.check(); err != nil {
		return nil, fmt.Errorf("set %s%w", name, err)
	}
	return reader.set, nil
}

// reader holds a set while it is read, with the line of each document and question.
type reader struct {
	set   *Set
	lines map[key]int
}

type key struct{ kind, id string }

func (r *reader) line(number int, line []byte) error {
	if len(trim(line)) == 0 {
		return nil
	}
	var e entry
	if err := json.Unmarshal(trim(line), &e); err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	if e.Kind != "d" && e.Kind != "q" {
		return fmt.Errorf("kind is %q; it must be \"d\" or \"q\"", e.Kind)
	}
	if e.ID == "" {
		return errors.New("id is missing")
	}
	k := key{e.Kind, string(e.ID)}
	if first, ok := r.lines[k]; ok {
		return fmt.Errorf("id %q was already used in line %d", e.ID, first)
	}
	r.lines[k] = number
	r.add(e)
	return nil
}

func (r *reader) add(e entry) {
	switch {
	case e.Kind == "d":
		r.set.Documents = append(r.set.Documents, Document{ID: string(e.ID), Text: e.Text})
	case len(e.Answer) == 0:
		r.set.Unanswered++
	default:
		r.set.Questions = append(r.set.Questions, Question{ID: string(e.ID), Text: e.Text, Answers: e.Answer})
	}
}

// check validates the set as a whole.
func (r *reader) check() error {
	if len(r.set.Documents) == 0 {
		return errors.New(": no documents")
	}
	for _, q := range r.set.Questions {
		for id := range q.Answers {
			if r.lines[key{"d", id}] == 0 {
				r.set.Missing++
			}
		}
	}
	if len(r.set.Questions) == 0 {
		return fmt.Errorf(": no questions with an answer (%d without)", r.set.Unanswered)
	}
	return nil
}

// name is the id of a document or question: a string, or a number that is used as one.
type name string

func (n *name) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*n = name(text)
		return nil
	}
	var number json.Number
	if json.Unmarshal(data, &number) != nil {
		return errors.New("an id must be a string or a number")
	}
	*n = name(number)
	return nil
}

// answers maps documents to grades. In a list of documents each has the grade 1.
type answers map[string]float64

func (a *answers) UnmarshalJSON(data []byte) error {
	*a = answers{}
	var ids []name
	if json.Unmarshal(data, &ids) == nil {
		for _, id := range ids {
			(*a)[string(id)] = 1
		}
		return nil
	}
	var grades map[string]float64
	if json.Unmarshal(data, &grades) != nil {
		return errors.New("answer must be a list of ids or an object of ids with numbers")
	}
	for id, grade := range grades {
		if grade > maxGrade {
			return fmt.Errorf("grade %v of answer %q must be at most %d", grade, id, maxGrade)
		}
		if grade > 0 { // some data sets mark documents that are not answers this way
			(*a)[id] = grade
		}
	}
	return nil
}

// maxGrade is the maximum grade.
const maxGrade = 1000

// trim removes white space around a line, and a byte order mark before the first.
func trim(line []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
}

//go:embed sets/*.jsonl
var files embed.FS

var builtin = sync.OnceValues(readBuiltin)

// Builtin returns the embedded sets, sorted by name. They are read on first use and shared by all
// callers, which must not modify them.
func Builtin() ([]*Set, error) {
	sets, err := builtin()
	return slices.Clone(sets), err
}

func readBuiltin() ([]*Set, error) {
	names, err := fs.Glob(files, "sets/*.jsonl")
	if err != nil {
		return nil, fmt.Errorf("list sets: %w", err)
	}
	var sets []*Set
	for _, name := range names {
		content, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read set: %w", err)
		}
		set, err := Read(strings.TrimSuffix(path.Base(name), ".jsonl"), strings.NewReader(string(content)))
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}
