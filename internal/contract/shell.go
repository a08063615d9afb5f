package contract

import "strings"

// ShellLine joins words and quotes them where needed, so that a shell changes none of them: it
// would expand a ~, for example.
func ShellLine(words ...string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@,+"
	line := make([]string, len(words))
	for i, word := range words {
		if line[i] = word; word == "" || strings.Trim(word, plain) != "" {
			line[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(line, " ")
}
