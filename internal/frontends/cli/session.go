package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/toolsets/codebase"
	"remit/internal/toolsets/codebase/knowledge"
)

// session runs a command on the server of the workspace. If there is none, or if it ends, the
// session opens the workspace in this process.
type session struct {
	program  *Program
	settings Settings
	log      *slog.Logger
	server   *remote   // nil if the session works alone
	opened   Workspace // nil until it is needed
}

// withSession returns a runFunc that runs body with a session. The toolsets are those of prepare.
func (p *Program) withSession(body func(cmd *cobra.Command, s *session, args []string) error, toolsets ...string) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		settings, log, err := p.prepare(cmd, toolsets...)
		if err != nil {
			return err
		}
		s := &session{program: p, settings: settings, log: log}
		if p.Connect != nil {
			if conn := p.Connect(cmd.Context(), settings, log); conn != nil {
				s.server = newRemote(conn)
			}
		}
		return errors.Join(body(cmd, s, args), s.close())
	}
}

func (s *session) close() error {
	if s.server != nil {
		_ = s.server.conn.Close() // everything was answered
	}
	if s.opened == nil {
		return nil
	}
	return s.opened.Close()
}

// workspace opens the workspace in this process.
func (s *session) workspace(ctx context.Context) (Workspace, error) {
	if s.opened != nil {
		return s.opened, nil
	}
	w, err := s.program.openWith(ctx, &s.settings, s.log)
	s.opened = w
	return w, err
}

// errLost means that the server ended before it answered, and that the request can be repeated.
var errLost = errors.New("the server of this workspace has ended")

// isLost reports whether the server has ended. The session then works alone.
func (s *session) isLost(err error) bool {
	if !errors.Is(err, errLost) {
		return false
	}
	s.log.Info("the server of this workspace ended, so this command goes on alone")
	_ = s.server.conn.Close()
	s.server = nil
	return true
}

// knowledgeResult is the answer to a search for knowledge, with the state of the index after it was
// updated.
type knowledgeResult struct {
	Answer knowledge.Answer
	State  knowledge.State
}

// knowledge updates the index and, unless the query is nil, searches it.
func (s *session) knowledge(ctx context.Context, q *knowledge.Query, report func(knowledge.State)) (knowledgeResult, error) {
	if s.server != nil {
		if found, err := s.server.knowledge(ctx, q, report); !s.isLost(err) {
			return found, err
		}
	}
	w, err := s.workspace(ctx)
	if err != nil {
		return knowledgeResult{}, err
	}
	return searchKnowledge(ctx, w.Knowledge(), q, report)
}

func searchKnowledge(
	ctx context.Context, index *knowledge.Index, q *knowledge.Query, report func(knowledge.State),
) (found knowledgeResult, err error) {
	err = index.Run(ctx, report)
	found.State = index.State()
	if err == nil && q != nil {
		found.Answer, err = index.Search(ctx, *q)
	}
	return found, err
}

var _ CodeSearcher = (*session)(nil)

// Grep implements CodeSearcher.
func (s *session) Grep(ctx context.Context, q codebase.LineQuery, each func(codebase.Found) bool) (codebase.Summary, error) {
	if s.server != nil {
		delivered := false
		found, err := s.server.grep(ctx, q, func(f codebase.Found) bool { delivered = true; return each(f) })
		if lost := s.isLost(err); !lost || delivered {
			return found, interrupted(err)
		}
	}
	w, err := s.workspace(ctx)
	if err != nil {
		return codebase.Summary{}, err
	}
	return w.Code().Grep(ctx, q, each)
}

// Files implements CodeSearcher.
func (s *session) Files(ctx context.Context, only codebase.Selection, each func(path string) bool) (complete bool, err error) {
	if s.server != nil {
		delivered := false
		complete, err := s.server.files(ctx, only, func(path string) bool { delivered = true; return each(path) })
		if lost := s.isLost(err); !lost || delivered {
			return complete, interrupted(err)
		}
	}
	w, err := s.workspace(ctx)
	if err != nil {
		return false, err
	}
	return w.Code().Files(ctx, only, each)
}

// Missing implements CodeSearcher.
func (s *session) Missing(ctx context.Context, only codebase.Selection) ([]string, error) {
	if s.server != nil {
		if missing, err := s.server.missing(ctx, only); !s.isLost(err) {
			return missing, err
		}
	}
	w, err := s.workspace(ctx)
	if err != nil {
		return nil, err
	}
	return w.Code().Missing(ctx, only)
}

// interrupted returns the error of a search that had printed something when the server ended.
func interrupted(err error) error {
	if errors.Is(err, errLost) {
		return fmt.Errorf("%w, so the output is incomplete; run the command again", errLost)
	}
	return err
}

// toolInfo is what the command line must know about a tool to call it.
type toolInfo struct {
	Input    []byte // the schema, as JSON
	ReadOnly bool
}

// find returns a tool by its name.
func (s *session) find(ctx context.Context, name string) (toolInfo, error) {
	if s.server != nil {
		if found, err := s.server.find(ctx, name); !s.isLost(err) {
			return found, err
		}
	}
	w, err := s.workspace(ctx)
	if err != nil {
		return toolInfo{}, err
	}
	return findTool(w.Engine(), name)
}

func findTool(e *engine.Engine, name string) (toolInfo, error) {
	tool, err := e.Find(name)
	if err != nil {
		return toolInfo{}, err
	}
	return toolInfo{tool.Input.Append(nil), tool.Hints.ReadOnly}, nil
}

// call calls a tool as the person at the command line.
func (s *session) call(ctx context.Context, call engine.Call) (engine.Result, error) {
	call.Principal, call.Frontend, call.Client, call.Peer = LocalPrincipal, "cli", "remit/"+s.program.Version, terminal{s.program}
	if s.server != nil {
		if result, err := s.server.call(ctx, call); !s.isLost(err) {
			return result, err
		}
	}
	w, err := s.workspace(ctx)
	if err != nil {
		return engine.Result{}, err
	}
	return w.Engine().Call(ctx, call)
}

// refused records that the arguments of a call could not be read, if the workspace has records.
func (s *session) refused(ctx context.Context, kind engine.RefusalKind, tool string) {
	if s.server != nil && !s.isLost(s.server.refused(ctx, kind, tool)) {
		return
	}
	if w, err := s.workspace(ctx); err == nil && w.Identity().HasRecords() {
		from := engine.Requester{Principal: LocalPrincipal, Frontend: viaTerminal, Client: "remit/" + s.program.Version}
		w.Engine().Refused(ctx, kind, from, tool)
	}
}

// hasData reports whether something is stored in the database. A server stores what it needs. It is
// called after the session has opened the workspace, if there is no server.
func (s *session) hasData() bool { return s.server != nil || s.opened != nil && s.opened.HasData() }

// pingDatabase is Workspace.PingDatabase of a session that works alone.
func (s *session) pingDatabase(ctx context.Context) error {
	if s.server != nil {
		return nil // the server did that when it started
	}
	w, err := s.workspace(ctx)
	if err != nil {
		return err
	}
	return w.PingDatabase(ctx)
}

// unknownOutcome is the error of a call that the server may have carried out before it ended.
func unknownOutcome(tool string) error {
	return contract.Errorf(contract.Unavailable, "the server of this workspace ended during the call of %s, so it is not known whether "+
		"the call was carried out; check that before you call again, and use --idempotency-key to make repeats safe", tool)
}

// ServerConn is a connection to a server that calls ServeCommands.
type ServerConn = io.ReadWriteCloser
