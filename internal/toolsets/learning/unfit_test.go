package learning

import "testing"

func TestUnfit(t *testing.T) {
	for _, text := range []string{
		"- Look at the data first.", "1 < 2 and 3 > 2", "a <br> b <kbd>Ctrl</kbd>", "`Vec<u8>` and List<String>", "<https://example.com/a?b=c>",
		"[docs](https://example.com)", "- In JavaScript: use const", "tabs\tand\r\nlines", "<-- an arrow", "x <= y", "é ü 漢字 🙂", "Use &lt;script&gt; with care",
	} {
		if why := unfit(text); why != "" {
			t.Errorf("%q is refused: %s", text, why)
		}
	}
	for _, text := range []string{
		"<script>alert(1)</script>", "<SCRIPT src=//x>", "</script>", "<script\n>", "<img src=x onerror=alert(1)>", `<img title=">" onerror=alert(1) src=x>`,
		"<svg/onload=alert(1)>", "<svg>", "<img src=x", "text <a", "<form action=javascript:x>", "<iframe src=x>", "<style>", "<!-- hidden -->", "<?php", "<b onclick=x>",
		"[x](javascript:alert(1))", "[x](java&#115;cript:alert(1))", "[x]( java\tscript:alert(1))", "[x]: javascript:alert(1)", "<javascript:alert(1)>",
		"[x](data:text/html;base64,AAAA)", "bell \a", "escape \x1b[31m", "lone \r return", "nul \x00",
	} {
		if unfit(text) == "" {
			t.Errorf("%q is kept", text)
		}
	}
}
