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

// Daily keeps the audit records, one hash-chained file a day.
type Daily struct {
	Files  Files
	Folder fs.FS // the same files, for reading
	// Lost is told, once a minute at most, that records which nobody waited for
	// could not be kept; nil if nobody wants to know.
	Lost func(error)

	mu      sync.Mutex
	day     string
	proved  string // the day whose file could be opened
	failed  bool   // a record could not be kept since
	log     *Log
	waiting [][]byte // records that need not be durable, not yet handed over
	timer   *time.Timer
	closed  bool
	err     error
	told    time.Time // when Lost was last called
}

var _ audit.Keeper = (*Daily)(nil)

// lull is how long a record that need not be durable may wait for company: it
// saves a system call or more on every read.
const lull = 50 * time.Millisecond

// Ready keeps the promise of audit.Keeper: it opens the file of the day once, and
// looks for room on the disk for as long as a record was lost for want of it.
func (d *Daily) Ready(day string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if err := d.turnTo(day); err != nil || d.proved == d.day && !d.failed {
		return err
	}
	if d.failed {
		if err := d.findRoom(); err != nil {
			return fmt.Errorf("find room for audit records: %w", err)
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

// findRoom tells whether many records could be written now. To try it with a record
// would be too late for the write that it is about.
func (d *Daily) findRoom() error {
	const enough = 64 << 10
	file, err := d.Files.OpenAppend("room.tmp")
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, enough))
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	_ = os.Remove(file.Name()) // another process may have looked at the same time
	return err
}

// Keep keeps the promise of audit.Keeper.
func (d *Daily) Keep(day string, record []byte, durable bool) (func(context.Context) error, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrClosed
	}
	if err := d.turnTo(day); err != nil {
		return nil, err
	}
	if !durable {
		d.waiting = append(d.waiting, record)
		if d.timer == nil {
			d.timer = time.AfterFunc(lull, d.flush)
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

// handOver gives the log what has been waiting, in order.
func (d *Daily) handOver() {
	d.timer = nil
	var last *Ticket
	for _, record := range d.waiting {
		last = d.log.Append(record, false)
	}
	d.waiting = d.waiting[:0]
	if last != nil && d.Lost != nil {
		go d.listen(last)
	}
}

// listen waits for what becomes of a batch, and tells if it is lost.
func (d *Daily) listen(last *Ticket) {
	_, err := last.Wait(context.Background())
	if err == nil {
		return
	}
	d.mu.Lock()
	d.failed = true
	tell := time.Since(d.told) > time.Minute
	if tell {
		d.told = time.Now()
	}
	d.mu.Unlock()
	if tell {
		d.Lost(err)
	}
}

// turnTo opens the file of another day. Its first record follows the last one of
// the days before.
func (d *Daily) turnTo(day string) error {
	if d.log != nil && day <= d.day { // a call may end after midnight that began before
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

// Close writes what is queued and closes the file. It also tells whether any
// record could not be kept.
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
