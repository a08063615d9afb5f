package outline

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
)

// outlineGo outlines Go with Go's own parser, which returns what it could parse of a file with
// errors.
func outlineGo(content []byte) []Symbol {
	files := gotoken.NewFileSet()
	file, _ := parser.ParseFile(files, "", content, parser.SkipObjectResolution|parser.AllErrors)
	if file == nil {
		return nil
	}
	g := goOutline{files: files, lines: LineCount(content)}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			g.function(d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				g.spec(d.Tok, spec)
			}
		}
	}
	return g.found
}

type goOutline struct {
	files *gotoken.FileSet
	lines int
	found []Symbol
}

func (g *goOutline) add(kind, name string, at, end gotoken.Pos) {
	line := g.files.PositionFor(at, false).Line
	last := g.files.PositionFor(end, false).Line
	g.found = append(g.found, Symbol{Kind: kind, Name: name, Line: line, End: max(line, min(last, g.lines))})
}

func (g *goOutline) function(d *ast.FuncDecl) {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		g.add("function", d.Name.Name, d.Name.Pos(), d.End())
		return
	}
	g.add("method", receiver(d.Recv.List[0].Type)+d.Name.Name, d.Name.Pos(), d.End())
}

// receiver returns the name of a receiver's type, followed by a dot.
func receiver(of ast.Expr) string {
	for range maxDepth {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.ParenExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name + "."
		default:
			return ""
		}
	}
	return ""
}

func (g *goOutline) spec(word gotoken.Token, spec ast.Spec) {
	switch d := spec.(type) {
	case *ast.TypeSpec:
		kind := "type"
		switch d.Type.(type) {
		case *ast.StructType:
			kind = "struct"
		case *ast.InterfaceType:
			kind = "interface"
		}
		g.add(kind, d.Name.Name, d.Name.Pos(), d.End())
	case *ast.ValueSpec:
		kind := "variable"
		if word == gotoken.CONST {
			kind = "constant"
		}
		for _, name := range d.Names {
			if name.IsExported() {
				g.add(kind, name.Name, name.Pos(), d.End())
			}
		}
	}
}
