package sqlstore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"remit/internal/engine/audit"
)

// Memory imports a memory file into PostgreSQL, line by line.
func (i *Import) Memory(ctx context.Context, file string, r io.Reader) error {
	return i.change(ctx, "import memory file "+file, func(ctx context.Context, tx runner) error {
		count, _, err := lockCount(ctx, tx, memoryLog(file), time.Now())
		if err != nil {
			return err
		}
		if err := eachBatch(r, func(lines [][]byte) error { return appendLines(ctx, tx, memoryLog(file), lines, &count) }); err != nil {
			return err
		}
		return storeCount(ctx, tx, memoryLog(file), count, time.Now())
	})
}

// Audit imports the audit records of a day into PostgreSQL. The days must be imported in order.
func (i *Import) Audit(ctx context.Context, day string, r io.Reader) error {
	return i.change(ctx, "import audit records of "+day, func(ctx context.Context, tx runner) error {
		count, _, err := lockCount(ctx, tx, auditChain, time.Now())
		if err != nil {
			return err
		}
		before := count
		err = eachBatch(r, func(lines [][]byte) error {
			count.tip = []byte(day + " " + audit.HashOf(lines[len(lines)-1]))
			return appendLines(ctx, tx, auditDays+day, lines, &count)
		})
		if err != nil {
			return err
		}
		now := time.Now()
		if err := exec(ctx, tx, countDay, auditDays+day, count.lines-before.lines, count.bytes-before.bytes, micros(now)); err != nil {
			return err
		}
		return storeCount(ctx, tx, auditChain, count, now)
	})
}

func appendLines(ctx context.Context, tx runner, log string, lines [][]byte, count *logCount) error {
	var rows [][]any
	for _, line := range lines {
		rows = append(rows, []any{log, count.lines + 1, line})
		count.add(line)
	}
	return addLines(ctx, tx, rows)
}

// eachBatch calls visit with some lines at a time, without their newlines.
func eachBatch(r io.Reader, visit func(lines [][]byte) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for ended := false; !ended; {
		var lines [][]byte
		for len(lines) < maxBatch && !ended {
			line, err := in.ReadBytes('\n')
			if ended = errors.Is(err, io.EOF); err != nil && !ended {
				return err
			}
			if len(line) > 0 {
				lines = append(lines, bytes.TrimSuffix(line, []byte{'\n'}))
			}
		}
		if len(lines) > 0 {
			if err := visit(lines); err != nil {
				return err
			}
		}
	}
	return nil
}
