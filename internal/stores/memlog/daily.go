package memlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"remit/internal/batchwriter"
	"remit/internal/engine/audit"
)

// Daily keeps the audit records, one hash-chained file a day.
type Daily struct {
	Files  Files
	Folder fs.FS // the same files, for reading
	// Lost is told, once a minute at most, that records which nobody waited for
	// could not be kept; nil if nobody wants to know.
	Lost func(error)

	failed atomic.Bool // a record could not be kept since the last look for room

	mu     sync.Mutex
	day    string
	proved string // the day whose file could be opened
	log    *Log
	closed bool
	err    error
	tell   func(error) // Lost, once a minute at most
}

var _ audit.Keeper = (*Daily)(nil)

// Ready keeps the promise of audit.Keeper: it opens the file of the day once, and
// looks for room on the disk for as long as a record was lost for want of it.
func (d *Daily) Ready(day string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if err := d.turnTo(day); err != nil || d.proved == d.day && !d.failed.Load() {
		return err
	}
	if d.failed.Load() {
		if err := d.findRoom(); err != nil {
			return fmt.Errorf("find room for audit records: %w", err)
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

// noteLoss remembers that records could not be kept which nobody waited for, and tells.
func (d *Daily) noteLoss(err error) {
	d.failed.Store(true)
	d.tell(err)
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
	ticket := d.log.Append(record, durable)
	return func(ctx context.Context) error {
		if !durable {
			return nil
		}
		_, err := ticket.Wait(ctx)
		if err != nil {
			d.failed.Store(true)
		}
		return err
	}, nil
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
		d.err = errors.Join(d.err, d.log.Close())
	}
	if d.tell == nil {
		d.tell = batchwriter.Rarely(func(err error) {
			if d.Lost != nil {
				d.Lost(err)
			}
		})
	}
	d.day = day
	d.log = New(Options{
		Files: d.Files, Name: audit.FileOf(day), Format: JSONLines, Lost: d.noteLoss,
		Seal: func(prev []byte, _ int64, record []byte) []byte {
			if prev == nil {
				return audit.Seal(genesis, record)
			}
			return audit.Seal(audit.HashOf(prev), record)
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
	return errors.Join(d.err, d.log.Close())
}
