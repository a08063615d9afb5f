package contract

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFormats(t *testing.T) {
	for _, tc := range []struct {
		format string
		good   []string
		bad    []string
	}{
		{"date", []string{"2026-01-09", "2024-02-29", "0000-01-01"}, []string{
			"", "2025-02-30", "2023-02-29", "2026-1-9", "2026-13-01", "2026-01-00", " 2026-01-09", "2026-01-09\n", "26-01-09", "2026/01/09",
			"2025-02-29", "1900-02-29", "2025-04-31", "12026-01-09", "-026-01-09", "2026-01-9", "2026-01-09T00:00:00Z", "20260109", "２026-01-09", "2026-01-+9",
		}},
		{"date-time", []string{
			"2026-01-09T10:30:00Z", "2026-01-09t10:30:00z", "2026-01-09T10:30:00.5Z", "2026-01-09T10:30:00.123456789123Z",
			"2026-01-09T10:30:00+23:59", "2026-01-09T10:30:00-00:00", "2016-12-31T23:59:60Z", "2016-12-31T18:59:60-05:00", "2017-01-01T05:29:60+05:30",
		}, []string{
			"", "yesterday", "2026-01-09", "2026-01-09T10:30Z", "2026-01-09T10:30:00", "2026-01-09 10:30:00Z", "2026-01-09T10:30:00,5Z", "2026-01-09T10:30:00.Z",
			"2026-01-09T1:30:00.0Z", "2026-01-09T+1:30:00Z", "2026-01-09T24:00:00Z", "2026-01-09T10:60:00Z", "2026-02-30T10:30:00Z",
			"2026-01-09T10:30:00+24:00", "2026-01-09T10:30:00+01:60", "2026-01-09T10:30:00+0100", "2026-01-09T10:30:00+1:00", "2026-01-09T10:30:00ZZ",
			"2016-12-31T22:59:60Z", "2016-12-31T23:59:61Z", "2026-01-09T10:30:00Z\n", "2026-01-09T10:30:00.5.5Z", "２026-01-09T10:30:00Z",
		}},
		{"uri", []string{
			"https://example.com/a", "http://foo.bar/?q=Test%20URL-encoded%20stuff", "http://xn--nw2a.xn--j6w193g/", "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com",
			"http://223.255.255.254", "ftp://ftp.is.co.za/rfc/rfc1808.txt", "ldap://[2001:db8::7]/c=GB?objectClass?one", "mailto:John.Doe@example.com",
			"news:comp.infosystems.www.servers.unix", "tel:+1-816-555-1212", "urn:oasis:names:specification:docbook:dtd:xml:4.1.2", "file:///etc/hosts", "a:", "http://a?b#c",
		}, []string{
			"", "//foo.bar/?baz=qux#quux", "/abc", `\\WINDOWS\fileshare`, "abc", "http:// shouldfail.com", ":// should fail", "bar,baz:foo", "1a:b",
			"https://[@example.org/test.txt", "https://example.org/foobar\\.txt", "https://example.org/foobar<>.txt", "https://example.org/foobar{}.txt",
			"https://example.org/foobar^.txt", "https://example.org/foobar`.txt", "https://example.org/foo bar.txt", "https://example.org/foobar|.txt",
			"https://example.org/é", "https://a/%zz", "https://a/%4", "https://a/[b]", "https://a/?[b]", "https://a/#b#c", "http://[::1", "http://[::g]/", "http://[1.2.3.4]/", "http://[12345::]/", "http://a:x/", "https://a\n",
		}},
	} {
		t.Run(tc.format, func(t *testing.T) {
			for _, text := range tc.good {
				if example := formatFault(tc.format, text); example != "" {
					t.Errorf("%q is refused", text)
				}
			}
			for _, text := range tc.bad {
				if example := formatFault(tc.format, text); example == "" {
					t.Errorf("%q is accepted", text)
				}
			}
		})
	}
	for name, f := range formats {
		if !f.valid(f.example) {
			t.Errorf("the example of %s, %q, is not one", name, f.example)
		}
	}
}

// TestURI: every URI that we accept is one for the oracle, and a URI that only we reject has a
// character that RFC 3986 does not allow there.
func TestURI(t *testing.T) {
	pieces := []string{"http", "urn", ":", ":", "//", "/", "a", "B", "9", ".", "@", "?", "#", "%41", "%", "[::1]", "[", "]", "é", " ", "<", "\\", "+", "-", ":80", "1.2.3.4"}
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
		if rapid.Bool().Draw(t, "begun") {
			text = "http://" + text
		}
		our, their := isURI(text), plainURI().Validate(text) == nil
		if our && !their {
			t.Fatalf("we accept %q, the oracle does not", text)
		}
		odd := strings.ContainsAny(text, "é <\\[]") || strings.Count(text, "#") > 1 || strings.Contains(strings.ReplaceAll(text, "%41", ""), "%")
		if their && !our && !odd {
			t.Fatalf("we refuse %q, the oracle does not", text)
		}
		if our {
			accepted++
		}
	})
	if accepted == 0 {
		t.Error("not one URI was accepted: the generator proves nothing")
	}
}
