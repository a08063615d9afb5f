package contract

import (
	"slices"
	"strings"

	"remit/internal/contract/jsontree"
)

// Varying returns an answer with null wherever the example says that the value
// varies, so that the documented answer and a real one compare as equal. A field
// that is missing stays missing.
func (e *Example) Varying(answer jsontree.Value) jsontree.Value {
	for _, path := range e.Varies {
		answer, _ = blanked(answer, strings.Split(path, "."))
	}
	return answer
}

// blanked puts null where a path leads; a name that ends in [] leads into every
// element of a list, and [] alone into those of a bare one. It tells whether the path
// led anywhere, and leaves the members of v alone.
func blanked(v jsontree.Value, path []string) (blank jsontree.Value, found bool) {
	if len(path) == 0 {
		return jsontree.Value{}, true
	}
	name, each := strings.CutSuffix(path[0], "[]")
	if v.Kind == jsontree.Array && name == "" && each {
		return blankedEach(v, path[1:])
	}
	i := slices.IndexFunc(v.Members, func(m jsontree.Member) bool { return m.Key == name })
	if v.Kind != jsontree.Object || i < 0 || each && v.Members[i].Value.Kind != jsontree.Array {
		return v, false
	}
	v.Members, v.Raw = slices.Clone(v.Members), nil
	below := &v.Members[i].Value
	if !each {
		*below, found = blanked(*below, path[1:])
		return v, found
	}
	*below, found = blankedEach(*below, path[1:])
	return v, found
}

func blankedEach(list jsontree.Value, path []string) (blank jsontree.Value, found bool) {
	list.Members, list.Raw = slices.Clone(list.Members), nil
	for i := range list.Members {
		var here bool
		list.Members[i].Value, here = blanked(list.Members[i].Value, path)
		found = found || here
	}
	return list, found
}
