package app

import (
	"context"
	"errors"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// SignOut keeps the promise of cli.Identity.
func (i *identities) SignOut(ctx context.Context, name, by string) (ended int, err error) {
	ended, err = i.signIn.SignOut(ctx, name)
	if ended == 0 {
		return 0, err
	}
	recorded := i.app.options.Audit.Write(ctx, &audit.Record{
		Time: time.Now(), Principal: by, Face: "cli", Tool: "token/signout", Outcome: "ok",
		Arguments: jsontree.Obj(jsontree.M("name", jsontree.Str(name)), jsontree.M("sessions", jsontree.Int(int64(ended)))),
	}, true)
	return ended, errors.Join(err, recorded)
}
