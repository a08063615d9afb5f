package eval

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	const text = "\ufeff" + `{"kind":"d","id":"a","text":"first","module":"x","answer":[]}

  {"kind":"q","id":"a","text":"where?","answer":["b","a","b"]}
{"kind":"d","id":"b"}` + "\r\n" + `{"kind":"q","id":"2","text":"how?","answer":{"b":2,"a":0.5,"gone":0}}
{"kind":"q","id":"3","text":"why?"}
{"kind":"q","id":"4","text":"who?","answer":null}
{"kind":"q","id":"5","text":"who?","answer":{"a":0,"b":-1}}
{"kind":"d","id":7,"text":"numbers"}
{"kind":"q","id":6,"text":"which?","answer":[7,"gone"]}`
	got, err := Read("some", strings.NewReader(text))
	want := &Set{
		Name:      "some",
		Documents: []Document{{"a", "first"}, {"b", ""}, {"7", "numbers"}},
		Questions: []Question{
			{"a", "where?", map[string]float64{"a": 1, "b": 1}},
			{"2", "how?", map[string]float64{"a": 0.5, "b": 2}},
			{"6", "which?", map[string]float64{"7": 1, "gone": 1}},
		},
		Unanswered: 3, Missing: 1,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestReadErrors(t *testing.T) {
	const good = `{"kind":"d","id":"a","text":"x"}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "set s: no documents"},
		{"no question", good, "set s: no questions with an answer (0 without)"},
		{"no answers", good + `{"kind":"q","id":"1"}`, "set s: no questions with an answer (1 without)"},
		{"no JSON", good + "nonsense", "set s, line 2: read JSON: invalid character"},
		{"two values", good + good[:len(good)-1] + good, "set s, line 2: read JSON: invalid character"},
		{"a list", "[]", "set s, line 1: read JSON: json: cannot unmarshal array"},
		{"kind", "\n" + `{"kind":"e","id":"a"}`, `set s, line 2: kind is "e"; it must be "d" or "q"`},
		{"no kind", `{"id":"a"}`, `set s, line 1: kind is ""; it must be "d" or "q"`},
		{"no id", `{"kind":"d"}`, "set s, line 1: id is missing"},
		{"a list for an id", `{"kind":"d","id":[1]}`, "set s, line 1: read JSON: an id must be a string or a number"},
		{"twice", good + "\n" + good, `set s, line 3: id "a" was already used in line 1`},
		{"asked twice", strings.Repeat(`{"kind":"q","id":"a"}`+"\n", 2), `set s, line 2: id "a" was already used in line 1`},
		{"grades below 0 alone", good + `{"kind":"q","id":"1","answer":{"a":-1}}`, "set s: no questions with an answer (1 without)"},
		{"great grade", good + `{"kind":"q","id":"1","answer":{"a":1e300}}`, `grade 1e+300 of answer "a" must be at most 1000`},
		{"answer", good + `{"kind":"q","id":"1","answer":"a"}`, "answer must be a list of ids or an object of ids with numbers"},
		{"endless", `{"kind":"d","id":"` + strings.Repeat("a", maxLine), "set s, line 1: bufio.Scanner: token too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read("s", strings.NewReader(c.text))
			if err == nil || got != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestLongLines(t *testing.T) {
	text := strings.Repeat("word ", 1<<20/5)
	set, err := Read("s", strings.NewReader(`{"kind":"d","id":"a","text":"`+text+`"}`+"\n"+`{"kind":"q","id":"a","answer":["a"]}`))
	if err != nil || set.Documents[0].Text != text {
		t.Error(err)
	}
}

func TestBuiltin(t *testing.T) {
	sets, err := Builtin()
	if err != nil || len(sets) == 0 {
		t.Fatalf("%d sets, %v", len(sets), err)
	}
	for _, set := range sets {
		if len(set.Documents) < 50 || len(set.Questions) < 20 || set.Unanswered > 0 {
			t.Errorf("%s: %d documents, %d questions, %d without an answer", set.Name, len(set.Documents), len(set.Questions), set.Unanswered)
		}
	}
	sets[0] = nil
	if again, _ := Builtin(); again[0] == nil {
		t.Error("a caller changed the list of sets")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"kind":"d","id":"a","text":"first"}` + "\n" + `{"kind":"q","id":"b","answer":["a"]}`)
	f.Add(`{"kind":"d","id":"a"}` + "\n" + `{"kind":"q","id":"b","answer":{"a":2}}`)
	f.Add(`{"kind":"q","id":"b","answer":{"a":-2}}`)
	f.Add(`{"kind":"d","id":"a"}` + "\n" + `{"kind":"q","id":"b","answer":["gone"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		set, err := Read("s", strings.NewReader(text))
		if (set == nil) == (err == nil) {
			t.Fatalf("%v, %v", set, err)
		}
		if err != nil {
			return
		}
		ids := map[string]float64{}
		for _, d := range set.Documents {
			ids[d.ID] = 1
		}
		if len(ids) != len(set.Documents) {
			t.Error("two documents have one id")
		}
		missing := 0
		for _, q := range set.Questions {
			for id, grade := range q.Answers {
				if !(grade > 0) {
					t.Errorf("question %q: answer %q, grade %v", q.ID, id, grade)
				}
				if ids[id] == 0 {
					missing++
				}
			}
		}
		if missing != set.Missing {
			t.Errorf("%d answers are missing, but Missing is %d", missing, set.Missing)
		}
	})
}
