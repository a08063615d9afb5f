package console

import (
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
	"remit/internal/contract/jsontree"
)

// allContracts returns every contract of the catalog, including hidden ones.
func allContracts(t testing.TB) (list []*contract.Contract) {
	t.Helper()
	sets, err := catalog.Load("conformance")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		list = append(list, set.Contracts...)
	}
	if len(list) < 20 {
		t.Fatalf("only %d contracts", len(list))
	}
	return list
}

// TestFormsReturnExamples checks that a form filled with the arguments of an example sends exactly
// these, and that the typical ones need no JSON.
func TestFormsReturnExamples(t *testing.T) {
	for _, c := range allContracts(t) {
		for i, e := range c.Examples {
			f := newForm(c)
			f.fill(&e.Arguments)
			if i == 0 && f.AsJSON && e.Result.Kind != jsontree.Null {
				t.Errorf("%s: the form cannot express %q", c.Name, e.Title)
			}
			sent := f.values()
			if f.AsJSON {
				sent = url.Values{jsonParam: {strings.ReplaceAll(f.JSON, "\n", "\r\n")}}
			}
			again := newForm(c)
			got, ok := again.read(sent)
			if !ok || !got.Equal(&e.Arguments) {
				t.Errorf("%s, %s: the form sends %s, want %s", c.Name, e.Title, got.Append(nil), e.Arguments.Append(nil))
			}
			if again.AsJSON != f.AsJSON || !f.AsJSON && again.values().Encode() != sent.Encode() {
				t.Errorf("%s, %s: the form does not keep its content", c.Name, e.Title)
			}
		}
	}
}

// formContract returns a contract with a field of every kind.
func formContract(t testing.TB) *contract.Contract {
	t.Helper()
	input, err := jsontree.Parse([]byte(`{"type":"object","properties":{
		"line":{"type":"string","maxLength":9},"long":{"type":"string","maxLength":5000},"whole":{"type":"integer","minimum":1,"maximum":7},
		"number":{"type":"number"},"yes":{"type":"boolean","default":true},"one":{"type":"string","enum":["a","b"]},
		"words":{"type":"array","items":{"type":"string"}},"counts":{"type":"array","items":{"type":"integer"}},
		"object":{"type":"object"},"either":{"type":["string","null"]},"any":{"anyOf":[{"type":"string"},{"type":"integer"}]}},
		"required":["line"],"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	return &contract.Contract{Name: "demo", Input: input}
}

func TestFieldKinds(t *testing.T) {
	want := map[string]fieldKind{
		"line": asLine, "long": asText, "whole": asNumber, "number": asNumber, "yes": asChoice, "one": asChoice,
		"words": asList, "counts": asList, "object": asJSON, "either": asJSON, "any": asJSON,
	}
	f := newForm(formContract(t))
	for _, at := range f.Fields {
		if at.Kind != want[at.Name] {
			t.Errorf("%s is shown as %s, want %s", at.Name, at.Kind, want[at.Name])
		}
		if at.Required != (at.Name == "line") {
			t.Errorf("%s: required is %v", at.Name, at.Required)
		}
	}
	if at := f.Fields[2]; at.Min != "1" || at.Max != "7" || f.Fields[0].MaxLength != "9" || f.Fields[4].Default != "true" {
		t.Errorf("bounds %+v, %+v, %+v", at, f.Fields[0], f.Fields[4])
	}
}

// TestFormsReturnAnyArguments checks the same for random arguments, valid or not.
func TestFormsReturnAnyArguments(t *testing.T) {
	c := formContract(t)
	text := rapid.SampledFrom([]string{"", "a", " b ", "x\ny", "\n", "\r\n", "\rz", "7", "true", `"`, "<b>", "\u202e", "\x7f", "\U000e0001", "null"})
	scalarValue := rapid.Custom(func(t *rapid.T) jsontree.Value {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return jsontree.Int(rapid.Int64Range(-3, 3).Draw(t, "n"))
		case 1:
			return jsontree.Boolean(rapid.Bool().Draw(t, "b"))
		case 2:
			return jsontree.Value{Kind: jsontree.Null}
		default:
			return jsontree.Str(text.Draw(t, "text"))
		}
	})
	value := rapid.Custom(func(t *rapid.T) jsontree.Value {
		switch rapid.IntRange(0, 5).Draw(t, "shape") {
		case 0:
			return jsontree.Arr(rapid.SliceOfN(scalarValue, 0, 3).Draw(t, "list")...)
		case 1:
			return jsontree.Obj(jsontree.M("k", scalarValue.Draw(t, "member")))
		default:
			return scalarValue.Draw(t, "scalar")
		}
	})
	names := []string{"line", "long", "whole", "number", "yes", "one", "words", "counts", "object", "either", "any", "unknown"}
	rapid.Check(t, func(t *rapid.T) {
		args := jsontree.Obj()
		for _, name := range names {
			if rapid.IntRange(0, 3).Draw(t, "given "+name) == 0 {
				args.Members = append(args.Members, jsontree.M(name, value.Draw(t, name)))
			}
		}
		f := newForm(c)
		f.fill(&args)
		sent := f.values()
		if f.AsJSON {
			sent = url.Values{jsonParam: {f.JSON}}
		}
		fresh := newForm(c)
		if got, ok := fresh.read(sent); !ok || !got.Equal(&args) {
			t.Fatalf("the form sends %s, want %s", got.Append(nil), args.Append(nil))
		}
	})
}

func TestUnreadableForms(t *testing.T) {
	c := formContract(t)
	f := newForm(c)
	if _, ok := f.read(url.Values{"arg.object": {"{"}, "arg.line": {"kept"}}); ok || f.Fields[0].Value != "kept" || f.Fields[8].Value != "{" || !strings.Contains(f.Fields[8].Error, "not valid JSON") {
		t.Errorf("broken JSON in a field: %+v", f.Fields[8])
	}
	f = newForm(c)
	if _, ok := f.read(url.Values{"json": {"[1"}}); ok || f.Error == "" || f.JSON != "[1" {
		t.Errorf("broken JSON: %+v", f)
	}
	f = newForm(c)
	got, ok := f.read(url.Values{"arg.whole": {"many"}, "arg.counts": {"1\r\n\r\nx"}, "arg.yes": {"maybe"}, "arg.nothing": {"x"}, "line": {"x"}})
	if want := `{"whole":"many","yes":"maybe","counts":[1,"x"]}`; !ok || string(got.Append(nil)) != want {
		t.Errorf("invalid texts give %s, want %s, for the contract to reject", got.Append(nil), want)
	}
}

func TestShowError(t *testing.T) {
	for field, want := range map[string]bool{"line": true, "object.a.b": true, "words[3]": true, "nothing": false, "": false} {
		f := newForm(formContract(t))
		if got := f.showError(contract.Errorf(contract.Invalid, "wrong").With("field", field)); got != want {
			t.Errorf("the error of %q is shown next to a field: %v", field, got)
		}
	}
	f := newForm(formContract(t))
	if f.showError(contract.Errorf(contract.Invalid, "wrong")) {
		t.Error("an error without a field is shown next to one")
	}
}

// TestCommandLines checks that a shell splits the command lines into the intended words.
func TestCommandLines(t *testing.T) {
	odd, err := jsontree.Parse([]byte(`{"line":"it's; $(rm) \"x\"\n\\ é *","whole":3,"yes":true}`))
	if err != nil {
		t.Fatal(err)
	}
	check := func(c *contract.Contract, args *jsontree.Value) {
		t.Helper()
		line := commandLine(c, args)
		out, err := exec.CommandContext(t.Context(), "sh", "-c", `remit() { printf '%s\0' "$@"; }; `+line).Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if words[0] != "call" || words[1] != c.Name {
			t.Errorf("%s begins with %q", line, words[:2])
		}
		got, properties := jsontree.Obj(), c.Input.Field("properties")
		for i := 2; i < len(words); i++ {
			if words[i] == "--json" {
				if got, err = jsontree.Parse([]byte(words[i+1])); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				break
			}
			key, text, _ := strings.Cut(words[i], "=")
			v, schema := jsontree.Str(text), properties.Field(key)
			if textOf(&schema, "type") != "string" {
				v = scalar(text)
			}
			got.Members = append(got.Members, jsontree.M(key, v))
		}
		if !got.Equal(args) {
			t.Errorf("%s means %s, want %s", line, got.Append(nil), args.Append(nil))
		}
	}
	check(formContract(t), &odd)
	for _, c := range allContracts(t) {
		if len(c.Examples) > 0 {
			check(c, &c.Examples[0].Arguments)
		}
	}
}
