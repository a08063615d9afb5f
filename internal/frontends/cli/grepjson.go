package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"remit/internal/toolsets/codebase"
)

// grepStats counts what a search found and printed.
type grepStats struct {
	Elapsed      jsonDuration `json:"elapsed"`
	Searches     int          `json:"searches"`
	WithMatch    int          `json:"searches_with_match"`
	Searched     int64        `json:"bytes_searched"`
	Printed      int          `json:"bytes_printed"`
	MatchedLines int          `json:"matched_lines"`
	Matches      int          `json:"matches"`
}

// add counts the matches in a part of a file.
func (s *grepStats) add(f codebase.Found) {
	for i := range f.Lines {
		s.MatchedLines += lineCount(f.Lines[i].Text)
		s.Matches += len(f.Lines[i].Spans)
	}
}

// jsonDuration is a duration in ripgrep's format.
type jsonDuration struct {
	Secs  int64  `json:"secs"`
	Nanos int    `json:"nanos"`
	Human string `json:"human"`
}

func durationFor(d time.Duration) jsonDuration {
	return jsonDuration{int64(d / time.Second), int(d % time.Second), fmt.Sprintf("%.6fs", d.Seconds())}
}

// jsonPrinter prints ripgrep's JSON messages, one per line.
type jsonPrinter struct {
	*output
	lineWalker
	summary func() (all grepStats, elapsed time.Duration)
	quiet   bool // print only the summary

	path    jsonText
	current grepStats // of the current file
	begun   int       // number of bytes printed when the file began
	printed int       // number of bytes printed for all files, without their last message
}

// A jsonMessage is a line of the output.
type jsonMessage struct {
	Type string `json:"type"`
	Data any    `json:"data"`
}

// jsonText is a text, or bytes that are not valid UTF-8.
type jsonText struct {
	Text  *string `json:"text,omitempty"`
	Bytes []byte  `json:"bytes,omitempty"`
}

func jsonTextOf(text string) jsonText {
	if utf8.ValidString(text) {
		return jsonText{Text: &text}
	}
	return jsonText{Bytes: []byte(text)}
}

type jsonPath struct {
	Path jsonText `json:"path"`
}

// jsonLines is the data of a match or of a context line.
type jsonLines struct {
	Path       jsonText    `json:"path"`
	Lines      jsonText    `json:"lines"`
	Number     int         `json:"line_number"`
	Offset     int64       `json:"absolute_offset"`
	Submatches []jsonMatch `json:"submatches"`
}

type jsonMatch struct {
	Match jsonText `json:"match"`
	Start int      `json:"start"`
	End   int      `json:"end"`
}

// jsonEnd is the data of the message after a file.
type jsonEnd struct {
	Path         jsonText  `json:"path"`
	BinaryOffset *int64    `json:"binary_offset"`
	Stats        grepStats `json:"stats"`
}

// jsonSummary is the data of the last message. Incomplete says why not everything was searched;
// ripgrep does not have it.
type jsonSummary struct {
	ElapsedTotal jsonDuration `json:"elapsed_total"`
	Stats        grepStats    `json:"stats"`
	Incomplete   string       `json:"incomplete,omitempty"`
}

func newJSONPrinter(p jsonPrinter) *jsonPrinter {
	p.sink = &p
	return &p
}

func (p *jsonPrinter) file(f codebase.Found) bool {
	if p.quiet {
		return true
	}
	proceed := p.lineWalker.file(f)
	p.current.add(f)
	p.current.Searched = f.Bytes
	return proceed
}

func (p *jsonPrinter) begin(path string, _ bool) {
	p.path, p.begun, p.current = jsonTextOf(path), p.bytes, grepStats{Searches: 1, WithMatch: 1, Elapsed: durationFor(0)}
	p.message("begin", jsonPath{p.path})
}

func (p *jsonPrinter) gap() {}

func (p *jsonPrinter) match(l *codebase.Line) {
	found := make([]jsonMatch, len(l.Spans))
	for i, s := range l.Spans {
		found[i] = jsonMatch{jsonTextOf(l.Text[s[0]:s[1]]), s[0], s[1]}
	}
	p.message("match", jsonLines{p.path, jsonTextOf(l.Text), l.Number, l.Offset, found})
}

func (p *jsonPrinter) contextLine(number int, offset int64, text string) {
	p.message("context", jsonLines{p.path, jsonTextOf(text), number, offset, []jsonMatch{}})
}

func (p *jsonPrinter) endFile() {
	p.current.Printed = p.bytes - p.begun
	p.printed += p.current.Printed
	p.message("end", jsonEnd{Path: p.path, Stats: p.current})
}

func (p *jsonPrinter) end(s codebase.Summary) error {
	p.lineWalker.endFile()
	stats, elapsed := p.summary()
	stats.Printed = p.printed
	summary := jsonSummary{ElapsedTotal: durationFor(elapsed), Stats: stats}
	if s.Incomplete {
		summary.Incomplete = s.Reason
	}
	p.message("summary", summary)
	return p.Flush()
}

func (p *jsonPrinter) message(kind string, data any) {
	encoder := json.NewEncoder(p)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(jsonMessage{kind, data}) // the output keeps the error
}

// text returns the statistics as ripgrep prints them.
func (s grepStats) text(total time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d matches\n%d matched lines\n%d files contained matches\n%d files searched\n", s.Matches, s.MatchedLines, s.WithMatch, s.Searches)
	fmt.Fprintf(&b, "%d bytes printed\n%d bytes searched\n", s.Printed, s.Searched)
	fmt.Fprintf(&b, "%.6f seconds spent searching\n%.6f seconds total\n", float64(s.Elapsed.Secs)+float64(s.Elapsed.Nanos)/1e9, total.Seconds())
	return b.String()
}
