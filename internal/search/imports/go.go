package imports

import (
	"bytes"
	"errors"
	"go/parser"
	goscanner "go/scanner"
	gotoken "go/token"
	"strconv"
)

// extractGo reads the import declarations of a Go file. Patterns of //go:embed are no imports.
func extractGo(content []byte) ([]spec, error) {
	fset := gotoken.NewFileSet()
	file, err := parser.ParseFile(fset, "", content, parser.ImportsOnly|parser.SkipObjectResolution)
	if err != nil {
		return nil, goSyntaxError(content, err)
	}
	var specs []spec
	for _, s := range file.Imports {
		name, err := strconv.Unquote(s.Path.Value)
		if err == nil && name != "C" {
			specs = append(specs, spec{text: name, line: fset.PositionFor(s.Pos(), false).Line})
		}
	}
	return specs, nil
}

// goSyntaxError takes the first complaint of Go's parser. The line is counted here, because the parser's own may come
// from a //line comment.
func goSyntaxError(content []byte, err error) error {
	var list goscanner.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return &SyntaxError{Line: 1, Why: err.Error()}
	}
	offset := min(max(list[0].Pos.Offset, 0), len(content))
	return &SyntaxError{Line: 1 + bytes.Count(content[:offset], []byte("\n")), Why: list[0].Msg}
}
