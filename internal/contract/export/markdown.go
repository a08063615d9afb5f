package export

import (
	"bytes"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
)

// Reference writes the reference of the tools that are served, for people. known are
// the sets that they belong to, which have words of their own.
func Reference(known []*contract.Set, served []*contract.Contract) []byte {
	var sets []*contract.Set
	for _, set := range known {
		part := *set
		part.Contracts = nil
		for _, c := range served {
			if c.Set == set.Name {
				part.Contracts = append(part.Contracts, c)
			}
		}
		if len(part.Contracts) > 0 {
			sets = append(sets, &part)
		}
	}
	_, page, _ := bytes.Cut(catalog.Markdown(sets), []byte("\n")) // the first line is for our own repository
	return page
}
