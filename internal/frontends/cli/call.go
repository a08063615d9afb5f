package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
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
		RunE: p.withSession(func(cmd *cobra.Command, s *session, args []string) error {
			if cmd.Flags().Changed("json") && strings.TrimSpace(document) == "" {
				return usageError{errors.New("--json is empty; give a JSON object, or - to read it from stdin")}
			}
			if cmd.Flags().Changed("idempotency-key") {
				if err := idempotency.CheckKey(key); err != nil {
					return usageError{errors.New(contract.AsError(err).Message)}
				}
			}
			root, here, err := p.here(cmd)
			if err != nil {
				return err
			}
			hint := func(given jsontree.Value) { p.pathHint(root, here, given) }
			return p.call(cmd.Context(), s, engine.Call{Tool: args[0], Key: key}, args[1:], document, hint)
		}),
	}
	c.Flags().StringVar(&document, "json", "", "all arguments as one JSON object, or - to read it from stdin")
	c.Flags().StringVar(&key, "idempotency-key", "", "unique key of your choice for this call; a repeated call with "+
		"the same key returns the first result and does not run again")
	return c
}

func (p *Program) call(ctx context.Context, s *session, call engine.Call, pairs []string, document string,
	notFound func(args jsontree.Value),
) error {
	tool, err := s.find(ctx, call.Tool)
	kind := engine.UnknownTool
	if err == nil {
		kind = engine.NoCall
		call.Args, err = p.arguments(tool, pairs, document)
	}
	if err != nil {
		s.refused(ctx, kind, call.Tool)
		return usageError{err}
	}
	call.Dialogue = true // terminal asks at the controlling terminal
	call.Trace = p.trace()
	result, err := s.call(ctx, call)
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
		p.printDeciding(requestOf(result.Err))
		return failure{ExitPending}
	case result.Err.Kind == contract.NotFound || result.Err.Kind == contract.Denied:
		notFound(call.Args)
	}
	return failure{ExitFailed}
}

// pathHint says which path was probably meant, if an argument names a file relative to the current
// folder: tools take paths from the root of the workspace.
func (p *Program) pathHint(root, here string, args jsontree.Value) {
	for _, m := range args.Members {
		if here == "" || m.Value.Kind != jsontree.String || !filepath.IsLocal(m.Value.Text) {
			continue
		}
		_, fromHere := os.Lstat(m.Value.Text)
		if _, fromRoot := os.Lstat(filepath.Join(root, m.Value.Text)); fromHere == nil && fromRoot != nil {
			fmt.Fprintf(p.Stderr, "remit: paths are relative to the workspace %s; try %s\n", root,
				contract.ShellLine(m.Key+"="+path.Join(here, filepath.ToSlash(m.Value.Text))))
		}
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

func (p *Program) arguments(tool toolInfo, pairs []string, document string) (jsontree.Value, error) {
	schema, err := jsontree.ParseTrusted(tool.Input)
	if err != nil {
		return schema, fmt.Errorf("read the schema of the tool: %w", err)
	}
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
		if strings.HasPrefix(pair, "{") {
			return args, fmt.Errorf("argument %q is not of the form key=value; write --json before a JSON object", pair)
		}
		key, text, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return args, fmt.Errorf("argument %q is not of the form key=value", pair)
		}
		if _, twice := args.Get(key); twice {
			return args, fmt.Errorf("argument %q is given twice", key)
		}
		value, err := typed(&schema, key, text)
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
func typed(schema *jsontree.Value, key, text string) (jsontree.Value, error) {
	property := schema.At("properties", key)
	if kind := property.Field("type"); kind.Text != "string" && kind.Text != "" {
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

// callTool calls a tool for a command that prints its answer for people, and returns the answer. An
// error of the tool is a *refusal. replayed means that the call was made before.
func (s *session) callTool(ctx context.Context, call engine.Call) (body jsontree.Value, replayed bool, err error) {
	call.Args.Raw = call.Args.Append(nil)
	call.Dialogue = true // terminal asks at the controlling terminal
	result, err := s.call(ctx, call)
	switch {
	case err != nil && contract.AsError(err).Kind != contract.NotFound:
		return body, false, err
	case err != nil: // it is part of the toolset, so a rule hides it
		return body, false, fmt.Errorf("%s is not available: the configuration file hides it", call.Tool)
	}
	body, err = jsontree.ParseTrusted(result.Body)
	if err != nil {
		return body, false, fmt.Errorf("read the answer of %s: %w", call.Tool, err)
	}
	if result.Err != nil {
		return body, false, &refusal{kind: result.Err.Kind, message: body.At("error", "message").Text, request: requestOf(result.Err)}
	}
	return body, result.Replayed, nil
}
