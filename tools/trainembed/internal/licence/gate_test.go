package licence

import "testing"

const copyrightFile = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: thing

Files: *
Copyright: 2020 A
License: Expat

Files: debian/*
Copyright: 2021 B
License: GPL-2+

Files: config.guess m4/libtool.m4
License: GPL-3+ with Autoconf-data exception

Files: thing/_vendor/chardet/*
       thing/tests/data/*.html
License: LGPL-2.1+

Files: doc/source/logo/*
License: CC-BY-SA-3.0

Files: thing/odd.py thing/fine.py
License: own
 Permission is hereby granted, free of charge, to any person obtaining
 a copy

Files: thing/strange.py
License: strange

License: strange
 You may look at this file on Tuesdays.
 .
 But not in public.
`

func TestOfCopyright(t *testing.T) {
	gate := OfCopyright(copyrightFile)
	if gate.Verdict != Permissive || gate.Licence != "Expat" {
		t.Fatalf("as a whole: %v, %q", gate.Verdict, gate.Licence)
	}
	for name, want := range map[string]bool{
		"usr/lib/python3/dist-packages/thing/main.py":              true,
		"usr/share/doc/thing/html/index.html":                      true,
		"usr/share/doc/thing/debian/notes.md":                      true,
		"usr/share/thing/config.guess":                             false,
		"usr/lib/python3/dist-packages/thing/_vendor/chardet/x.py": false,
		"usr/lib/python3/dist-packages/thing/_vendor/other/x.py":   true,
		"usr/lib/python3/dist-packages/thing/tests/data/a.html":    false,
		"usr/lib/python3/dist-packages/thing/tests/data/a.py":      true,
		"usr/share/doc/thing/html/logo/readme.html":                false,
		"usr/lib/python3/dist-packages/thing/fine.py":              true,
		"usr/lib/python3/dist-packages/thing/strange.py":           false,
		"usr/share/doc/thing/html/strange.html":                    false,
	} {
		if got := gate.Allowed(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestOfCopyrightAsAWhole(t *testing.T) {
	const header = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n"
	for _, test := range []struct {
		name, text string
		want       Verdict
		licence    string
	}{
		{"choice", header + "Files: *\nLicense: GPL-1+ or Artistic\n", Permissive, "GPL-1+ or Artistic"},
		{"GPL", header + "Files: *\nLicense: GPL-3+\n", Restricted, "GPL-3+"},
		{"name of its own, text below", header + "Files: *\nLicense: thing-licence\n\nLicense: thing-licence\n " + "Permission is hereby granted, free of charge, to any person\n", Permissive, "MIT"},
		{"no name, text in place", header + "Files: *\nLicense:\n " + "Redistribution and use in source and binary forms\n", Permissive, "BSD-2-Clause"},
		{"nothing for everything", header + "Files: src/*\nLicense: MIT or Apache-2.0\n\nFiles: vendor/x/*\nLicense: MPL-2.0\n", Permissive, "MIT or Apache-2.0"},
		{"fields twice, as in python3", "Python Software Foundation License\n\nFiles: a.c\nFiles: b.c\nLicense: GPL-2\n", Permissive, "PSF-2.0"},
		{"free text", "This package was debianized by C.\n\n" + mitText, Permissive, "MIT"},
		{"free text with GPL", mitText + "\n\n" + gplText, Restricted, "GPL and MIT"},
		{"GPL only in the source package", mitText + "\next/x.el (source package only):\n" + gplText + "\n/usr/share/common-licenses/GPL", Permissive, "MIT"},
		{"documentation under share alike", header + "Files: *\nLicense: BSD-3-clause\n\nFiles: docs/*\nLicense: CC-BY-SA-4\n", Permissive, "BSD-3-clause"},
		{"nothing", "", Unknown, ""},
	} {
		gate := OfCopyright(test.text)
		if gate.Verdict != test.want || gate.Licence != test.licence {
			t.Errorf("%s: %v %q, want %v %q", test.name, gate.Verdict, gate.Licence, test.want, test.licence)
		}
	}
	docs := OfCopyright(header + "Files: *\nLicense: BSD-3-clause\n\nFiles: docs/*\nLicense: CC-BY-SA-4\n")
	if docs.Allowed("usr/share/doc/x/html/index.html") || !docs.Allowed("usr/lib/x/docs.py") {
		t.Error("a stanza for docs/* does not cover the installed documentation alone")
	}
	twice := OfCopyright("Python Software Foundation License\n\nFiles: a.c\nFiles: b.c\nLicense: GPL-2\n")
	if twice.Allowed("usr/a.c") || twice.Allowed("usr/b.c") {
		t.Error("a field given twice loses a file")
	}
}

func FuzzOfCopyright(f *testing.F) {
	f.Add(copyrightFile, "usr/share/doc/x/index.html")
	f.Add("Files: [\nLicense: GPL", "a")
	f.Add("files:\nLicense:\n .\n", "../x")
	f.Fuzz(func(t *testing.T, text, name string) {
		gate := OfCopyright(text)
		if gate.Verdict != Permissive && gate.Allowed(name) {
			t.Error("a file of a package that is not permissive is allowed")
		}
		denied := OfCopyright(text + "\n\nFiles: *\nLicense: GPL-2\n")
		if denied.Allowed(name) {
			t.Error("a file is allowed, though a stanza for everything says GPL")
		}
	})
}

func TestOfTree(t *testing.T) {
	gate := OfTree([]Notice{
		{"LICENSE", apacheText},
		{"third/lib/LICENSE", gplText},
		{"third/lib/inner/LICENSE", mitText},
		{"odd/LICENSE", "Ask your lawyer."},
	})
	if gate.Verdict != Permissive || gate.Licence != "Apache-2.0" {
		t.Fatalf("as a whole: %v, %q", gate.Verdict, gate.Licence)
	}
	for name, want := range map[string]bool{
		"main.go": true, "pkg/a/b.go": true, "third/a.go": true,
		"third/lib/a.go": false, "third/lib/deep/a.go": false, "third/lib/inner/a.go": true, "odd/a.go": false,
	} {
		if got := gate.Allowed(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestOfTreeManifest(t *testing.T) {
	for _, test := range []struct {
		name, manifest, text string
		want                 Verdict
		licence              string
	}{
		{"plain", `{"license":"MIT"}`, mitText, Permissive, "MIT"},
		{"no text", `{"license":"ISC"}`, "", Permissive, "ISC"},
		{"object", `{"license":{"type":"BSD-3-Clause","url":"x"}}`, "", Permissive, "BSD-3-Clause"},
		{"list", `{"licenses":[{"type":"MIT"},{"type":"GPL-2.0"}]}`, gplText, Permissive, "MIT OR GPL-2.0"},
		{"GPL", `{"license":"GPL-3.0"}`, mitText, Restricted, "GPL-3.0"},
		{"text says more", `{"license":"MIT"}`, mitText + gplText, Restricted, "GPL AND MIT"},
		{"choice, both texts", `{"license":"(MIT OR GPL-3.0-or-later)"}`, mitText + gplText, Permissive, "(MIT OR GPL-3.0-or-later)"},
		{"see the file", `{"license":"Apache License"}`, apacheText, Permissive, "Apache License"},
		{"none, but a text", `{}`, apacheText, Permissive, "Apache-2.0"},
		{"nothing", `{}`, "", Unknown, ""},
		{"broken", `{"license":`, "", Unknown, ""},
		{"unlicensed", `{"license":"UNLICENSED"}`, "", Restricted, "UNLICENSED"},
	} {
		notices := []Notice{{"package.json", test.manifest}}
		if test.text != "" {
			notices = append(notices, Notice{"LICENSE", test.text})
		}
		gate := OfTree(notices)
		if gate.Verdict != test.want || gate.Licence != test.licence {
			t.Errorf("%s: %v %q, want %v %q", test.name, gate.Verdict, gate.Licence, test.want, test.licence)
		}
	}
}

func TestOfTreeBundled(t *testing.T) {
	gate := OfTree([]Notice{
		{"package.json", `{"license":"MIT"}`},
		{"dist/esm/package.json", `{"type":"module"}`},
		{"node_modules/a/package.json", `{"license":"MPL-2.0"}`},
		{"node_modules/b/package.json", `{}`},
		{"node_modules/@c/d/package.json", `{}`},
		{"node_modules/@c/e/package.json", `{"license":"ISC"}`},
	})
	for name, want := range map[string]bool{
		"index.js": true, "dist/esm/index.js": true, "node_modules/a/index.js": false, "node_modules/b/index.js": false,
		"node_modules/@c/d/x.js": false, "node_modules/@c/e/lib/x.js": true,
	} {
		if got := gate.Allowed(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestIsNotice(t *testing.T) {
	for name, want := range map[string]bool{
		"LICENSE": true, "a/LICENCE.md": true, "COPYING": true, "COPYING.LESSER": true, "LICENSE-MIT": true, "license.txt": true,
		"x/package.json": true, "UNLICENSE": true, "LICENSES.md": true, "MIT-LICENSE.txt": true,
		"license.go": false, "LICENSE_test.go": false, "ThirdPartyNotices.txt": false, "LICENSE-3rdparty.csv": false,
		"LICENSE-THIRD-PARTY": false, "README.md": false, "licensee": false, "package.json5": false,
	} {
		if got := IsNotice(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
