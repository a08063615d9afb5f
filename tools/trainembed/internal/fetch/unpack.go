package fetch

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// openTar unpacks the archive at path to a plain tar on disk and records where each file starts.
func (a *Archive) openTar(path string, unpack func(path string, to io.Writer) error) error {
	file, discard, err := spool()
	if err != nil {
		return err
	}
	if err = unpack(path, file); err == nil {
		err = a.index(file)
	}
	if err != nil {
		return errors.Join(err, discard())
	}
	a.close = discard
	return nil
}

// index reads the headers of the tar. In a plain tar each content follows its header in one piece.
func (a *Archive) index(file *os.File) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("rewind: %w", err)
	}
	entries := tar.NewReader(file)
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read tar: %w", err)
		}
		start, err := file.Seek(0, io.SeekCurrent)
		if err != nil {
			return fmt.Errorf("find %s: %w", header.Name, err)
		}
		a.add(file, header, start)
	}
}

func (a *Archive) add(file *os.File, header *tar.Header, start int64) {
	name, ok := a.strip(header.Name)
	if !ok {
		return
	}
	switch header.Typeflag {
	case tar.TypeSymlink:
		a.links[name] = header.Linkname
	case tar.TypeReg:
		a.files = append(a.files, File{Name: name, Size: header.Size, open: func() (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(file, start, header.Size)), nil
		}})
	}
}

// strip removes the folder that npm and go put around a package.
func (a *Archive) strip(name string) (string, bool) {
	switch a.pkg.Kind {
	case Npm:
		_, name, _ = strings.Cut(strings.TrimPrefix(name, "./"), "/")
	case Go:
		name = strings.TrimPrefix(name, a.pkg.Name+"@"+a.pkg.Version+"/")
	}
	return cleanName(name)
}

// maxUnpacked is far more than the size of the largest package.
const maxUnpacked = 16 << 30

func unpackGzip(path string, to io.Writer) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open archive: %w", err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(bufio.NewReaderSize(file, 1<<16))
	if err != nil {
		return fmt.Errorf("read gzip: %w", err)
	}
	if _, err := io.CopyN(to, plain, maxUnpacked); !errors.Is(err, io.EOF) {
		return fmt.Errorf("unpack gzip, at most %d bytes: %w", int64(maxUnpacked), err)
	}
	return nil
}

// unpackDeb calls dpkg-deb, which supports every compression that Debian has used. It takes a
// second, so it cannot be cancelled.
func unpackDeb(path string, to io.Writer) error {
	var errorOutput bytes.Buffer
	command := exec.CommandContext(context.Background(), "dpkg-deb", "--fsys-tarfile", path)
	command.Stdout, command.Stderr = to, &errorOutput
	if err := command.Run(); err != nil {
		return fmt.Errorf("dpkg-deb: %w: %s", err, strings.TrimSpace(errorOutput.String()))
	}
	return nil
}

func (a *Archive) openZip(path string) error {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return fmt.Errorf("read zip: %w", err)
	}
	a.close = archive.Close
	for _, entry := range archive.File {
		name, ok := a.strip(entry.Name)
		if !ok || strings.HasSuffix(entry.Name, "/") {
			continue
		}
		size := int64(min(entry.UncompressedSize64, 1<<62))
		a.files = append(a.files, File{Name: name, Size: size, open: entry.Open})
	}
	return nil
}
