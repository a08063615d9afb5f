package engine

import (
	"context"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// LinkKind says what a link is for, as records name it.
type LinkKind string

// The kinds of links.
const (
	UploadLink  LinkKind = "links/upload"
	ArchiveLink LinkKind = "links/archive"
	AssetLink   LinkKind = "links/asset"
)

// LinkUse is one use of a link that a tool returned.
type LinkUse struct {
	Kind      LinkKind
	Principal string // who got the link; "" if that is not known, as for a forged one
	Client    string // the client's own name
	Link      string // the id of the link; "" if it has none
	Path      string // what the link is for
	Address   string // of the client
	Started   time.Time
	Size      int64 // the bytes of an upload
	Sent      int64 // the bytes of the answer
	// Admitted means that the link was valid. All such uses are recorded; of others at most
	// maxRefusals of each kind per minute.
	Admitted bool
	Effect   bool  // something may have been stored, so the record is durable
	Err      error // why it failed

	effect *audit.Effect // nil unless LinkContext was called
}

// record returns the record of a use that succeeded.
func (u *LinkUse) record() *audit.Record {
	args := jsontree.Obj(jsontree.M("path", jsontree.Str(truncate(u.Path))), jsontree.M("address", jsontree.Str(u.Address)))
	if u.Link != "" {
		args.Members = append(args.Members, jsontree.M("link", jsontree.Str(u.Link)))
	}
	if u.Kind == UploadLink && u.Admitted {
		args.Members = append(args.Members, jsontree.M("size", jsontree.Int(u.Size)))
	}
	return &audit.Record{
		Time: u.Started, Principal: u.Principal, Frontend: "http", Client: truncate(u.Client), Tool: string(u.Kind),
		Arguments: args, Outcome: "ok",
	}
}

// LinkContext returns a context in which a use of a link may change something. RecordLink must
// follow.
func (e *Engine) LinkContext(ctx context.Context, u *LinkUse) context.Context {
	u.effect = audit.NewEffect(u.record(), e.Audit)
	return audit.WithEffect(ctx, u.effect)
}

// RecordLink records the use of a link. The error means that the record of an
// effect could not be written.
func (e *Engine) RecordLink(ctx context.Context, u *LinkUse) error {
	now, record := e.Now(), u.record()
	add := func(name string, value jsontree.Value) {
		record.Arguments.Members = append(record.Arguments.Members, jsontree.M(name, value))
	}
	if u.Err != nil {
		failure := contract.AsError(u.Err)
		record.Outcome = string(failure.Kind)
		add("reason", jsontree.Str(failure.Message))
	}
	if !u.Admitted {
		left, ok := e.refusals.due(RefusalKind(string(u.Kind)+" "+u.Principal), now)
		if !ok {
			return nil
		}
		if left > 0 {
			add("left_out", jsontree.Int(int64(left)))
		}
	}
	record.Duration, record.Bytes = now.Sub(u.Started), int(u.Sent)
	u.effect.AddTo(record)
	durable := u.Effect && !u.effect.HasBegun()
	err := e.writeAudit(ctx, record, durable)
	e.Log.DebugContext(ctx, "link", "tool", record.Tool, "caller", u.Principal, "outcome", record.Outcome, "took", record.Duration, "bytes", u.Sent)
	if !durable {
		return nil // writeAudit has logged it
	}
	return err
}

// truncate returns the beginning of a text that a client sent, for a record.
func truncate(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxNameLength)], "")
}
