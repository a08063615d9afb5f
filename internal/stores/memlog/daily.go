package memlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"remit/internal/engine/audit"
)

// Daily stores the audit records in hash-chained files, one per day.
type Daily struct {
	Files  Files
	Folder fs.FS // the same files, for reading
	// OnLost, if not nil, is called at most once a minute when records that no caller waited for
	// could not be stored.
	OnLost func(error)

	mu         sync.Mutex
	day        string
	proved     string // the day whose file has been opened successfully
	failed     bool   // a record could not be stored since then
	log        *Log
	waiting    [][]byte // records that need not be durable and are not in the log yet
	last       *Ticket  // of the last of them that is in the log
	timer      *time.Timer
	closed     bool
	err        error
	reportedAt time.Time // when OnLost was last called
}

var _ audit.Storage = (*Daily)(nil)

// batchDelay is how long a record that need not be durable, such as that of a read, may wait for
// other records. Writing several records at once saves system calls.
const batchDelay = 50 * time.Millisecond

// Ready implements audit.Storage. It opens the file of the day once, and checks for disk space as
// long as records are being lost.
func (d *Daily) Ready(day string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if err := d.switchTo(day); err != nil || d.proved == d.day && !d.failed {
		return err
	}
	if d.failed {
		if err := d.checkSpace(); err != nil {
			return fmt.Errorf("check disk space for audit records: %w", err)
		}
		d.failed = false
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
		d.waiting = append(d.waiting, record)
		if d.timer == nil {
			d.timer = time.AfterFunc(batchDelay, d.flush)
		}
		return func(context.Context) error { return nil }, nil
	}
	d.handOver()
	ticket := d.log.Append(record, true)
	return func(ctx context.Context) error {
		_, err := ticket.Wait(ctx)
		if err != nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.failed = true
		}
		return err
	}, nil
}

func (d *Daily) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handOver()
}

// Flush writes what is queued.
func (d *Daily) Flush() {
	d.mu.Lock()
	if d.log != nil {
		d.handOver()
	}
	last := d.last
	d.mu.Unlock()
	if last != nil {
		_, _ = last.Wait(context.Background()) // OnLost reports the error
	}
}

// handOver appends the waiting records to the log, in order.
func (d *Daily) handOver() {
	d.timer = nil
	var last *Ticket
	for _, record := range d.waiting {
		last = d.log.Append(record, false)
	}
	d.waiting = d.waiting[:0]
	if last != nil {
		d.last = last
	}
	if last != nil && d.OnLost != nil {
		go d.watch(last)
	}
}

// watch waits for the outcome of a batch, and reports if it is lost.
func (d *Daily) watch(last *Ticket) {
	_, err := last.Wait(context.Background())
	if err == nil {
		return
	}
	d.mu.Lock()
	d.failed = true
	report := time.Since(d.reportedAt) > time.Minute
	if report {
		d.reportedAt = time.Now()
	}
	d.mu.Unlock()
	if report {
		d.OnLost(err)
	}
}

// switchTo opens the file of another day. Its first record continues the chain of the days before.
func (d *Daily) switchTo(day string) error {
	if d.log != nil && day <= d.day { // a call may begin before midnight and end after it
		return nil
	}
	genesis, err := audit.LastHash(d.Folder, day)
	if err != nil {
		return fmt.Errorf("find the last audit record: %w", err)
	}
	if d.log != nil {
		d.handOver()
		d.err = errors.Join(d.err, d.log.Close())
	}
	d.day = day
	d.log = New(Options{
		Files: d.Files, Name: audit.FileOf(day), Format: JSONLines,
		Seal: func(b, prev []byte, _ int64, record []byte) []byte {
			if prev == nil {
				return audit.AppendSealed(b, genesis, record)
			}
			return audit.AppendSealed(b, audit.HashOf(prev), record)
		},
	})
	return nil
}

// Close writes what is queued and closes the file. It returns an error if any record could not be
// stored.
func (d *Daily) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.log == nil {
		return d.err
	}
	d.handOver()
	return errors.Join(d.err, d.log.Close())
}
