package sqlstore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/engine/audit/ledger"
)

// Records keeps the audit records in PostgreSQL, in one hash chain for all who share
// the database: whoever appends holds the row that knows the last hash.
type Records struct {
	source Source
	lost   func(error)
	queue  lineQueue

	mu   sync.Mutex
	told time.Time // when lost was last called
}

var _ audit.Keeper = (*Records)(nil)

// Records returns the audit records in a database of PostgreSQL. lost is told, once a
// minute at most, that records which nobody waited for were not kept.
func (s Source) Records(lost func(error)) *Records {
	r := &Records{source: s, lost: lost}
	r.queue.store = r.store
	return r
}

const (
	auditChain = "audit"  // the log that counts all records, and knows the last
	auditDays  = "audit/" // and the day of each
)

const countDay = `
INSERT INTO logs AS l (log, lines, bytes, changed_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (log) DO UPDATE SET lines = l.lines + excluded.lines, bytes = l.bytes + excluded.bytes,
	changed_at = greatest(l.changed_at + 1, excluded.changed_at)`

// Ready keeps the promise of audit.Keeper. Once the database was reached that is all it
// asks: what a call changes is there too, so while it is lost nothing changes.
func (r *Records) Ready(string) error {
	if r.queue.isClosed() {
		return ErrClosed
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := r.source(ctx)
	return err
}

// Keep keeps the promise of audit.Keeper.
func (r *Records) Keep(day string, record []byte, durable bool) (func(context.Context) error, error) {
	if r.queue.isClosed() {
		return nil, ErrClosed
	}
	return r.queue.append(&entry{body: record, day: day, durable: durable}).wait, nil
}

// store adds a batch to the chain, and tells of what is lost.
func (r *Records) store(ctx context.Context, batch []*entry) error {
	db, err := r.source(ctx)
	if err == nil {
		err = db.change(ctx, func(ctx context.Context, tx runner) error { return chain(ctx, tx, batch) })
	}
	if err != nil {
		err = fmt.Errorf("keep audit records: %w", err)
		r.tell(batch, err)
	}
	return err
}

// chain adds a batch to the chain.
func chain(ctx context.Context, tx runner, batch []*entry) error {
	count, _, err := lockCount(ctx, tx, auditChain, time.Now())
	if err != nil {
		return fmt.Errorf("lock the chain: %w", err)
	}
	link := tipOf(count.tip)
	var rows logRows
	days := map[string]*logCount{}
	for _, e := range batch {
		line := link.follow(e)
		count.add(line)
		if days[link.day] == nil {
			days[link.day] = &logCount{}
		}
		days[link.day].add(line)
		rows.add(auditDays+link.day, count.lines, line)
	}
	count.tip = []byte(link.day + " " + link.hash)
	return keepRecords(ctx, tx, rows, count, days)
}

// chainLink is where the chain ends.
type chainLink struct{ day, hash string }

func tipOf(tip []byte) chainLink {
	if len(tip) == 0 {
		return chainLink{hash: audit.Genesis}
	}
	day, hash, _ := strings.Cut(string(tip), " ")
	return chainLink{day, hash}
}

// follow seals a record into the chain. It goes to the day that the chain has come
// to: a call may end after midnight that began before.
func (c *chainLink) follow(e *entry) []byte {
	line := audit.Seal(c.hash, e.body)
	*c = chainLink{max(c.day, e.day), audit.HashOf(line)}
	return line
}

func keepRecords(ctx context.Context, tx runner, rows logRows, count logCount, days map[string]*logCount) error {
	if err := rows.store(ctx, tx); err != nil {
		return err
	}
	now := time.Now()
	for day, c := range days { // all rows are those of whoever has locked the chain
		if _, err := tx.ExecContext(ctx, countDay, auditDays+day, c.lines, c.bytes, micros(now)); err != nil {
			return fmt.Errorf("count the records of a day: %w", err)
		}
	}
	return keepCount(ctx, tx, auditChain, count, now)
}

// tell speaks for the records that nobody waits for.
func (r *Records) tell(batch []*entry, err error) {
	waited := true
	for _, e := range batch {
		waited = waited && e.durable
	}
	r.mu.Lock()
	now := time.Now()
	silent := waited || r.lost == nil || now.Sub(r.told) < time.Minute
	if !silent {
		r.told = now
	}
	r.mu.Unlock()
	if !silent {
		r.lost(err)
	}
}

// Close keeps what is queued. It also tells whether a record that nobody waited for
// could not be kept.
func (r *Records) Close() error { return r.queue.close() }

// AuditFiles gives the records as the folder of day files that they would be on a disk.
func (s Source) AuditFiles() fs.FS { return auditFolder{s} }

// auditFolder can be listed, and its files read from start to end, or from a place on.
type auditFolder struct{ source Source }

var _ fs.ReadDirFS = auditFolder{}

const listDays = `
SELECT log, bytes, changed_at FROM logs
WHERE starts_with(log, 'audit/')`

const linesFrom = `
SELECT line, body FROM log_lines
WHERE log = $1 AND line >= $2 ORDER BY line LIMIT 1000`

const linesBefore = `
SELECT line, body FROM log_lines
WHERE log = $1 AND line < $2 ORDER BY line DESC LIMIT 1000`

// ReadDir lists the files of all days.
func (f auditFolder) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	days, err := f.days()
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	list := make([]fs.DirEntry, len(days))
	for i, day := range days {
		list[i] = fs.FileInfoToDirEntry(day)
	}
	return list, nil
}

func (f auditFolder) days() ([]logInfo, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	db, err := f.source(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := db.reader(ctx).QueryContext(ctx, listDays)
	if err != nil {
		return nil, db.plain(err)
	}
	return collect(rows, func(row scanner) (info logInfo, err error) {
		var changed int64
		err = row.Scan(&info.name, &info.size, &changed)
		info.name = audit.FileOf(strings.TrimPrefix(info.name, auditDays))
		info.changed = time.UnixMicro(changed).UTC()
		return info, err
	})
}

// Open opens the file of a day.
func (f auditFolder) Open(name string) (fs.File, error) {
	days, err := f.days()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	for _, day := range days {
		if day.name == name {
			return &dayFile{source: f.source, info: day}, nil
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// dayFile reads the records of a day, some at a time.
type dayFile struct {
	source Source
	info   logInfo
	next   int64 // the line to go on at
	text   bytes.Buffer
}

var _ ledger.Lines = (*dayFile)(nil)

func (d *dayFile) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *dayFile) Close() error               { return nil }

func (d *dayFile) Read(p []byte) (int, error) {
	if d.text.Len() == 0 {
		if err := d.fill(); err != nil {
			return 0, err
		}
	}
	if len(p) > 0 && d.text.Len() == 0 {
		return 0, io.EOF
	}
	return d.text.Read(p)
}

func (d *dayFile) fill() error {
	lines, err := d.From(d.next)
	for _, line := range lines {
		d.text.Write(line.Text)
		d.text.WriteByte('\n')
		d.next = line.Next
	}
	return err
}

// From keeps the promise of ledger.Lines: the place of a line is its number.
func (d *dayFile) From(place int64) ([]ledger.Line, error) { return d.lines(linesFrom, place) }

// Before keeps the promise of ledger.Lines.
func (d *dayFile) Before(place int64) ([]ledger.Line, error) { return d.lines(linesBefore, place) }

func (d *dayFile) lines(query string, place int64) ([]ledger.Line, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	lines, err := d.query(ctx, query, place)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: d.info.name, Err: err}
	}
	return lines, nil
}

func (d *dayFile) query(ctx context.Context, query string, place int64) ([]ledger.Line, error) {
	db, err := d.source(ctx)
	if err != nil {
		return nil, err
	}
	log := auditDays + strings.TrimSuffix(d.info.name, audit.FileOf(""))
	rows, err := db.reader(ctx).QueryContext(ctx, query, log, place)
	if err != nil {
		return nil, db.plain(err)
	}
	return collect(rows, func(row scanner) (line ledger.Line, err error) {
		err = row.Scan(&line.Place, &line.Text)
		line.Next = line.Place + 1
		return line, err
	})
}
