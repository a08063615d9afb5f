package app

import (
	"context"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// MayRecord keeps the promise of cli.Identity.
func (i *identities) MayRecord() error {
	if err := i.app.options.Audit.Ready(time.Now()); err != nil {
		return contract.Errorf(contract.Unavailable, "The audit record cannot be kept, so nothing was done; try again later").Because(err)
	}
	return nil
}

// Record keeps the promise of cli.Identity.
func (i *identities) Record(ctx context.Context, deed, by string, about ...jsontree.Member) error {
	return i.app.options.Audit.Write(ctx, &audit.Record{
		Time: time.Now(), Principal: by, Face: "cli", Tool: deed, Outcome: "ok", Arguments: jsontree.Obj(about...),
	}, true)
}
