package auditindex

import (
	"bytes"
	"context"
	"time"

	"remit/internal/contract/jsontree"
)

// Effects returns the records, oldest first and each with its id, that say what a call has changed
// or was about to change, if fits accepts that. It looks at records from the day of since on whose
// text contains the text, which is a part of the effect as records hold it. The zero since means
// all. Effects reads all records of these days.
func (x *Index) Effects(
	ctx context.Context, since time.Time, text string, fits func(effect *jsontree.Value) bool,
) (found []jsontree.Value, err error) {
	days, err := x.Records.Days(ctx)
	if err != nil {
		return nil, err
	}
	first := ""
	if !since.IsZero() {
		first = since.UTC().Format(time.DateOnly)
	}
	mark := []byte(text)
	// Parsing takes much longer than the search for a text, and few records match.
	mayMatch := func(line []byte) bool { return bytes.Contains(line, mark) }
	for _, day := range days {
		if day.Name < first {
			continue
		}
		_, err := x.each(ctx, day.Name, 0, mayMatch, func(record jsontree.Value, c *Call) error {
			if effect := record.Field("effect"); effect.Kind == jsontree.Object && fits(&effect) {
				found = append(found, withID(record, idOf(c.Position, c.Mark)))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
