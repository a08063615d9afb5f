package markdown

import "strings"

// cursor reads the white space at the beginning of a line by its columns: a tab leads
// to the next column that four divides.
type cursor struct {
	line   string
	at     int // in bytes
	column int
	spare  int // columns of the tab before at that are yet to be read
}

const tabStop = 4

// indent counts the columns of white space from here on.
func (c *cursor) indent() int {
	column := c.column + c.spare
	for _, b := range []byte(c.line[c.at:]) {
		switch b {
		case ' ':
			column++
		case '\t':
			column += tabStop - column%tabStop
		default:
			return column - c.column
		}
	}
	return column - c.column
}

// skip reads so many columns of white space, or as many as there are.
func (c *cursor) skip(columns int) {
	for columns > 0 {
		switch {
		case c.spare > 0:
			c.spare--
		case c.at < len(c.line) && c.line[c.at] == ' ':
			c.at++
		case c.at < len(c.line) && c.line[c.at] == '\t':
			c.at++
			c.spare = tabStop - c.column%tabStop - 1
		default:
			return
		}
		c.column++
		columns--
	}
}

func (c *cursor) skipAll() { c.skip(c.indent()) }

// take reads bytes that are no white space.
func (c *cursor) take(n int) {
	c.at += n
	c.column += n
}

// text is what follows the white space.
func (c *cursor) text() string { return strings.TrimLeft(c.line[c.at:], " \t") }

// rest is everything from here on.
func (c *cursor) rest() string { return strings.Repeat(" ", c.spare) + c.line[c.at:] }

func (c *cursor) blank() bool { return c.text() == "" }
