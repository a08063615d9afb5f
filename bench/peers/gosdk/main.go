// Command gosdk serves hello with the official Go SDK, written as its documentation shows. It is
// compared with "remit stdio".
package main

import (
	"context"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type person struct {
	Name string `json:"name,omitempty" jsonschema:"who to greet"`
}

type greeting struct {
	Greeting string `json:"greeting"`
}

func hello(_ context.Context, _ *mcp.CallToolRequest, who person) (*mcp.CallToolResult, greeting, error) {
	return nil, greeting{"Hello, " + who.Name + "!"}, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "gosdk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "hello", Description: "Greets."}, hello)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
