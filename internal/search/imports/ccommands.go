package imports

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"
)

// maxCommands is the maximum size of a compile_commands.json: a larger one would take too long.
const maxCommands = 8 << 20

// A compileCommand is an entry of compile_commands.json.
type compileCommand struct {
	Directory string   `json:"directory"`
	Command   string   `json:"command"`
	Arguments []string `json:"arguments"`
	File      string   `json:"file"`
}

// compileFolders returns the folders of the workspace in which a build searches for headers: those
// of the file's own command or, for a header, those of all commands.
func compileFolders(files Files, from string) []string {
	commands := readCommands(files, from)
	root, ok := workspaceRoot(files, commands)
	if !ok {
		return nil
	}
	var own, all []string
	seen := map[string]bool{}
	for _, c := range commands {
		isOwn := c.absolute(c.File) == path.Join(root, from)
		for _, folder := range c.includes() {
			inside, ok := strings.CutPrefix(c.absolute(folder)+"/", strings.TrimSuffix(root, "/")+"/")
			if !ok {
				continue
			}
			inside = path.Clean(inside)
			if isOwn {
				own = append(own, inside)
			}
			if !seen[inside] {
				seen[inside] = true
				all = append(all, inside)
			}
		}
		if isOwn {
			return own
		}
	}
	return all
}

// readCommands reads the nearest compile_commands.json: in a folder above the file, or in the usual
// build folders.
func readCommands(files Files, from string) []compileCommand {
	for folder := range upwards(path.Dir(from)) {
		for _, place := range []string{".", "build", "out", "cmake-build-debug", "cmake-build-release"} {
			content, err := files.Read(path.Join(folder, place, "compile_commands.json"))
			if err != nil || len(content) > maxCommands {
				continue
			}
			var commands []compileCommand
			if json.Unmarshal(bytes.TrimPrefix(content, []byte("\ufeff")), &commands) == nil {
				return commands
			}
		}
	}
	return nil
}

// workspaceRoot finds the workspace's path at the time when the commands were written: the path of
// one of their source files ends in that of a file of the workspace.
func workspaceRoot(files Files, commands []compileCommand) (string, bool) {
	for _, c := range commands[:min(len(commands), 20)] {
		file := c.absolute(c.File)
		for rest := strings.TrimPrefix(file, "/"); rest != ""; _, rest, _ = strings.Cut(rest, "/") {
			if files.Has(rest) {
				return path.Clean("/" + strings.TrimSuffix(strings.TrimSuffix(file, rest), "/")), true
			}
		}
	}
	return "", false
}

// absolute returns the path that a command refers to, with slashes; a path with a drive begins with
// a slash too.
func (c compileCommand) absolute(name string) string {
	name, folder := slashed(name), slashed(c.Directory)
	if !strings.HasPrefix(name, "/") {
		name = path.Join(folder, name)
	}
	return path.Clean("/" + name)
}

func slashed(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	if len(name) > 2 && name[1] == ':' && name[2] == '/' {
		return "/" + name
	}
	return name
}

// includes returns the folders in a command's options, in order.
func (c compileCommand) includes() []string {
	arguments := c.Arguments
	if len(arguments) == 0 {
		arguments = splitCommand(c.Command)
	}
	var found []string
	for i, argument := range arguments {
		for _, option := range []string{"-iquote", "-isystem", "-I", "/I", "-idirafter"} {
			folder, ok := strings.CutPrefix(argument, option)
			if ok && folder == "" && i+1 < len(arguments) {
				folder = arguments[i+1]
			}
			if ok && folder != "" {
				found = append(found, folder)
				break
			}
		}
	}
	return found
}

// splitCommand splits a command as a shell does, with quotes and backslashes. A backslash in a
// Windows path stays if it escapes nothing.
func splitCommand(command string) []string {
	var words []string
	var word strings.Builder
	var quote byte
	inWord := false
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case c == '\\' && quote != '\'' && i+1 < len(command) && strings.IndexByte(`"\ '`, command[i+1]) >= 0:
			i++
			word.WriteByte(command[i])
			inWord = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, inWord = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}
