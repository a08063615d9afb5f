package licence

import (
	"strings"
	"testing"
)

// Shortened real texts, with their line breaks and marks.
const (
	mitText    = "Copyright (c) 2020 A\n\nPermission is hereby granted, free of charge, to any person obtaining a copy\nof this software, to deal in the Software without restriction"
	bsd2Text   = "// Redistribution and use in source and binary forms, with or without\n// modification, are permitted provided that the following conditions are\n// met:"
	bsd3Text   = bsd2Text + "\n//    * Neither the name of Google Inc. nor the names of its\n// contributors may be used to endorse"
	apacheText = "                                 Apache License\n                           Version 2.0, January 2004"
	iscText    = "Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee is hereby granted"
	gplText    = "This program is free software; you can redistribute it and/or modify\n * it under the terms of the GNU General\n * Public License as published by the Free Software Foundation"
	lgplText   = "GNU LESSER GENERAL PUBLIC LICENSE\n Version 3"
	mplText    = "Mozilla Public License Version 2.0\n===="
	zlibText   = "This software is provided 'as-is', without any express or implied\nwarranty. 2. Altered source versions must be plainly marked as such"
	psfText    = "PSF LICENSE AGREEMENT FOR PYTHON 3.11\nNotwithstanding the foregoing, with regard to derivative works that incorporate\nnon-separable material that was previously distributed under the GNU\nGeneral Public License (GPL), the law of"
)

func TestOfText(t *testing.T) {
	for _, test := range []struct {
		name, text, want string
	}{
		{"MIT", mitText, "MIT"},
		{"BSD two clauses", bsd2Text, "BSD-2-Clause"},
		{"BSD three clauses", bsd3Text, "BSD-3-Clause"},
		{"BSD, old wording", bsd2Text + "\nThe names of the contributors may not be used to endorse or promote", "BSD-3-Clause"},
		{"Apache", apacheText, "Apache-2.0"},
		{"Apache by reference", "Licensed under the Apache License, Version 2.0 (the \"License\")", "Apache-2.0"},
		{"ISC", iscText, "ISC"},
		{"HPND", "Permission to use, copy, modify, and distribute this software and its\nassociated documentation for any purpose and without fee", "HPND"},
		{"Unlicense", "This is free and unencumbered software released into the public domain.", "Unlicense"},
		{"CC0", "CC0 1.0 Universal", "CC0-1.0"},
		{"Boost", "Boost Software License - Version 1.0 - August 17th, 2003", "BSL-1.0"},
		{"zlib", zlibText, "Zlib"},
		{"PSF, whose history names the GPL", psfText, "PSF-2.0"},
		{"PSF with another holder", "a nonexclusive, royalty-free, world-wide license\nto reproduce, analyze, test, perform and/or display publicly", "PSF-2.0"},
		{"PostgreSQL", "for any purpose, without fee, and without a written agreement\nis hereby granted", "PostgreSQL"},
		{"WordNet", "WordNet Release 3.0 ... Permission to use, copy, modify and distribute this software and\ndatabase and its documentation", "WordNet-3.0"},
		{"Blue Oak", "# Blue Oak Model License", "BlueOak-1.0.0"},
		{"two at once", apacheText + "\n\n" + mitText, "Apache-2.0 MIT"},

		{"GPL in a comment", gplText, "GPL"},
		{"GPL beside Apache", apacheText + gplText, "GPL Apache-2.0"},
		{"LGPL", lgplText, "LGPL"},
		{"AGPL", "GNU AFFERO GENERAL PUBLIC LICENSE", "AGPL"},
		{"MPL", mplText, "MPL-2.0"},
		{"Eclipse", "Eclipse Public License - v 2.0", "EPL-2.0"},
		{"BUSL", "Business Source License 1.1", "BUSL-1.1"},
		{"SSPL", "Server Side Public License\nVERSION 1", "SSPL-1.0"},
		{"Elastic", "Elastic License 2.0", "Elastic-2.0"},
		{"share alike", "Creative Commons Attribution-ShareAlike 4.0 International", "CC-BY-SA-4.0"},
		{"Commons Clause on MIT", "\"Commons Clause\" License Condition v1.0\n" + mitText, "Commons-Clause MIT"},

		{"mentions a licence in passing", "Toolkits under other licences (eg LGPL) are acceptable", ""},
		{"no licence", "How to build: run make.", ""},
		{"nothing", "", ""},
	} {
		if got := strings.Join(ofText(test.text), " "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestSignsHaveVerdicts: ofName must know every name that ofText can return, with the right
// verdict.
func TestSignsHaveVerdicts(t *testing.T) {
	restricted := true
	for _, sign := range signs() {
		verdict := ofName(sign.name)
		if verdict == Unknown {
			t.Errorf("%s: not understood by name", sign.name)
		}
		if verdict == Restricted && !restricted {
			t.Errorf("%s: a restricted licence after a permissive one", sign.name)
		}
		restricted = verdict == Restricted
	}
}

func TestForbids(t *testing.T) {
	long := strings.Repeat("x := 1\n", 4000)
	for _, test := range []struct {
		name, text string
		want       bool
	}{
		{"GPL header", "/*\n * " + gplText + "\n */\nint x;", true},
		{"LGPL header", "# under the terms of the GNU Lesser General Public License", true},
		{"MPL header", "This Source Code Form is subject to the terms of the Mozilla Public\n * License, v. 2.0.", true},
		{"SPDX", "// SPDX-License-Identifier: GPL-2.0-only\npackage x", true},
		{"SPDX with a choice", "/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */", false},
		{"SPDX permissive", "// SPDX-License-Identifier: Apache-2.0", false},
		{"at the end of a man page", long + "\n.SH LICENSE\nunder the terms of the GNU General Public License", true},
		{"in the middle of a long file", long + gplText + long, false},
		{"mentioned", "The GNU General Public License is explained in chapter 3.", false},
		{"MIT", mitText, false},
		{"empty", "", false},
	} {
		if got := Forbids([]byte(test.text)); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
