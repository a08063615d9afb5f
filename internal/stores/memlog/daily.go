package memlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"remit/internal/engine/audit"
)

// Daily stores the audit records in hash-chained files, one per day.
type Daily struct {
	Files  Files
	Folder fs.FS // the same files, for reading
	Place  Place // see Options
	// OnLost, if not nil, is called when records that no caller waited for could not be stored.
	OnLost func(error)
	// OnReplaced, if not nil, is called with the calls whose records were passed to Replace, when
	// they are on disk and when they could not be stored.
	OnReplaced func(stored, failed []string)

	mu        sync.Mutex
	day       string
	proved    string // the day whose file has been opened successfully
	log       *Log
	waiting   []queued      // records that no caller waits for and that are not in the log yet
	last      *Ticket       // the last of those that are in the log
	handed    []*batch      // in the log, not reported yet, in order
	reported  chan struct{} // of the newest batch: closed when it is reported
	reporting bool          // a goroutine reports them
	timer     *time.Timer
	closed    bool
	err       error

	failed atomic.Bool // a record could not be stored since the file was opened
}

var _ audit.Storage = (*Daily)(nil)

// queued is a record that no caller waits for.
type queued struct {
	record []byte
	call   string // of a record that takes the place of one in the outbox
}

// batch is the records of Replace that were appended to the log at once.
type batch struct {
	replaced map[string]*Ticket // by call
	reported chan struct{}      // closed when OnReplaced has returned
}

// batchDelay is how long a record that no caller waits for, such as that of a read, may wait for
// other records. Writing several records at once saves system calls.
const batchDelay = 25 * time.Millisecond

// Ready implements audit.Storage. It opens the file of the day once, and checks for disk space as
// long as records are being lost.
func (d *Daily) Ready(day string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if err := d.switchTo(day); err != nil || d.proved == d.day && !d.failed.Load() {
		return err
	}
	if d.failed.Load() {
		if err := d.checkSpace(); err != nil {
			return fmt.Errorf("check disk space for audit records: %w", err)
		}
		d.failed.Store(false)
	}
	file, err := d.Files.OpenAppend(audit.FileOf(d.day))
	if err != nil {
		return fmt.Errorf("open the audit file: %w", err)
	}
	d.proved = d.day
	return file.Close()
}

// checkSpace returns an error unless many records could be written now. A test with a real record
// would come too late for the write that the record describes.
func (d *Daily) checkSpace() error {
	const probeSize = 64 << 10
	file, err := d.Files.OpenAppend("room.tmp")
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, probeSize))
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	_ = os.Remove(file.Name()) // another process may have removed it at the same time
	return err
}

// Append implements audit.Storage.
func (d *Daily) Append(day string, record []byte, durable bool) (func(context.Context) error, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrClosed
	}
	if err := d.switchTo(day); err != nil {
		return nil, err
	}
	if !durable {
		d.enqueue(queued{record: record})
		return func(context.Context) error { return nil }, nil
	}
	d.handOver()
	ticket := d.log.Append(record, true)
	return func(ctx context.Context) error {
		_, err := ticket.Wait(ctx)
		if err != nil {
			d.failed.Store(true)
		}
		return err
	}, nil
}

// Replace implements audit.Storage. The record is on disk before OnReplaced is called.
func (d *Daily) Replace(day string, record []byte, call string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if err := d.switchTo(day); err != nil {
		return err
	}
	d.enqueue(queued{record, call})
	return nil
}

func (d *Daily) enqueue(q queued) {
	d.waiting = append(d.waiting, q)
	if d.timer == nil {
		d.timer = time.AfterFunc(batchDelay, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.handOver()
		})
	}
}

// Flush writes what is queued. It returns when all of it is written, and OnReplaced has returned
// for it.
func (d *Daily) Flush() {
	d.mu.Lock()
	if d.log != nil {
		d.handOver()
	}
	last, reported := d.last, d.reported
	d.mu.Unlock()
	if last != nil {
		_, _ = last.Wait(context.Background()) // lose has reported the error
	}
	if reported != nil {
		<-reported
	}
}

// handOver appends the waiting records to the log, in order.
func (d *Daily) handOver() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	var b *batch
	for _, q := range d.waiting {
		d.last = d.log.Append(q.record, q.call != "")
		if q.call == "" {
			continue
		}
		if b == nil {
			b = &batch{map[string]*Ticket{}, make(chan struct{})}
		}
		b.replaced[q.call] = d.last
	}
	clear(d.waiting)
	d.waiting = d.waiting[:0]
	if b == nil {
		return
	}
	d.handed, d.reported = append(d.handed, b), b.reported
	if !d.reporting {
		d.reporting = true
		go d.report()
	}
}

// report reports the outcome of each batch, in order. It ends when all batches are reported.
func (d *Daily) report() {
	for {
		d.mu.Lock()
		batches := d.handed
		d.handed, d.reporting = nil, len(batches) > 0
		d.mu.Unlock()
		if batches == nil {
			return
		}
		for _, b := range batches {
			d.reportBatch(b)
			close(b.reported)
		}
	}
}

// reportBatch waits for the outcome of a batch, and reports it.
func (d *Daily) reportBatch(b *batch) {
	var stored, failed []string
	for call, ticket := range b.replaced {
		if _, err := ticket.Wait(context.Background()); err != nil {
			d.failed.Store(true)
			failed = append(failed, call)
		} else {
			stored = append(stored, call)
		}
	}
	if d.OnReplaced != nil {
		d.OnReplaced(stored, failed)
	}
}

// lose reports that records were lost that no caller waited for.
func (d *Daily) lose(err error) {
	d.failed.Store(true)
	if d.OnLost != nil {
		d.OnLost(err)
	}
}

// switchTo opens the file of another day. Its first record continues the chain of the days before.
func (d *Daily) switchTo(day string) error {
	if d.log != nil && day <= d.day { // a call may begin before midnight and end after it
		return nil
	}
	genesis, day, err := d.startOf(day)
	if err != nil {
		return fmt.Errorf("find the last audit record: %w", err)
	}
	if d.log != nil {
		d.handOver()
		d.err = errors.Join(d.err, d.log.Close())
	}
	d.day = day
	d.log = New(Options{
		Files: d.Files, Name: audit.FileOf(day), Format: JSONLines, Place: d.Place, Lost: d.lose,
		Seal: func(b, prev []byte, _ int64, record []byte) []byte {
			if prev == nil {
				return audit.AppendSealed(b, genesis, record)
			}
			return audit.AppendSealed(b, audit.HashOf(prev), record)
		},
	})
	return nil
}

// startOf returns the hash that the first record of a day follows. If there is a file of a later
// day already, because the clock was set back, that is the day.
func (d *Daily) startOf(day string) (genesis, current string, err error) {
	days, err := audit.Folder{FS: d.Folder}.Days(context.Background())
	if err != nil {
		return "", "", err
	}
	if len(days) > 0 {
		day = max(day, days[len(days)-1].Name)
	}
	genesis, err = audit.LastHash(d.Folder, day)
	return genesis, day, err
}

// Close writes what is queued and closes the file. It returns an error if any record could not be
// stored.
func (d *Daily) Close() error {
	err := d.close()
	d.Flush()
	return err
}

func (d *Daily) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.log == nil {
		return d.err
	}
	d.handOver()
	return errors.Join(d.err, d.log.Close())
}
