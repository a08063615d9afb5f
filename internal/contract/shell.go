package contract

import "strings"

// ShellLine writes words so that a shell takes each of them as it is: a ~ could become a folder.
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
