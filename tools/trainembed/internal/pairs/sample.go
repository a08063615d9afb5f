package pairs

import "remit/tools/trainembed/internal/extract"

// A class is a class of pairs with its own share in each package.
type class int

const (
	goCode class = iota
	pythonCode
	scriptCode
	property
	prose
	synonym
	classes
)

func classOf(pair extract.Pair) class {
	switch pair.Kind {
	case "go":
		return goCode
	case "py":
		return pythonCode
	case "js":
		return scriptCode
	case "prop":
		return property
	case "syn":
		return synonym
	}
	return prose
}

// limit returns how many pairs of a class a package may contribute, so that a few large packages do
// not outweigh all others. Prose is scarce; JavaScript interfaces of cloud services are many and
// similar, and their properties contain little text.
func (c class) limit() int {
	switch c {
	case goCode:
		return 3000
	case pythonCode:
		return 4500
	case scriptCode:
		return 2000
	case property:
		return 150
	case synonym:
		return 100_000
	}
	return 6000
}

// sample selects the allowed number of pairs of each class, evenly spread and in their order.
func sample(all []extract.Pair) []extract.Pair {
	var count, at [classes]int
	for _, pair := range all {
		count[classOf(pair)]++
	}
	some := make([]extract.Pair, 0, len(all))
	for _, pair := range all {
		c := classOf(pair)
		limit, i := min(c.limit(), count[c]), at[c]
		at[c]++
		if i*limit/count[c] < (i+1)*limit/count[c] {
			some = append(some, pair)
		}
	}
	return some
}
