package contract_test

import (
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// TestHide checks that a message keeps its words and loses what the record of its arguments hides,
// whole, quoted or in parts.
func TestHide(t *testing.T) {
	c := withInput(t, `{type: object, additionalProperties: false, properties: {
  path: {type: string, description: Which file}, limit: {type: integer, description: How many},
  content: {type: string, description: Private, x-redact: true}}}`)
	tests := []struct{ name, args, message, want string }{
		{"nothing hidden", `{"path":"a/b.md","limit":7}`, `No file "a/b.md" within 7`, `No file "a/b.md" within 7`},
		{"whole", `{"content":"hunter2hunter2"}`, "content hunter2hunter2 is taken", "content (redacted) is taken"},
		{"quoted", `{"content":"a\"b"}`, `content "a\"b" is taken`, `content (redacted) is taken`},
		{"short only in quotes", `{"content":"x"}`, `exceeds "x" by 1`, `exceeds (redacted) by 1`},
		{"a part", `{"content":"my diary of last summer"}`, "it begins with: my diary of la...", "it begins with: (redacted)..."},
		{"an unknown argument", `{"extra":{"deep":["opensesame"]}}`, "extra opensesame is unknown", "extra (redacted) is unknown"},
		{"a secret name", `{"api_token":123456789}`, "api_token 123456789 is unknown", "api_token (redacted) is unknown"},
		{"a long value", `{"path":"` + strings.Repeat("0123456789abcdef", 40) + `"}`, "no 0123456789abcdef0123 here", "no (redacted) here"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			args, err := jsontree.Parse([]byte(test.args))
			if err != nil {
				t.Fatal(err)
			}
			redacted := c.Redacted(&args)
			if got := contract.Hide(test.message, &args, &redacted); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
