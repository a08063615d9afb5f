package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/contract"
)

// Process is a running Remit that uses the data folder.
type Process struct {
	Owner   string    `json:"owner"` // identifies it in audit records
	PID     int       `json:"pid"`
	Command string    `json:"command,omitempty"` // serve, stdio
	Address string    `json:"address,omitempty"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
}

// Report says what runs in a workspace, on what storage, and how full that is. Numbers that cannot
// be determined are missing.
type Report struct {
	Version   string         `json:"version"`
	Root      string         `json:"root"`
	Processes []Process      `json:"processes"`
	Data      FolderReport   `json:"data"`
	Database  DatabaseReport `json:"database"`
	Memory    MemoryReport   `json:"memory"`
	Books     BooksReport    `json:"books"`
	Audit     AuditReport    `json:"audit"`
	Waiting   int            `json:"approvals_waiting"`
	// LastBackup is when the last backup was made, if that is known.
	LastBackup time.Time `json:"last_backup,omitzero"`
	Problems   []Check   `json:"problems"`
}

// FolderReport describes the data folder.
type FolderReport struct {
	Folder string `json:"folder"`
	Exists bool   `json:"exists"`
	Bytes  int64  `json:"bytes"`
	Free   int64  `json:"free_bytes,omitempty"`
	Disk   int64  `json:"disk_bytes,omitempty"`
}

// DatabaseReport describes the database.
type DatabaseReport struct {
	URL   string `json:"url"` // without the password
	Bytes int64  `json:"bytes"`
	Tasks int64  `json:"tasks"`
}

// MemoryReport describes the memory files.
type MemoryReport struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// BooksReport describes the library.
type BooksReport struct {
	Places []string `json:"places"`
	Books  int      `json:"books"`
	Bytes  int64    `json:"bytes,omitempty"` // of a folder
}

// AuditReport describes the audit records.
type AuditReport struct {
	Days    int    `json:"days"`
	First   string `json:"first,omitempty"`
	Last    string `json:"last,omitempty"`
	Records int64  `json:"records,omitempty"` // 0 if there are too many to count
	Bytes   int64  `json:"bytes"`
}

// Reporter is a workspace that can report its status.
type Reporter interface {
	Report(ctx context.Context) Report
}

func (p *Program) statusCommand() *cobra.Command {
	return p.withJSON("print as JSON", &cobra.Command{
		Use:        "status",
		SuggestFor: []string{"info", "ps"},
		Args:       cobra.NoArgs,
		RunE: p.with(func(cmd *cobra.Command, w Workspace, _ []string) error {
			reporter, ok := w.(Reporter)
			if !ok {
				return fmt.Errorf("this workspace has no status")
			}
			r := reporter.Report(cmd.Context())
			r.Version = p.Version
			return p.show(r, func() { p.printReport(&r) })
		}),
	})
}

func (p *Program) printReport(r *Report) {
	t := table{colour: p.colours()}
	for _, process := range r.Processes {
		t.add("running", p.describe(&process))
	}
	if len(r.Processes) == 0 {
		t.add("running", "nothing in "+r.Root)
	}
	t.add("data", r.Data.describe())
	t.add("database", fmt.Sprintf("%s: %s, %s", r.Database.URL, contract.Count(int(r.Database.Tasks), "task"), size(r.Database.Bytes)))
	t.add("memory", fmt.Sprintf("%s, %s", contract.Count(int(r.Memory.Files), "file"), size(r.Memory.Bytes)))
	books := strings.Join(r.Books.Places, ", ") + ": " + contract.Count(r.Books.Books, "book")
	if r.Books.Bytes > 0 {
		books += ", " + size(r.Books.Bytes)
	}
	t.add("books", books)
	t.add("audit", r.Audit.describe())
	t.add("approvals", fmt.Sprintf("%d waiting", r.Waiting))
	backup := "none known"
	if !r.LastBackup.IsZero() {
		backup = p.moment(r.LastBackup.Format(time.RFC3339))
	}
	t.add("last backup", backup)
	if len(r.Problems) == 0 {
		t.add("problems", "none")
	}
	for _, c := range r.Problems {
		t.add("problem", c.Name+": "+c.Finding)
		t.paint(0, map[Status]paint{StatusFail: red, StatusWarn: yellow}[c.Status])
	}
	t.write(p.Stdout)
	if len(r.Problems) > 0 {
		fmt.Fprintln(p.Stdout, p.hint("\n\"remit doctor\" says what to do."))
	}
}

// describe returns a line about a process.
func (p *Program) describe(r *Process) string {
	what := strings.TrimSpace(r.Command + " " + r.Address)
	if what == "" {
		what = "a command"
	}
	return fmt.Sprintf("%s, pid %d, version %s, since %s", what, r.PID, r.Version, p.moment(r.Started.Format(time.RFC3339)))
}

func (f *FolderReport) describe() string {
	if !f.Exists {
		return f.Folder + ": nothing is stored yet"
	}
	text := f.Folder + ": " + size(f.Bytes)
	if f.Disk > 0 {
		text += fmt.Sprintf(", %s of %s free on its disk", size(f.Free), size(f.Disk))
	}
	return text
}

func (a *AuditReport) describe() string {
	if a.Days == 0 {
		return "no records"
	}
	text := fmt.Sprintf("%s from %s to %s, %s", contract.Count(a.Days, "day"), a.First, a.Last, size(a.Bytes))
	if a.Records > 0 {
		text = contract.Count(int(a.Records), "record") + ", " + text
	}
	return text
}
