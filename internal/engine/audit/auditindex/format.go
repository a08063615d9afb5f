package auditindex

import (
	"encoding/csv"
	"io"
	"strings"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// LinePrinter returns a function that writes records as JSON, one line each.
func LinePrinter(to io.Writer) func(jsontree.Value) error {
	return func(r jsontree.Value) error {
		_, err := to.Write(append(r.Append(nil), '\n'))
		return err
	}
}

// csvColumns are the members of a record in the CSV format, in order. New ones come last.
var csvColumns = []string{
	"time", "principal", "frontend", "client", "tool", "version", "outcome", "approved", "request", "call", "micros", "bytes", "id", "arguments",
	"session", "code", "message",
}

// CSVPrinter writes the names of the columns and returns a function that writes records as CSV, one
// row each.
func CSVPrinter(to io.Writer) func(jsontree.Value) error {
	w := csv.NewWriter(to)
	_ = w.Write(csvColumns) // the writer keeps the error
	w.Flush()
	return func(r jsontree.Value) error {
		_ = w.Write(csvCells(&r))
		w.Flush()
		return w.Error()
	}
}

// csvCells returns a record as a row of CSV. A value that a spreadsheet would take for a formula
// gets an apostrophe.
func csvCells(r *jsontree.Value) []string {
	cells := make([]string, len(csvColumns))
	for i, column := range csvColumns {
		value := r.Field(column)
		switch {
		case column == "frontend":
			cells[i] = audit.FrontendOf(r)
		case value.Kind == jsontree.Object:
			cells[i] = string(value.Append(nil))
		default:
			cells[i] = value.Text
		}
		if cells[i] != "" && strings.ContainsRune("=+-@\t\r", rune(cells[i][0])) {
			cells[i] = "'" + cells[i]
		}
	}
	return cells
}
