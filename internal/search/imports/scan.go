package imports

import "remit/internal/search/lexical"

// A scanner walks over the tokens of a file for an extractor.
type scanner struct{ *lexical.Scanner }

// scan begins at the first token of a text.
func scan(language string, content []byte) scanner {
	s := scanner{lexical.New(language, content)}
	s.Next()
	return s
}

// problem gives what the scanner found wrong so far, as an extractor returns it.
func (s scanner) problem() error { return syntaxError(s.Err) }

func syntaxError(err *lexical.Error) error {
	if err == nil {
		return nil
	}
	return &SyntaxError{Line: err.Line, Why: err.Why}
}

// isText tells whether a token is a literal whose text is what it means.
func isText(t lexical.Token) bool { return t.Kind == lexical.Text && t.Quote != 0 }
