package imports

import "bytes"

// The ways to import on the web. The zero kind is that of import and export statements, and of import().
const (
	jsTypeOnly  kind = iota + 1 // import type, export type, declare module
	jsRequire                   // require(), require.resolve(), import x = require()
	jsURL                       // new URL("x", import.meta.url): always a path
	jsReference                 // /// <reference path="x" />: always a path
	cssImport                   // @import, @use, @forward, composes
	cssURL                      // url(x): always a path
	htmlLink                    // src and href: always a path, / being the top of the site
)

// resolveWeb finds the files that the specs of one file mean.
func resolveWeb(files Files, from string, specs []spec) []string {
	return resolveEach(specs, newNodeResolver(files, from).resolve)
}

// webLines tells the lines of places that are asked for in order.
type webLines struct {
	src   []byte
	place int
	lines int // how many lines end before place
}

// of gives the line of a place, the first being 1.
func (l *webLines) of(place int) int {
	if place > l.place {
		l.lines += bytes.Count(l.src[l.place:place], []byte("\n"))
		l.place = place
	}
	return l.lines + 1
}
