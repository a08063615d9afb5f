package app

import (
	"context"
	"io"
	"time"

	"remit/internal/frontends/cli"
	"remit/internal/frontends/mcp"
)

// rootsTimeout is how long a client may take to name its roots. Its other requests wait for that.
const rootsTimeout = 5 * time.Second

// askRoots implements cli.Program.AskRoots. The client gets the instructions of the folder in which
// the server was started, because the other folder is not known yet.
func askRoots(ctx context.Context, s cli.Settings, open cli.Opener, in io.Reader, out io.Writer) (*cli.ClientRoots, error) {
	factor, err := deadlineFactor(s)
	if err != nil {
		return nil, err
	}
	question := &mcp.RootsQuestion{Version: Version, Timeout: time.Duration(factor) * rootsTimeout, Instructions: func() (string, error) {
		w, err := open(ctx)
		if err != nil {
			return "", err
		}
		a := w.(*App)
		return a.instructions(a.sets, a.engine), a.Close()
	}}
	answer, err := question.Ask(ctx, in, out)
	if err != nil {
		return nil, err
	}
	return &cli.ClientRoots{Asked: answer.Asked, URIs: answer.URIs, Reason: answer.Reason, In: answer.In, Out: answer.Out}, nil
}
