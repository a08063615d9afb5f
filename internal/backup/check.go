package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// A compressed file ends with a frame that zstd skips. It holds the hash of everything before it,
// so that no byte can change unnoticed, not even one that zstd or tar ignores.
const (
	checkMagic = 0x184D2A5B // a skippable frame
	checkLabel = "remit-sha256"
	checkSize  = 8 + len(checkLabel) + sha256.Size

	zstdMagic = "\x28\xb5\x2f\xfd" // how the file begins (RFC 8878, section 3.1.1)
)

func checkFrame(sum []byte) []byte {
	frame := binary.LittleEndian.AppendUint32(nil, checkMagic)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(checkLabel)+sha256.Size))
	return append(append(frame, checkLabel...), sum...)
}

// compressor compresses what is written to it, and adds the check when it is closed.
type compressor struct {
	*zstd.Encoder
	out io.Writer
	sum hash.Hash
}

func newCompressor(w io.Writer) (*compressor, error) {
	c := &compressor{out: w, sum: sha256.New()}
	var err error
	// One goroutine: a backup must not take the processor from the server that runs beside it.
	c.Encoder, err = zstd.NewWriter(io.MultiWriter(w, c.sum), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(4<<20))
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return c, nil
}

// Close writes what is left, and the check.
func (c *compressor) Close() error {
	if err := c.Encoder.Close(); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	_, err := c.out.Write(checkFrame(c.sum.Sum(nil)))
	return err
}

// decompressor reads what a compressor has written to a file of some size. finish must be called at
// the end: only then it is known whether what was read is what was written.
type decompressor struct {
	*zstd.Decoder
	body *io.LimitedReader
	file io.Reader
	sum  hash.Hash
}

func newDecompressor(file io.Reader, size int64) (*decompressor, error) {
	if size < int64(checkSize) {
		return nil, damaged("it is cut off")
	}
	d := &decompressor{file: file, sum: sha256.New()}
	d.body = &io.LimitedReader{R: file, N: size - int64(checkSize)}
	var err error
	d.Decoder, err = zstd.NewReader(io.TeeReader(d.body, d.sum), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return d, nil
}

// finish reads to the end of the file and checks the hash.
func (d *decompressor) finish() error {
	rest, err := io.Copy(io.Discard, d.Decoder)
	if err != nil {
		return unpacked(err)
	}
	if rest != 0 {
		return damaged("it goes on after its end")
	}
	if _, err := io.Copy(d.sum, d.body); err != nil {
		return err
	}
	frame := make([]byte, checkSize)
	if _, err := io.ReadFull(d.file, frame); err != nil {
		return damaged("it is cut off")
	}
	if !bytes.Equal(frame, checkFrame(d.sum.Sum(nil))) {
		return damaged("its content does not match its hash")
	}
	return nil
}

// looksCompressed reports whether a file begins or ends like what a compressor writes, so that it
// may be damaged, cut off or extended. An empty file may be cut off.
func looksCompressed(name string, size int64) bool {
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close() // only read
	begin := make([]byte, min(size, int64(len(zstdMagic))))
	end := make([]byte, min(size, int64(checkSize)))
	_, err = file.ReadAt(begin, 0)
	if err == nil {
		_, err = file.ReadAt(end, size-int64(len(end)))
	}
	return err == nil && (strings.HasPrefix(zstdMagic, string(begin)) || bytes.Contains(end, []byte(checkLabel)))
}

// unpacked explains an error of reading compressed data. It keeps the errors of the file itself.
func unpacked(err error) error {
	if _, ok := errors.AsType[*fileError](err); ok || errors.Is(err, ErrDamaged) {
		return err
	}
	return damaged("%v", err)
}

// fileError is an error of reading the file of an archive.
type fileError struct{ err error }

func (e *fileError) Error() string { return "read the archive: " + e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// source marks the errors of a file, to tell them from those of its content.
type source struct {
	io.Reader
	read func(n int64) error // called with the bytes read so far; its error ends reading
	done int64
}

func (s *source) Read(p []byte) (int, error) {
	if err := s.read(s.done); err != nil {
		return 0, &fileError{err}
	}
	n, err := s.Reader.Read(p)
	s.done += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &fileError{err}
	}
	return n, err
}
