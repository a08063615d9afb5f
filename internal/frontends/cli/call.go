package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/idempotency"
	"remit/internal/engine/telemetry"
)

// LocalPrincipal is the principal of calls from the command line and over stdio.
const LocalPrincipal = "local"

func (p *Program) callCommand() *cobra.Command {
	var document, key string
	c := &cobra.Command{
		Use:               "call TOOL [key=value ...]",
		Args:              atLeastOneArg("a tool is missing: remit call TOOL [key=value ...]; \"remit tools\" lists the tools"),
		ValidArgsFunction: p.completeCall,
		RunE: p.with(func(cmd *cobra.Command, w Workspace, args []string) error {
			if cmd.Flags().Changed("json") && strings.TrimSpace(document) == "" {
				return usageError{errors.New("--json is empty; give a JSON object, or - to read it from stdin")}
			}
			if cmd.Flags().Changed("idempotency-key") {
				if err := idempotency.CheckKey(key); err != nil {
					return usageError{errors.New(contract.AsError(err).Message)}
				}
			}
			return p.call(cmd.Context(), w, engine.Call{Tool: args[0], Key: key}, args[1:], document)
		}),
	}
	c.Flags().StringVar(&document, "json", "", "all arguments as one JSON object, or - to read it from stdin")
	c.Flags().StringVar(&key, "idempotency-key", "", "unique key of your choice for this call; a repeated call with "+
		"the same key returns the first result and does not run again")
	return c
}

func (p *Program) call(ctx context.Context, w Workspace, call engine.Call, pairs []string, document string) error {
	e := w.Engine()
	tool, err := e.Find(call.Tool)
	kind := engine.UnknownTool
	if err == nil {
		kind = engine.NoCall
		call.Args, err = p.arguments(tool, pairs, document)
	}
	if err != nil {
		if w.Identity().HasRecords() {
			e.Refused(ctx, kind, engine.Requester{Principal: LocalPrincipal, Frontend: viaTerminal, Client: "remit/" + p.Version}, call.Tool)
		}
		return usageError{err}
	}
	call.Principal, call.Frontend, call.Client, call.Peer = LocalPrincipal, "cli", "remit/"+p.Version, terminal{p}
	call.Dialogue = true // terminal asks at the controlling terminal
	call.Trace = p.trace()
	result, err := e.Call(ctx, call)
	if err != nil {
		return err
	}
	if err := p.printBody(result.Body); err != nil {
		return err
	}
	p.printNotes(&result)
	switch {
	case result.Err == nil:
		return nil
	case result.Err.Kind == contract.Pending:
		return failure{ExitPending}
	default:
		return failure{ExitFailed}
	}
}

// trace returns the trace context of the parent process, from the variables of OpenTelemetry.
func (p *Program) trace() string {
	parent, _ := p.Env("TRACEPARENT")
	state, _ := p.Env("TRACESTATE")
	return telemetry.Parent(parent, state)
}

// printNotes prints remarks for people that are not part of the result.
func (p *Program) printNotes(result *engine.Result) {
	if result.Replayed {
		fmt.Fprintln(p.Stderr, "(replayed: the key was used before, so the tool did not run again)")
	}
	if note := result.Metadata.Field("note"); note.Text != "" {
		fmt.Fprintf(p.Stderr, "(%s)\n", note.Text)
	}
	switch notes := result.Truncation; {
	case notes.Truncated && notes.Total >= 0:
		fmt.Fprintf(p.Stderr, "(truncated: showing %d of %d)\n", notes.Shown, notes.Total)
	case notes.Truncated:
		fmt.Fprintf(p.Stderr, "(truncated: showing %d, and there are more)\n", notes.Shown)
	}
}

// printBody prints JSON: indented on a terminal, and for scripts byte for byte what the other
// front ends send.
func (p *Program) printBody(body []byte) error {
	if isTerminal(p.Stdout) {
		var pretty bytes.Buffer
		if json.Indent(&pretty, body, "", "  ") == nil {
			body = pretty.Bytes()
		}
	}
	_, err := fmt.Fprintf(p.Stdout, "%s\n", body)
	return err
}

func (p *Program) arguments(tool *engine.Tool, pairs []string, document string) (jsontree.Value, error) {
	args := jsontree.Obj()
	if document != "" {
		parsed, err := p.parseDocument(document)
		if err != nil {
			return args, err
		}
		args = parsed
	}
	if len(pairs) > 0 && args.Kind != jsontree.Object {
		return args, errors.New("--json must be an object when key=value arguments follow")
	}
	for _, pair := range pairs {
		key, text, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return args, fmt.Errorf("argument %q is not of the form key=value", pair)
		}
		if _, twice := args.Get(key); twice {
			return args, fmt.Errorf("argument %q is given twice", key)
		}
		value, err := typed(tool, key, text)
		if err != nil {
			return args, err
		}
		args.Members = append(args.Members, jsontree.Member{Key: key, Value: value})
	}
	args.Raw = args.Append(nil)
	return args, nil
}

func (p *Program) parseDocument(document string) (jsontree.Value, error) {
	data := []byte(document)
	if document == "-" {
		var err error
		if data, err = io.ReadAll(p.Stdin); err != nil {
			return jsontree.Value{}, fmt.Errorf("read arguments from stdin: %w", err)
		}
	}
	args, err := jsontree.Parse(data)
	if err != nil {
		return args, fmt.Errorf("--json is not valid JSON: %w", err)
	}
	return args, nil
}

// typed parses a value by its type in the contract. A value that does not parse stays text, and the
// check of the contract explains what is wrong. Only text that was clearly meant as JSON is
// rejected here, because this error can say where the JSON is wrong.
func typed(tool *engine.Tool, key, text string) (jsontree.Value, error) {
	property := tool.Input.Field("properties")
	schema := property.Field(key)
	if kind := schema.Field("type"); kind.Text != "string" && kind.Text != "" {
		v, err := jsontree.Parse([]byte(text))
		if err == nil {
			return v, nil
		}
		if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			return v, fmt.Errorf("%s is not valid JSON: %w", key, err)
		}
	}
	v := jsontree.Str(text)
	v.Raw = v.Append(nil)
	return v, nil
}
