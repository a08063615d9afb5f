package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/frontends/cli"
	"remit/internal/stores/sqlstore"
)

var _ cli.Reporter = (*App)(nil)

// describeProcess makes this process known to "remit status". It fails silently where nothing can
// be written, because a server may only read.
func (a *App) describeProcess(command, address string) {
	if err := a.process.describe(command, address); err != nil {
		a.log.Debug("cannot create the file of this process", "error", err)
	}
}

// Report returns the status of the workspace. What cannot be read is a problem in the report.
func (a *App) Report(ctx context.Context) cli.Report {
	r := cli.Report{Root: a.settings.Root, Processes: []cli.Process{}, Problems: []cli.Check{}}
	for _, c := range a.Checks(ctx, false) {
		if c.Status != cli.StatusOK {
			r.Problems = append(r.Problems, c)
		}
	}
	problem := func(name string, err error) {
		if err != nil {
			r.Problems = append(r.Problems, cli.Check{Name: name, Status: cli.StatusFail, Finding: err.Error()})
		}
	}
	running, err := a.process.running()
	r.Processes = append(r.Processes, running...)
	problem("processes", err)
	r.Data = a.reportData()
	counts, err := a.reportDatabase(ctx, &r)
	problem("counts", err)
	problem("audit", a.reportAudit(ctx, &r.Audit, counts))
	problem("memory", a.reportMemory(&r.Memory, counts))
	problem("books", a.reportBooks(ctx, &r.Books))
	r.LastBackup = a.lastBackup()
	return r
}

func (a *App) reportData() cli.FolderReport {
	r := cli.FolderReport{Folder: a.settings.Data}
	if _, err := os.Stat(a.settings.Data); err == nil {
		r.Exists = true
		r.Bytes, _ = folderSize(a.settings.Data)
		r.Free, r.Disk = diskSpace(a.settings.Data)
	}
	return r
}

// reportDatabase fills in the database and the requests that wait for approval.
func (a *App) reportDatabase(ctx context.Context, r *cli.Report) (counts sqlstore.Counts, err error) {
	for _, v := range a.settings.Values() {
		switch v.Key {
		case "database":
			r.Database.URL = v.Value
		case "books":
			r.Books.Places = strings.Split(v.Value, ",")
		}
	}
	if !a.database.exists() || !a.databaseAnswers(ctx) {
		return counts, nil // the check of the database says so
	}
	db, err := a.database.open(ctx)
	if err != nil {
		return counts, err
	}
	if counts, err = db.Counts(ctx); err != nil {
		return counts, err
	}
	r.Database.Bytes, r.Database.Tasks = counts.Bytes, counts.Tasks
	waiting, err := db.Approvals().List(ctx, approval.ListOptions{Now: time.Now(), Limit: maxWaiting})
	r.Waiting = len(waiting)
	return counts, err
}

func (a *App) databaseAnswers(ctx context.Context) bool { return a.database.answers(ctx) == nil }

// maxCounted is the size of audit files up to which their records are counted.
const maxCounted = 256 << 20

func (a *App) reportAudit(ctx context.Context, r *cli.AuditReport, counts sqlstore.Counts) error {
	if a.database.isShared() && !a.databaseAnswers(ctx) {
		return nil // the check of the database says so
	}
	days, err := a.storage.audit.Days(ctx)
	if err != nil || len(days) == 0 {
		return err
	}
	r.Days, r.First, r.Last, r.Bytes, r.Records = len(days), days[0].Name, days[len(days)-1].Name, sizeOf(days), counts.Records
	if a.database.isShared() || r.Bytes > maxCounted {
		return nil
	}
	for _, day := range days {
		n, err := countLines(filepath.Join(a.settings.Data, "audit", audit.FileOf(day.Name)))
		if err != nil {
			return err
		}
		r.Records += n
	}
	return nil
}

// countLines counts the lines of a file.
func countLines(path string) (n int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for buffer := make([]byte, 64<<10); ; {
		read, err := file.Read(buffer)
		n += int64(bytes.Count(buffer[:read], []byte{'\n'}))
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

func (a *App) reportMemory(r *cli.MemoryReport, counts sqlstore.Counts) error {
	if a.database.isShared() {
		r.Files, r.Bytes = counts.MemoryFiles, counts.MemoryBytes
		return nil
	}
	entries, err := os.ReadDir(filepath.Join(a.settings.Root, filepath.FromSlash(memoryFolder)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			r.Files++
			r.Bytes += info.Size()
		}
	}
	return err
}

func (a *App) reportBooks(ctx context.Context, r *cli.BooksReport) error {
	if !a.hasBooks() {
		return nil
	}
	if err := a.stores.ping(ctx); err != nil {
		return nil //nolint:nilerr // the check of the books says so
	}
	list, err := a.books.Books(ctx)
	r.Books = len(list)
	for _, place := range a.settings.Books {
		if folder, ok := strings.CutPrefix(place, folderScheme); ok {
			n, sizeErr := folderSize(folder)
			r.Bytes += n
			err = errors.Join(err, sizeErr)
		}
	}
	return err
}

// folderSize returns how many bytes the files beneath a folder have.
func folderSize(folder string) (size int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed since the folder was listed, or there is none
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size, err
}
