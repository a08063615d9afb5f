package contracttest

import (
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// Varying returns an answer with null for every field that the example lists as varying, so that
// the documented answer and a real one are equal. A missing field stays missing.
func Varying(e *contract.Example, answer jsontree.Value) jsontree.Value {
	for _, path := range e.Varies {
		answer = blanked(answer, strings.Split(path, "."))
	}
	return answer
}

// blanked puts null at a path. A name that ends in [] stands for every element of a list, and []
// alone for those of a bare one. It does not change the members of v.
func blanked(v jsontree.Value, path []string) jsontree.Value {
	if len(path) == 0 {
		return jsontree.Value{}
	}
	name, each := strings.CutSuffix(path[0], "[]")
	if v.Kind == jsontree.Array && name == "" && each {
		return blankedEach(v, path[1:])
	}
	i := slices.IndexFunc(v.Members, func(m jsontree.Member) bool { return m.Key == name })
	if v.Kind != jsontree.Object || i < 0 || each && v.Members[i].Value.Kind != jsontree.Array {
		return v
	}
	v.Members, v.Raw = slices.Clone(v.Members), nil
	below := &v.Members[i].Value
	if each {
		*below = blankedEach(*below, path[1:])
	} else {
		*below = blanked(*below, path[1:])
	}
	return v
}

func blankedEach(list jsontree.Value, path []string) jsontree.Value {
	list.Members, list.Raw = slices.Clone(list.Members), nil
	for i := range list.Members {
		list.Members[i].Value = blanked(list.Members[i].Value, path)
	}
	return list
}
