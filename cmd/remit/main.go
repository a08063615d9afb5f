// Command remit gives AI agents a workspace they cannot wreck.
package main

import (
	"os"

	"remit/internal/app"
)

func main() {
	os.Exit(app.Main(os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr))
}
