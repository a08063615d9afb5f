package tasks

import (
	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// reader is what offers tasks besides the tools. Whatever it gives is what list_tasks
// may give, so that one rule of the operator goes for all.
type reader struct {
	*Tools
	listing *contract.Contract // of list_tasks
}

// reader is nil if list_tasks is not served.
func (t *Tools) reader() *reader {
	for _, set := range t.Served {
		if listing := set.Find(listTool); set.Name == setName && listing != nil {
			return &reader{t, listing}
		}
	}
	return nil
}

// check refuses a user that list_tasks would refuse.
func (r *reader) check(user string) error {
	_, err := r.listing.Accept(jsontree.Obj(jsontree.M("user_id", jsontree.Str(user))))
	return err
}
