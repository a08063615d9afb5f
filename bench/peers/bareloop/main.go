// Command bareloop is the least that answers JSON lines in Go: the yardstick of a start.
package main

import (
	"bufio"
	"encoding/json"
	"os"
)

func main() {
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var request struct {
			ID     json.RawMessage
			Params struct{ Arguments struct{ Name string } }
		}
		if json.Unmarshal(line, &request) != nil {
			return
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": map[string]string{"message": "Hello, " + request.Params.Arguments.Name + "!"}}
		if out.Encode(answer) != nil {
			return
		}
	}
}
