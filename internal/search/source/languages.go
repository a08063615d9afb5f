package source

import (
	"strings"
	"sync"
)

// byExtension has a line for each language: its name, then the extensions of its files in lower case.
const byExtension = `
ada adb ads
asciidoc adoc asciidoc
assembly s asm
astro astro
awk awk
batch bat cmd
bibtex bib
c c
clojure clj cljs cljc edn
cmake cmake
coffeescript coffee
cpp cc cpp cxx c++ hh hpp hxx h++ ipp tpp inl cppm ixx
crystal cr
csharp cs csx
css css pcss
csv csv tsv
cuda cu cuh
d d
dart dart
diff diff patch
dockerfile dockerfile containerfile
elixir ex exs
elm elm
erlang erl hrl
fish fish
fortran f f90 f95 f03 f08 for
fsharp fs fsi fsx
gleam gleam
glsl glsl vert frag
go go
gomod mod
graphql graphql gql
groovy groovy gradle
handlebars hbs handlebars mustache
haskell hs lhs
hcl hcl tf tfvars
html html htm xhtml
ini ini cfg conf properties editorconfig desktop
java java
javascript js jsx mjs cjs es6
json json jsonc json5 jsonl ndjson geojson webmanifest ipynb code-workspace
julia jl
kotlin kt kts
latex tex sty
less less
lisp lisp lsp cl el
lua lua
makefile mk mak
markdown md markdown mdown mdx mkd
matlab mat
mermaid mmd
nim nim nims
nix nix
objectivec mm
ocaml ml mli
odin odin
pascal pas pp dpr
perl pm t
php php php3 php4 php5 phtml phps
powershell ps1 psm1 psd1
prisma prisma
prolog pro
protobuf proto
pug pug jade
python py pyi pyw pyx
r r rmd
racket rkt
restructuredtext rst
ruby rb rake gemspec ru podspec erb
rust rs
scala scala sc sbt
scheme scm ss
scss scss sass
shell sh bash zsh ksh ash bats
solidity sol
sql sql ddl dml psql pgsql mysql
svelte svelte
swift swift
systemverilog sv svh
tcl tcl
terraform tfstate
text txt text log
toml toml
typescript ts tsx mts cts
verilog v
vhdl vhd vhdl
vim vim
vue vue
wasm wat
xml xml xsd xsl xslt svg plist csproj fsproj vbproj vcxproj props targets resx wsdl rss atom pom xaml
yaml yaml yml
zig zig zon
`

// byName has a line for each language: its name, then whole names of files in lower case.
const byName = `
cmake cmakelists.txt
dockerfile dockerfile containerfile
gomod go.mod go.work
ini .editorconfig .gitconfig .npmrc .pylintrc .flake8 .coveragerc setup.cfg .gitmodules
javascript jakefile
json .babelrc .eslintrc .prettierrc .swcrc .jshintrc .watchmanconfig composer.lock pipfile.lock flake.lock deno.lock
groovy jenkinsfile
makefile makefile gnumakefile bsdmakefile kbuild justfile
meson meson.build meson_options.txt
perl cpanfile
python sconstruct sconscript wscript snakefile
r .rprofile
ruby gemfile rakefile vagrantfile guardfile podfile fastfile brewfile capfile .irbrc
shell .bashrc .bash_profile .bash_aliases .bash_logout .profile .zshrc .zshenv .zprofile .kshrc .envrc apkbuild pkgbuild
starlark build.bazel workspace.bazel build workspace buck tiltfile
text license copying notice authors readme codeowners .gitignore .gitattributes .dockerignore .npmignore .eslintignore .prettierignore go.sum gemfile.lock requirements.txt
toml cargo.lock poetry.lock pipfile uv.lock
vim .vimrc
xml nuget.config packages.config web.config app.config
yaml yarn.lock .clang-format .clang-tidy .yamllint pubspec.lock
`

// byOtherName has what shebang lines and modelines call a language, where that is neither its name nor an extension.
const byOtherName = `
awk gawk mawk nawk
cpp c++
csharp c#
erlang escript
fsharp f#
fortran gfortran
javascript node nodejs bun js2 javascriptreact rhino
julia julia
lisp emacs-lisp sbcl
makefile make gmake
objectivec objc objective-c
ocaml ocaml
perl perl5 cperl
powershell pwsh
r rscript
ruby jruby rbx
scheme guile
shell dash sh-mode shell-script busybox
swift swift
tcl tclsh wish expect
typescript deno ts-node tsx typescriptreact
`

var (
	extensions = sync.OnceValue(func() map[string]string { return readTable(byExtension) })
	fileNames  = sync.OnceValue(func() map[string]string { return readTable(byName) })
	otherNames = sync.OnceValue(func() map[string]string { return readTable(byOtherName) })
	// allLanguages are the names themselves.
	allLanguages = sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for _, table := range []string{byExtension, byName, byOtherName} {
			for line := range strings.Lines(strings.TrimSpace(table)) {
				all[strings.Fields(line)[0]] = true
			}
		}
		return all
	})
)

// readTable turns lines of a value and its keys into a map.
func readTable(table string) map[string]string {
	byKey := map[string]string{}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		words := strings.Fields(line)
		for _, key := range words[1:] {
			byKey[key] = words[0]
		}
	}
	return byKey
}
