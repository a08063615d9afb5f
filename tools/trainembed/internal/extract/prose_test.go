package extract

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

const (
	body  = "A request that fails is sent again after a pause, which doubles each time up to a minute."
	other = "Old entries are thrown away when the memory for them is full, the least used ones first."
)

func TestMarkdown(t *testing.T) {
	run(t, []example{
		{
			"headings", "README.md", "---\ntitle: Client\n---\n# Guide\n\n## Retries ##\n" + body + "\n\nCache\n-----\n> " + other + "\n",
			[]Pair{
				{"doc", "Retries - Guide - Client", body},
				{"doc", "Cache - Guide - Client", other},
			},
		},
		{"question", "a.md", "# FAQ\n## What if it **fails**?\n" + body + "\n", []Pair{{"doc", "What if it fails?", body}}},
		{
			"code, comments and tables", "a.md", "# Sending again\n<!-- hidden\nwords -->\n" + body + "\n```\n# not a heading\n```\n| a | b |\n",
			[]Pair{{"doc", "Sending again", body + " # not a heading"}},
		},
		{"list", "a.md", "# Sending again\n* [Some](http://x) `words` here\n* and ![no](x.png)" + body, []Pair{{"doc", "Sending again", "Some words here and " + body}}},
		{"log of changes", "a.md", "# 1.2.3 (2020)\n" + body, nil},
		{"licence", "LICENSE.md", "# Terms\n" + body, nil},
	})
}

func TestHTML(t *testing.T) {
	run(t, []example{
		{
			"headings", "a.html", "<html><head><title>Guide &mdash; Site</title><style>p{}</style></head><body><nav>Home</nav><h2>Re<b>tries</b><a class=\"headerlink\" href=\"#\">¶</a></h2><p>" + body + "<script>x<p></script></body>",
			[]Pair{{"doc", "Retries - Guide", body}},
		},
		{
			"definitions", "a.html", "<h1>Options of the server</h1><dl><dt>retry</dt><dd><p>" + body + "</p></dd><dt>Parameters:</dt><dd>" + other + "</dl>",
			[]Pair{{"doc", "Options of the server", "retry " + body + " Parameters: " + other}, {"term", "retry - Options of the server", body}},
		},
		{"nested elements that are dropped", "a.html", "<div class=\"sidebar\"><div>a</div>b</div><h1>Retries</h1>" + body, []Pair{{"doc", "Retries", body}}},
		{"not closed", "a.html", "<nav>x<h1>Retries<p>" + body + " <", []Pair{{"doc", "Retries", body + " <"}}},
	})
}

func TestStructured(t *testing.T) {
	run(t, []example{
		{
			"headings", "a.rst", "=====\nGuide\n=====\n\nRetries\n-------\n\n" + body + "\n\nCache\n-----\n\n.. image:: x.png\n   :alt: no\n\n.. note:: " + other + "\n",
			[]Pair{{"doc", "Retries - Guide", body}, {"doc", "Cache - Guide", other}},
		},
		{
			"definitions", "a.rst", "Options of the server\n=====================\n\nretry\n    " + body + "\n",
			[]Pair{{"doc", "Options of the server", "retry " + body}, {"term", "retry - Options of the server", body}},
		},
		{
			"described", "a.txt", "Options\n=======\n\n.. option:: --retry-after seconds\n\n   " + body + "\n",
			[]Pair{{"doc", "Options", "--retry-after seconds " + body}, {"term", "--retry-after seconds - Options", body}},
		},
		{"plain text", "a.txt", body + "\n\n" + other, nil},
	})
}

func TestPod(t *testing.T) {
	run(t, []example{{
		"headings and items", "lib/Client.pod", "=head1 Sending C<again>\n\n" + body + "\n\n=over\n\n=item X<index>retry of I<all> B<< calls >>\n\n" + other + "\n\n=cut\n",
		[]Pair{{"doc", "Sending again - Client", body + " retry of all calls " + other}, {"term", "retry of all calls", other}},
	}})
	run(t, []example{{
		"short item", "Client.pod", "=head1 Sending again\n\n=item retry\n\n" + other + "\n",
		[]Pair{{"doc", "Sending again - Client", "retry " + other}, {"term", "retry - Sending again", other}},
	}})
}

func TestManual(t *testing.T) {
	page := ".TH CLIENT 1\n.SH NAME\nclient \\- send \\fBrequests\\fR\n.SH DESCRIPTION\n" + body + "\n.TP\n.BR \\-\\-cache \" size\"\n" + other + "\n"
	want := []Pair{
		{"man", "DESCRIPTION - client send requests", body + " --cache size " + other},
		{"man", "--cache size - DESCRIPTION", other},
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write([]byte(page)); err != nil || writer.Close() != nil {
		t.Fatal(err)
	}
	run(t, []example{
		{"man", "usr/share/man/man1/client.1", page, want},
		{"packed", "usr/share/man/man1/client.1.gz", packed.String(), want},
		{"another language", "usr/share/man/de/man1/client.1", page, nil},
		{
			"mdoc", "usr/share/man/man1/client.1", ".Dd today\n.Sh NAME\n.Nm client\n.Nd send requests\n.Sh DESCRIPTION\n" + body + "\n.Bl\n.It Fl cache Ar size\n" + other + "\n.El\n",
			[]Pair{{"man", "DESCRIPTION - client send requests", body + " cache size " + other}, {"man", "cache size - DESCRIPTION", other}},
		},
	})
}

func TestDictionaries(t *testing.T) {
	run(t, []example{
		{
			"WordNet", "dict/data.noun", "  1 licence\n00001740 03 n 02 entity 0 living_thing 0 003 ~ 00001930 n 0000 | that which is perceived to have its own existence; \"it is of all things the first\"\n",
			[]Pair{
				{"syn", "entity, living thing", "that which is perceived to have its own existence"},
				{"syn", "entity, living thing - that which is perceived to have its own existence", "it is of all things the first"},
			},
		},
		{"WordNet relations", "dict/data.verb", strings.Join([]string{
			"00000100 29 v 01 walk 1 002 @ 00000200 v 0000 ! 00000200 v 0000 01 + 02 00 | use the feet to advance",
			"00000200 29 v 02 travel 0 go 1 000 | change the own location",
			"00000150 20 n 01 elm 0 001 @ 00000200 n 0000 | a tree with winged fruit",
			"00000300 29 v 01 Boston 0 001 @ 00000200 v 0000 | the capital of a state",
		}, "\n"), []Pair{
			{"syn", "walk", "use the feet to advance"},
			{"syn", "walk - use the feet to advance", "travel, go - change the own location"},
			{"syn", "travel, go", "change the own location"},
		}},
		{"Moby", "words.txt", "retry,again,another go,attempt,try,try over\n", []Pair{{"syn", "retry", "again, another go, attempt, try, try over"}}},
		{"another list", "lib/words.txt", "retry,again,another go,attempt,try,try over\n", nil},
	})
}

func TestLead(t *testing.T) {
	first := "The server keeps what it was asked for a while, e.g. Pages and images."
	pair, ok := lead(first + "\n" + body + " " + other)
	if want := (Pair{"lead", first, body + " " + other}); !ok || pair != want {
		t.Errorf("got %v, %v", pair, ok)
	}
	long := proseLeads(first + " " + body + " " + other + " " + strings.ToUpper(body))
	if len(long) != 2 || long[1].A != other || strings.Contains(long[1].B, other) {
		t.Errorf("the third sentence is not asked for: %v", long)
	}
}
