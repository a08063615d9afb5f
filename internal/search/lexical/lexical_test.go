package lexical_test

import (
	"os"
	"strings"
	"testing"

	"remit/internal/complexitytest"
	"remit/internal/search/lexical"
)

// languages has some of each kind.
const languages = "go javascript plainscript c csharp java kotlin scala swift rust php css scss vue json python ruby graphql shell toml yaml " +
	"powershell hcl sql lua haskell lisp assembly ini latex ocaml html vim fortran batch text unknown"

// shown formats the tokens of a text: words and marks as they are, literals in [], comments in {}.
func shown(language, text string) string {
	all, err := lexical.Read(language, []byte(text), func(s *lexical.Scanner) []string {
		var all []string
		s.Comments = true
		for t := s.Next(); t.Kind != lexical.End; t = s.Next() {
			switch t.Kind {
			case lexical.Text:
				all = append(all, "["+t.Text+"]")
			case lexical.Comment:
				all = append(all, "{"+t.Text+"}")
			default:
				all = append(all, t.Text)
			}
		}
		return all
	})
	if err != nil {
		all = append(all, "!"+err.Reason)
	}
	return strings.Join(all, " ")
}

func TestTokens(t *testing.T) {
	for _, c := range []struct{ language, text, want string }{
		{"go", "a // b\n`c\n` 'd' \"e\\\"\" /* f\n*/ 1_0", "a { b} [c\n] [d] [e\\\"] { f\n} 1_0"},
		{"java", "\"\"\"\na \"b\n\"\"\" don't", "[\na \"b\n] don ' t"},
		{"java", "'a' \"b\\\nc\" \"d\ne", "[a] [b\\\nc] \" d e"},
		{"kotlin", "/* a /* b */ c */ `d e` f", "{ a /* b */ c } d e f"},
		{"scala", "'a' 'b '\\n' c", "['a'] ' b ['\\n'] c"},
		{"c", "1'000 R\"x(a)\")x\" // b \\\nc\nu8R\"(d)\" L'e'", "1'000 [a)\"] { b \\\nc} [d] L [e]"},
		{"csharp", "  #if \"\n@\"a\"\"b\\\" $@\"c\" \"\"\"\"d\"\"\"\" $\"e\" f#g", "{#if \"} [a\"\"b\\] [c] [d] $ [e] f # g"},
		{"rust", "r#\"a\"b\"# 'c' 'd: b'e' br\"f\" '\\'' r#type /* /* */ */ \"g\nh\"", "[a\"b] ['c'] 'd : [b'e'] [f] ['\\''] r # type { /* */ } [g\nh]"},
		{"php", "a <?php b # c ?> d <?= 'e\\'' . \"{$f[\"g\"]}\" . <<<H\n'\n H;\n/* i */", "b { c } {?> d <?=} [e\\'] . [{$f[\"g\"]}] . [<<<H\n'\n H] ; { i }"},
		{"python", "'a' r\"\\\\\" f'{x[\"y\"]:{'z'}}' '''b\n''' 'c\\\nd' 'e\n# f\nrb''", "[a] [\\\\] [{x[\"y\"]:{'z'}}] [b\n] [c\\\nd] ' e { f} []"},
		{"python", "f'{a:\"}' f\"{{'\" f'{f\"{f'{b}'}\"}' f", "[{a:\"}] [{{'] [{f\"{f'{b}'}\"}] f"},
		{"ruby", "=begin\na\n=end b\nc <<~D, 'e'\n f\n D\nx /g/ h / i %w[j [k]]; ?l; empty?", "{\na} c [<<~D] , [e] x [g] h / i [j [k]] ; [?l] ; empty [?]"},
		{"ruby", "a\n__END__\n'", "a {__END__\n'}"},
		{"javascript", "a / b /c; x = /[/']\\/'/g; y = `z${1 + `'` + {}}'` / d", "a / b / c ; x = [/[/']\\/'/g] ; y = [`z${] 1 + ['] + { } [}'`] / d"},
		{"javascript", "f(<a b='}'>it's {c + 'd'} /*</a>, e)", "f ( [<a b='}'>it's {] c + [d] [} /*</a>] , e )"},
		{"typescript", "x = <T>(y) => '<'; 'z'", "x = < T > ( y ) = > [<] ; [z]"},
		{"sql", "'a''b' \"c\" $d$ ' $d$ -- e\n/* /* */ */", "[a] [b] \" c \" [ ' ] { e} { /* */ }"},
		{"scss", "a { b: url(http://c) } // d", "a { b : url ( http : / / c ) } { d}"},
		{"shell", "a <<B # c\n'\nB\n$#x \"d\" <<<E \\# $((1<<n)) <<-'F G'\n\tF G\n", "a [<<B] { c} $ # x [d] <<< E \\# $ ( ( 1 < < n ) ) [<<-'F G']"},
		{"lua", "a -- b\n--[[c\nd]] e", "a { b} {c\nd} e"},
		{"batch", "rem a\nb ::c\nRemo d", "{a} b {c} Remo d"},
		{"text", "# a 'b' // c", "# a ' b ' / / c"},
		{"unknown", "#!/bin/x 'y\na // b", "a { b}"},
	} {
		if got := shown(c.language, c.text); got != c.want {
			t.Errorf("%s %q is\n%s, want\n%s", c.language, c.text, got, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		language, text string
		want           lexical.Error
	}{
		{"go", "a\n`b\n", lexical.Error{Line: 2, Reason: "string is not closed"}},
		{"rust", "\n\n/* /* */", lexical.Error{Line: 3, Reason: "unterminated comment"}},
		{"ruby", "a <<B\nc", lexical.Error{Line: 1, Reason: "heredoc B is not closed"}},
		{"php", "<?php\n<<<A\nb", lexical.Error{Line: 2, Reason: "heredoc A is not closed"}},
		{"python", "\nf'{a", lexical.Error{Line: 2, Reason: "f-string: expecting '}'"}},
		{"javascript", "a\nb = 'c\n`", lexical.Error{Line: 2, Reason: "unterminated string"}},
		{"javascript", "x = <a>{`\n${1", lexical.Error{Line: 1, Reason: "unterminated template literal"}},
		{"csharp", "\n@\"a\"\"", lexical.Error{Line: 2, Reason: "string is not closed"}},
	} {
		_, err := lexical.Read(c.language, []byte(c.text), func(s *lexical.Scanner) bool {
			for s.Next().Kind != lexical.End {
				continue
			}
			return true
		})
		if err == nil || *err != c.want {
			t.Errorf("%s %q: %v, want %v", c.language, c.text, err, c.want)
		}
	}
}

// TestScannerIsLinear checks that scanning repetitions of a difficult piece takes linear time.
func TestScannerIsLinear(t *testing.T) {
	if os.Getenv("REMIT_FULL") != "true" {
		t.Skip("takes a while; REMIT_FULL=true runs it")
	}
	pieces := []string{
		"<", "a<", "(", "{", "}", "/", "=/[", "'\\'", "\"\\", "`${", "`", "r#", "r#\"", "<<<A\n", "<<A\n", "#", "# ", "$a$", "'", "/*", "*/",
		"f'{", "f\"{a:", "%q(", "%w[", "<a>", "<a ", "<a b='", "<a>{", "b'", "R\"(", "$\"", "@", "@\"", "\"\"\"", "'''", "=begin\n", "<<~A ",
		"\\", "\\\n", "'a\\\n", "?>", "<?php", "$$", "#{", "\"#{", "--[[", "(*", "<!--",
	}
	for _, language := range strings.Fields(languages) {
		for _, piece := range pieces {
			t.Run(language+" "+piece, func(t *testing.T) {
				complexitytest.Linear(t, 128<<10, func(size int) {
					shown(language, strings.Repeat(piece, size/len(piece)))
				})
			})
		}
	}
}

// FuzzScanner checks that for any text the tokens follow each other, are at their offsets, and have
// valid lines.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		"a 'b' \"c\\\" /* d */ // e\n", "f'{x:{y}}' '''", "<?php <<<A\n A; ?>", "<<~A\n#{\"b\"}\n A\n%q(c) /d/", "x = <a b={`${c}`}>d</a> / /e/",
		"r#\"a\"# 'b 'c'", "R\"a(b)a\" $@\"c\"\" \"\"\"", "$a$ b $a$ -- c", "\ufeff#!/x\n__END__", "=begin\n=end",
	} {
		for _, language := range strings.Fields(languages) {
			f.Add(language, seed)
		}
	}
	f.Fuzz(func(t *testing.T, language, text string) {
		s := lexical.New(language, []byte(text))
		s.Comments = true
		lines := 1 + strings.Count(s.Src, "\n")
		at := 0
		for tok := s.Next(); tok.Kind != lexical.End; tok = s.Next() {
			if tok.Start < at || tok.End <= tok.Start || tok.End > len(s.Src) || s.At < tok.End {
				t.Fatalf("%s: %+v after %d of %d in %q", language, tok, at, len(s.Src), text)
			}
			if line := 1 + strings.Count(s.Src[:tok.Start], "\n"); tok.Line != line {
				t.Fatalf("%s: %+v is on line %d of %q", language, tok, line, text)
			}
			at = tok.End
		}
		if s.Err != nil && (s.Err.Line < 1 || s.Err.Line > lines) {
			t.Fatalf("%s: %v in %d lines", language, s.Err, lines)
		}
	})
}
