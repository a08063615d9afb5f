package contract_test

import (
	"os/exec"
	"testing"

	"remit/internal/contract"
)

func TestShellLine(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"remit", "call", "a_b", "x=1.5", "--y", "/p/q:r@s,t+u"}, "remit call a_b x=1.5 --y /p/q:r@s,t+u"},
		{[]string{"~", "", "a b", "it's", "$x", "é", `{"a":"b"}`}, `'~' '' 'a b' 'it'\''s' '$x' 'é' '{"a":"b"}'`},
	} {
		if got := contract.ShellLine(c.words...); got != c.want {
			t.Errorf("%q is %s, want %s", c.words, got, c.want)
		}
		shell, err := exec.LookPath("sh")
		if err != nil {
			continue
		}
		for _, word := range c.words {
			out, err := exec.CommandContext(t.Context(), shell, "-c", "printf %s "+contract.ShellLine(word)).Output()
			if err != nil || string(out) != word {
				t.Errorf("a shell takes %q for %q: %v", word, out, err)
			}
		}
	}
}
