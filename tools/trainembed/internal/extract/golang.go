package extract

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// goPairs pairs the doc comments of a Go file with the functions and types that they describe. It
// skips generated files.
func goPairs(name, text string) []Pair {
	if generated(text) {
		return nil
	}
	files := token.NewFileSet()
	file, _ := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil {
		return nil
	}
	source := goSource{text: text, base: files.File(file.Pos())}
	var found []Pair
	if file.Doc != nil {
		found = append(found, docLeads(file.Doc.Text())...)
	}
	for _, declaration := range file.Decls {
		found = append(found, source.declared(declaration)...)
	}
	return found
}

// generated reports whether one of the first lines of a Go file says that it is generated.
func generated(text string) bool {
	head := text[:min(len(text), 2<<10)]
	return strings.Contains(head, "Code generated ") || strings.Contains(head, "DO NOT EDIT")
}

// goSource extracts declarations from the text of a Go file.
type goSource struct {
	text string
	base *token.File
}

func (s goSource) declared(declaration ast.Decl) []Pair {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		return s.documented(d.Doc, d.Name.Name, d)
	case *ast.GenDecl:
		if d.Tok != token.TYPE {
			return nil
		}
		var found []Pair
		for _, spec := range d.Specs {
			typed, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			doc := typed.Doc
			if doc == nil && len(d.Specs) == 1 {
				doc = d.Doc
			}
			found = append(found, s.documented(doc, typed.Name.Name, typed)...)
			found = append(found, s.members(typed)...)
		}
		return found
	}
	return nil
}

// members pairs the comments on the methods of an interface with their signatures.
func (s goSource) members(typed *ast.TypeSpec) []Pair {
	contract, ok := typed.Type.(*ast.InterfaceType)
	if !ok || contract.Methods == nil {
		return nil
	}
	var found []Pair
	for _, method := range contract.Methods.List {
		if method.Doc == nil || len(method.Names) != 1 {
			continue
		}
		code := typed.Name.Name + "." + s.cut(method)
		if pair, ok := codePair("go", withoutName(method.Doc.Text(), method.Names[0].Name), code); ok {
			found = append(found, pair)
		}
	}
	return found
}

// documented pairs a doc comment with its declaration, and the sentences of a long comment with
// each other.
func (s goSource) documented(doc *ast.CommentGroup, name string, node ast.Node) []Pair {
	if doc == nil {
		return nil
	}
	code := s.cut(node)
	switch d := node.(type) {
	case *ast.FuncDecl:
		code = s.between(d.Type.Pos(), d.End())
	case *ast.TypeSpec:
		code = "type " + code
	}
	text := doc.Text()
	pair, ok := codePair("go", withoutName(text, name), code)
	if !ok {
		return nil
	}
	return append([]Pair{pair}, docLeads(text)...)
}

func (s goSource) cut(node ast.Node) string { return s.between(node.Pos(), node.End()) }

// between returns the text between two positions, limited in length. In a broken file the positions
// may be invalid.
func (s goSource) between(from, to token.Pos) string {
	start, end := int(from)-s.base.Base(), int(to)-s.base.Base()
	if start < 0 || end < start || start > len(s.text) {
		return ""
	}
	return s.text[start:min(end, len(s.text), start+2*maxB)]
}
