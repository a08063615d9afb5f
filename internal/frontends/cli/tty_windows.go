package cli

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// console is the console of the process, whatever its standard streams are.
type console struct{ in, out *os.File }

func (c console) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c console) Write(b []byte) (int, error) { return c.out.Write(b) }
func (c console) Close() error                { return errors.Join(c.in.Close(), c.out.Close()) }

// openTTY opens the console of the process and discards what was typed before: it was not typed as
// an answer.
func openTTY() (io.ReadWriteCloser, error) {
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return nil, errors.New("there is no console")
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		return nil, errors.Join(errors.New("there is no console"), in.Close())
	}
	return console{in, out}, windows.FlushConsoleInputBuffer(windows.Handle(in.Fd()))
}
