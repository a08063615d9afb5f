package engine

import (
	"errors"
	"fmt"
	"slices"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/identity"
)

// Reach returns a contract.Denied error, for a *identity.ScopeError, unless a grant has
// the scope that the tool asks for.
func (t *Tool) Reach(g *identity.Grant) error {
	if t.Access == contract.Public {
		return nil
	}
	return beyond(g.Allows(t.Set, !t.Hints.ReadOnly), t.Name)
}

// beyond words what a token does not reach.
func beyond(err error, what string) error {
	missing, ok := errors.AsType[*identity.ScopeError](err)
	if !ok {
		return err
	}
	why := fmt.Sprintf("%s needs a token with the scope %s", what, missing.Needs)
	return contract.Errorf(contract.Denied, "%s", why).With("details", why).Because(err)
}

// owned are the arguments with the caller's own user in them, if a token is bound to
// one and they name none.
func (w *work) owned() jsontree.Value {
	args, g := w.call.Args, w.call.Grant
	if w.tool.Owner == "" || g == nil || g.User == "" || g.User == identity.AnyUser || args.Kind != jsontree.Object {
		return args
	}
	if _, named := args.Get(w.tool.Owner); named {
		return args
	}
	args.Members = append(slices.Clip(args.Members), jsontree.M(w.tool.Owner, jsontree.Str(g.User)))
	return args
}

// owner keeps a caller from what belongs to other users.
func (w *work) owner(args *jsontree.Value) error {
	if w.tool.Owner == "" {
		return nil
	}
	return w.call.Grant.ActsFor(args.Field(w.tool.Owner).Text)
}
