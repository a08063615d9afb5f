package httpapi

import (
	"strconv"
	"strings"

	"remit/internal/engine/stats"
)

// exposition is text in the format of Prometheus, version 0.0.4.
type exposition struct{ text []byte }

// Names are ours; help texts and the values of labels may hold anything.
var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// family begins a metric; its samples follow.
func (e *exposition) family(name, kind, help string) {
	e.write("# HELP ", name, " ", helpEscapes.Replace(help), "\n# TYPE ", name, " ", kind, "\n")
}

// single writes a metric that has one sample.
func (e *exposition) single(name, kind, help string, value float64) {
	e.family(name, kind, help)
	e.sample(name, value)
}

// sample writes one number. Labels are names and values in turn; one without
// value says nothing and is left out.
func (e *exposition) sample(name string, value float64, labels ...string) {
	e.write(name)
	opening := "{"
	for i := 0; i+1 < len(labels); i += 2 {
		if labels[i+1] == "" {
			continue
		}
		e.write(opening, labels[i], `="`, labelEscapes.Replace(strings.ToValidUTF8(labels[i+1], "\ufffd")), `"`)
		opening = ","
	}
	if opening == "," {
		e.write("}")
	}
	e.write(" ", number(value), "\n")
}

// histogram writes the buckets, each with all that is below it, sum and count.
func (e *exposition) histogram(name string, d stats.Distribution, labels ...string) {
	var below uint64
	for i, n := range d.Counts {
		below += n
		bound := "+Inf"
		if i < len(d.Bounds) {
			bound = number(d.Bounds[i].Seconds())
		}
		e.sample(name+"_bucket", float64(below), append(labels[:len(labels):len(labels)], "le", bound)...)
	}
	e.sample(name+"_sum", d.Sum.Seconds(), labels...)
	e.sample(name+"_count", float64(below), labels...)
}

func (e *exposition) write(parts ...string) {
	for _, part := range parts {
		e.text = append(e.text, part...)
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
