package bodies

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// request returns a request with a body, which announces its length unless chunked is true.
func request(body io.Reader, length int, chunked bool) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(body))
	r.ContentLength = int64(length)
	if chunked {
		r.ContentLength = -1
	}
	return r
}

// TestRead checks that bodies of any size are read whole, with and without their length, and that
// those over the limit are not.
func TestRead(t *testing.T) {
	const limit = 100_000
	b := NewBudget(1<<20, 100)
	for _, size := range []int{0, 1, freeBytes - 1, freeBytes, freeBytes + 1, 2 * freeBytes, 50_000, limit - 1, limit, limit + 1, 3 * limit} {
		body := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		for _, chunked := range []bool{false, true} {
			data, memory, err := b.Read(request(iotest.OneByteReader(bytes.NewReader(body)), size, chunked), limit)
			var tooLarge *http.MaxBytesError
			switch {
			case size > limit && !errors.As(err, &tooLarge):
				t.Errorf("%d bytes, chunked %v: %v", size, chunked, err)
			case size <= limit && (err != nil || !bytes.Equal(data, body)):
				t.Errorf("%d bytes, chunked %v: read %d, %v", size, chunked, len(data), err)
			case size > freeBytes && size <= limit && b.InUse() < int64(copies*(size-freeBytes)+valueBytes):
				t.Errorf("%d bytes, chunked %v: %d bytes are in use", size, chunked, b.InUse())
			}
			memory.Release()
			memory.Release()
			if b.InUse() != 0 {
				t.Fatalf("%d bytes, chunked %v: %d bytes are still in use", size, chunked, b.InUse())
			}
		}
	}
}

// TestReadFails checks that a body that ends early or cannot be read releases its memory.
func TestReadFails(t *testing.T) {
	broken := errors.New("broken")
	b := NewBudget(1<<20, 100)
	for _, size := range []int{10, 5 * freeBytes} {
		for reader, want := range map[io.Reader]error{
			strings.NewReader(strings.Repeat("x", size-1)): io.ErrUnexpectedEOF, iotest.ErrReader(broken): broken,
		} {
			_, memory, err := b.Read(request(reader, size, false), 1<<20)
			memory.Release()
			if !errors.Is(err, want) || b.InUse() != 0 {
				t.Errorf("%d bytes: %v, want %v; %d bytes are in use", size, err, want, b.InUse())
			}
		}
	}
}

// TestSlowClient checks that a client that announces much and sends little takes little memory.
func TestSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1<<20, 100)
		in, out := io.Pipe()
		done := make(chan error)
		go func() {
			_, memory, err := b.Read(request(in, 1<<30, false), 1<<30)
			memory.Release()
			done <- err
		}()
		_, _ = out.Write(make([]byte, freeBytes+1))
		synctest.Wait()
		if n := b.InUse(); n != copies*(growth-1)*freeBytes {
			t.Errorf("%d bytes are in use", n)
		}
		out.Close()
		if err := <-done; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	})
}

// TestBusy checks that a body waits for memory for a second, that values count, and that small
// bodies do not wait.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const values = 1000
		b := NewBudget(values*valueBytes+200_000, values)
		array := "[" + strings.Repeat("1,", freeBytes) + "1]"
		text := `"` + strings.Repeat("x", len(array)-2) + `"`
		read := func(body string) (Memory, error) {
			_, memory, err := b.Read(request(strings.NewReader(body), len(body), false), 1<<20)
			return memory, err
		}
		first, err := read(array)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		second, err := read(array)
		if waited := time.Since(began); !errors.Is(err, ErrBusy) || waited != maxWait {
			t.Errorf("%v after %s", err, waited)
		}
		second.Release()
		third, err := read(text)
		if err != nil {
			t.Errorf("text of the same length: %v", err)
		}
		third.Release()
		if _, err := read(array[:freeBytes]); err != nil {
			t.Errorf("a small body: %v", err)
		}
		time.AfterFunc(maxWait/2, first.Release)
		began = time.Now()
		fourth, err := read(array)
		if waited := time.Since(began); err != nil || waited != maxWait/2 {
			t.Errorf("%v after %s", err, waited)
		}
		fourth.Release()
		if b.InUse() != 0 {
			t.Errorf("%d bytes are still in use", b.InUse())
		}
	})
}

// TestNoBudget checks that a nil budget has no bound.
func TestNoBudget(t *testing.T) {
	data, memory, err := (*Budget)(nil).Read(request(strings.NewReader(strings.Repeat("[", 1<<20)), 1<<20, true), 1<<20)
	memory.Release()
	if len(data) != 1<<20 || err != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// FuzzCountValues checks that there are never more values than counted.
func FuzzCountValues(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		values := 0
		var write func(depth int) string
		write = func(depth int) string {
			values++
			if depth == 0 || r.IntN(3) == 0 {
				return `"a,[{"`
			}
			parts := make([]string, r.IntN(4))
			for i := range parts {
				parts[i] = write(depth - 1)
			}
			return "[" + strings.Join(parts, ",") + "]"
		}
		text := write(5)
		if n := countValues([]byte(text)); n < int64(values) {
			t.Errorf("counted %d of %d values in %s", n, values, text)
		}
	})
}
