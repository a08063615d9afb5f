package highlight

import (
	"strings"
	"sync"
)

// language is what tells the parts of code apart.
type language struct {
	line   []string // what begins a comment up to the end of the line
	spaced bool     // such a comment has white space before it
	blocks []pair
	quotes []quote
	words  map[string]string // the classes of words
	fold   bool              // letter case does not matter

	capitals  bool   // a name that begins with a capital is a type
	keys      byte   // what follows the name of a field: ':' or '='; 0 if nothing tells
	lineStart bool   // words mean something at the beginning of a line alone
	hyphens   bool   // names have hyphens
	sigils    string // what begins a name: $ of shells, @ of CSS and of decorators
}

type pair struct{ open, close string }

// quote is what a string is in.
type quote struct {
	open, close string
	lines       bool // it may go over lines
	raw         bool // a backslash has no meaning
	single      bool // it holds one character
}

func (l *language) sigilClass(c byte) string {
	if c == '@' || c == '#' {
		return keyword
	}
	return typed
}

// The strings of most languages.
func double() quote    { return quote{open: `"`, close: `"`} }
func single() quote    { return quote{open: "'", close: "'"} }
func character() quote { return quote{open: "'", close: "'", single: true} }
func backticks() quote { return quote{open: "`", close: "`", lines: true} }
func triple(mark string) quote {
	return quote{open: strings.Repeat(mark, 3), close: strings.Repeat(mark, 3), lines: true}
}

// likeC has the comments that most languages have.
func likeC(l language) *language {
	l.line, l.blocks = append(l.line, "//"), append(l.blocks, pair{"/*", "*/"})
	return &l
}

// classes gives each word its class.
func classes(keywords, types string) map[string]string {
	words := map[string]string{}
	for _, w := range strings.Fields(keywords) {
		words[w] = keyword
	}
	for _, w := range strings.Fields(types) {
		words[w] = typed
	}
	return words
}

// languages are the tables, by the names of the languages, made when code is first
// shown.
var languages = sync.OnceValue(func() map[string]*language {
	all := map[string]*language{}
	for names, l := range map[string]*language{
		"go golang":                 golang(),
		"python py python3 ipython": python(),
		"js javascript ts typescript jsx tsx mjs cjs node": javascript(),
		"java": java(),
		"c h cpp c++ cc hpp cxx objective-c objectivec": c(),
		"csharp cs c#":  csharp(),
		"rust rs":       rust(),
		"ruby rb":       ruby(),
		"php":           php(),
		"kotlin kt kts": kotlin(),
		"swift":         swift(),
		"bash sh shell zsh console makefile make": shell(),
		"sql postgresql sqlite mysql":             sql(),
		"css scss less":                           css(),
		"json jsonc json5 jsonl ndjson":           json(),
		"yaml yml":                                yaml(),
		"toml ini":                                toml(),
		"dockerfile docker containerfile":         dockerfile(),
	} {
		for _, name := range strings.Fields(names) {
			all[name] = l
		}
	}
	return all
})

func golang() *language {
	return likeC(language{
		quotes: []quote{double(), {open: "`", close: "`", lines: true, raw: true}, character()},
		words: classes("break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false iota",
			"any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr"),
	})
}

func python() *language {
	return &language{
		line: []string{"#"}, quotes: []quote{triple(`"`), triple("'"), double(), single()}, sigils: "@",
		words: classes("and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield None True False self",
			"bool bytes dict float frozenset int list object set str tuple type"),
	}
}

func javascript() *language {
	return likeC(language{
		quotes: []quote{double(), single(), backticks()}, capitals: true, sigils: "@",
		words: classes("abstract as async await break case catch class const continue debugger declare default delete do else enum export extends finally for from function get if implements import in instanceof interface let namespace new null of private protected public readonly return set static super switch this throw true false try type typeof undefined var void while yield keyof satisfies",
			"any bigint boolean never number object string symbol unknown"),
	})
}

func java() *language {
	return likeC(language{
		quotes: []quote{triple(`"`), double(), character()}, capitals: true, sigils: "@",
		words: classes("abstract assert break case catch class const continue default do else enum extends final finally for goto if implements import instanceof interface native new null package permits private protected public record return sealed static strictfp super switch synchronized this throw throws transient true false try var void volatile while yield",
			"boolean byte char double float int long short"),
	})
}

func c() *language {
	return likeC(language{
		quotes: []quote{double(), character()}, sigils: "#",
		words: classes("alignas alignof asm auto break case catch class concept const consteval constexpr continue co_await co_return co_yield default delete do else enum explicit export extern false final for friend goto if inline mutable namespace new noexcept nullptr operator override private protected public register requires restrict return sizeof static static_assert struct switch template this throw true try typedef typeid typename union using virtual volatile while NULL",
			"bool char char8_t char16_t char32_t double float int int8_t int16_t int32_t int64_t long short signed size_t ssize_t uint8_t uint16_t uint32_t uint64_t unsigned void wchar_t string vector map"),
	})
}

func csharp() *language {
	return likeC(language{
		quotes: []quote{triple(`"`), double(), character()}, capitals: true, sigils: "#",
		words: classes("abstract as async await base break case catch checked class const continue default delegate do else enum event explicit extern false finally fixed for foreach get goto if implicit in interface internal is lock namespace new null operator out override params private protected public readonly record ref required return sealed set sizeof stackalloc static struct switch this throw true try typeof unchecked unsafe using var virtual volatile when where while with yield",
			"bool byte char decimal double dynamic float int long nint object sbyte short string uint ulong ushort void"),
	})
}

func rust() *language {
	return likeC(language{
		quotes: []quote{{open: `"`, close: `"`, lines: true}, character()}, capitals: true,
		words: classes("as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self static struct super trait true type unsafe use where while",
			"bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize"),
	})
}

func ruby() *language {
	return &language{
		line: []string{"#"}, quotes: []quote{{open: `"`, close: `"`, lines: true}, single(), backticks()}, capitals: true, sigils: "@$",
		words: classes("alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require attr_accessor attr_reader private", ""),
	}
}

func php() *language {
	return likeC(language{
		line: []string{"#"}, quotes: []quote{{open: `"`, close: `"`, lines: true}, {open: "'", close: "'", lines: true}}, sigils: "$", capitals: true,
		words: classes("abstract and array as break callable case catch class clone const continue declare default do echo else elseif empty enum extends false final finally fn for foreach function global goto if implements include include_once instanceof insteadof interface isset list match namespace new null or print private protected public readonly require require_once return static switch throw trait true try unset use var while xor yield php",
			"bool float int iterable mixed never object string void"),
	})
}

func kotlin() *language {
	return likeC(language{
		quotes: []quote{triple(`"`), double(), character()}, capitals: true, sigils: "@",
		words: classes("abstract as break by class companion const constructor continue data do else enum false final finally for fun get if import in infix init inline interface internal is it lateinit null object open operator out override package private protected public return sealed set super suspend this throw true try typealias val var vararg when where while", ""),
	})
}

func swift() *language {
	return likeC(language{
		quotes: []quote{triple(`"`), double()}, capitals: true, sigils: "@#",
		words: classes("actor any as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough false fileprivate for func guard if import in init inout internal is lazy let mutating nil open operator override private protocol public repeat required rethrows return self some static struct subscript super switch throw throws true try typealias unowned var weak where while", ""),
	})
}

func shell() *language {
	return &language{
		line: []string{"#"}, spaced: true, sigils: "$", hyphens: true,
		quotes: []quote{{open: `"`, close: `"`, lines: true}, {open: "'", close: "'", lines: true, raw: true}},
		words:  classes("case do done elif else esac fi for function if in select then until while return exit export local readonly set unset shift source alias cd echo eval exec trap", ""),
	}
}

func sql() *language {
	return &language{
		line: []string{"--"}, blocks: []pair{{"/*", "*/"}}, quotes: []quote{{open: "'", close: "'", lines: true, raw: true}, {open: `"`, close: `"`, raw: true}}, fold: true,
		words: classes("add all alter and any as asc before begin between by cascade case check column commit conflict constraint create cross cube current current_timestamp database default deferrable delete desc distinct do drop else end except exists explain false fetch filter for foreign from full function grant group having if ilike in index inner insert intersect into is join key lateral left like limit natural not nothing null offset on or order outer over partition primary procedure recursive references returning revoke right rollback row rows select set table temp temporary then trigger true truncate union unique update using vacuum values view when where window with",
			"bigint bigserial blob boolean bytea char date decimal double integer int interval json jsonb numeric real serial smallint text time timestamp timestamptz uuid varchar"),
	}
}

func css() *language {
	return &language{
		line: []string{"//"}, spaced: true, blocks: []pair{{"/*", "*/"}}, quotes: []quote{double(), single()}, sigils: "@#$", hyphens: true, keys: ':',
		words: classes("important inherit initial unset auto none", ""),
	}
}

func json() *language {
	return likeC(language{quotes: []quote{double()}, keys: ':', words: classes("true false null", "")})
}

func yaml() *language {
	return &language{
		line: []string{"#"}, spaced: true, quotes: []quote{{open: `"`, close: `"`, lines: true}, {open: "'", close: "'", lines: true, raw: true}}, keys: ':', hyphens: true, sigils: "&*",
		words: classes("true false null yes no on off", ""),
	}
}

func toml() *language {
	return &language{
		line: []string{"#", ";"}, quotes: []quote{triple(`"`), triple("'"), double(), {open: "'", close: "'", raw: true}}, keys: '=', hyphens: true,
		words: classes("true false", ""),
	}
}

func dockerfile() *language {
	return &language{
		line: []string{"#"}, spaced: true, quotes: []quote{double(), single()}, fold: true, lineStart: true, sigils: "$",
		words: classes("add arg cmd copy entrypoint env expose from healthcheck label maintainer onbuild run shell stopsignal user volume workdir", ""),
	}
}
