// Command barehttp answers hello over HTTP with nothing but the standard library. It shows what
// "remit serve" would cost without any contract.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  struct {
		Name      string `json:"name"`
		Arguments struct {
			Name string `json:"name"`
		} `json:"arguments"`
	} `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  result          `json:"result"`
}

type result struct {
	Content    []text   `json:"content"`
	Structured greeting `json:"structuredContent"`
}

type text struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type greeting struct {
	Greeting string `json:"greeting"`
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it listens until the process ends
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s\n", listener.Addr())
	http.HandleFunc("POST /mcp", hello)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}

func hello(w http.ResponseWriter, r *http.Request) {
	var asked request
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer(&asked)); err != nil {
		log.Print(err)
	}
}

// answer returns the same answer as Remit, to the byte.
func answer(asked *request) response {
	greeted := greeting{"Hello, " + asked.Params.Arguments.Name + "!"}
	body, err := json.Marshal(greeted)
	if err != nil {
		log.Fatal(err)
	}
	return response{asked.Version, asked.ID, result{[]text{{"text", string(body)}}, greeted}}
}
