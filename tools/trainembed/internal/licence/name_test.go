package licence

import "testing"

func TestOfExpression(t *testing.T) {
	for _, test := range []struct {
		expression string
		want       Verdict
	}{
		{"MIT", Permissive},
		{"Expat", Permissive},
		{"BSD-3-clause", Permissive},
		{"APACHE-2-LLVM-EXCEPTIONS", Permissive},
		{"PSF-2.0", Permissive},
		{"Artistic-2.0", Permissive},
		{"public-domain", Permissive},
		{"BlueOak-1.0.0", Permissive},
		{"CC0-1.0", Permissive},
		{"BSL-1.0", Permissive},
		{"CC-BY-4.0", Permissive},
		{"GPL-1+ or Artistic", Permissive},
		{"(MIT OR GPL-3.0-or-later)", Permissive},
		{"(Zlib OR MIT OR Apache-2.0)", Permissive},
		{"MIT or GPL-2 or Apache-2.0", Permissive},
		{"Expat and BSD-3-clause", Permissive},
		{"MIT, BSD-2-clause, and ISC", Permissive},

		{"GPL-2+", Restricted},
		{"LGPL-2.1+", Restricted},
		{"AGPL-3.0-only", Restricted},
		{"GPL-2+ with Autoconf-data exception", Restricted},
		{"LGPL-3+link", Restricted},
		{"MPL-2.0", Restricted},
		{"EPL-2.0", Restricted},
		{"CC-BY-SA-4.0", Restricted},
		{"CC-BY-SA-4", Restricted},
		{"CC-BY-NC-4.0", Restricted},
		{"BUSL-1.1", Restricted},
		{"BSL-1.1", Restricted},
		{"SSPL-1.0", Restricted},
		{"Elastic-2.0", Restricted},
		{"OFL-1.1", Restricted},
		{"UNLICENSED", Restricted},
		{"Expat and GPL-2+", Restricted},
		{"Cisco and GPL-2+", Restricted},
		{"Apache-2.0 and BSD-3-clause and CC-BY-SA-4.0", Restricted},
		{"(Apache-2.0 or LGPL-3.0) and (LGPL-3.0 or GPL-2.0)", Restricted},
		{"Expat or BSD-3-clause, and GPL-2", Restricted},
		{"DONT-CHANGE-THE-GPL", Restricted},

		{"", Unknown},
		{"Cisco", Unknown},
		{"Apache-2.0 and Cisco", Unknown},
		{"MIT or", Permissive},
		{"or", Unknown},
		{"MIT ) ISC", Unknown},
	} {
		if got := OfExpression(test.expression, nil); got != test.want {
			t.Errorf("OfExpression(%q) = %v, want %v", test.expression, got, test.want)
		}
	}
}

func FuzzOfExpression(f *testing.F) {
	for _, seed := range []string{"MIT", "(A or B) and C, and D", "((((", "a , , or and )", "GPL-2+ with x exception"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		if OfExpression(expression, func(string) Verdict { return Restricted }) == Permissive {
			t.Errorf("%q: permissive, though no part is", expression)
		}
		if OfExpression(expression, func(string) Verdict { return Unknown }) != Unknown {
			t.Errorf("%q: understood, though no part is", expression)
		}
	})
}
