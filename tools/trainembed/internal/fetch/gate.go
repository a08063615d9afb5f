package fetch

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"remit/tools/trainembed/internal/licence"
)

// readGate reads the package's licence notices.
func (a *Archive) readGate(cache string) error {
	if a.pkg.Kind == Deb {
		text, err := a.copyright(cache)
		if err != nil {
			return err
		}
		a.gate = licence.OfCopyright(text)
		return nil
	}
	var notices []licence.Notice
	for _, file := range a.files {
		if !licence.IsNotice(file.Name) || file.Size > 1<<20 {
			continue
		}
		text, err := file.content()
		if err != nil {
			return err
		}
		notices = append(notices, licence.Notice{Path: file.Name, Text: string(text)})
	}
	a.gate = licence.OfTree(notices)
	return nil
}

// copyright returns the text of debian/copyright. In some packages it is a link to another package
// of the same source and version, which must then be in the cache too.
func (a *Archive) copyright(cache string) (string, error) {
	dir := "usr/share/doc/" + a.pkg.Name
	if file, ok := a.lookup(dir + "/copyright"); ok {
		text, err := file.content()
		return string(text), err
	}
	link, ok := a.links[dir]
	other := path.Base(link)
	if !ok || other == a.pkg.Name || !plainName(other) {
		return "", nil
	}
	return otherCopyright(cache, Package{Kind: Deb, Name: other, Version: a.pkg.Version, Arch: "*"})
}

func otherCopyright(cache string, p Package) (text string, err error) {
	found, err := filepath.Glob(p.Path(cache))
	if err != nil || len(found) == 0 {
		return "", errors.Join(err, fmt.Errorf("its copyright file is in deb:%s %s: fetch that too", p.Name, p.Version))
	}
	p.Arch = strings.TrimSuffix(found[0][strings.LastIndexByte(found[0], '_')+1:], ".deb")
	a := &Archive{pkg: p, links: map[string]string{}}
	if err := a.openTar(found[0], unpackDeb); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	a.sort()
	file, ok := a.lookup("usr/share/doc/" + p.Name + "/copyright")
	if !ok {
		return "", nil
	}
	content, err := file.content()
	return string(content), err
}
