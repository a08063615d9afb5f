package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestOwnName checks how hints name this program. It changes the current folder and PATH.
func TestOwnName(t *testing.T) {
	top := realPath(t.TempDir())
	program := filepath.Join(top, "my bin", "remit")
	if err := errors.Join(os.MkdirAll(filepath.Dir(program), 0o755), os.MkdirAll(filepath.Join(top, "repo", "cmd", "remit"), 0o755),
		os.WriteFile(program, nil, 0o755), os.Mkdir(filepath.Join(top, "go-build1"), 0o755), os.WriteFile(filepath.Join(top, "go-build1", "remit"), nil, 0o755),
	); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, program, here, path, variable, want string }{
		{"on PATH", program, top, filepath.Dir(program), "", "remit"},
		{"in another folder", program, filepath.Join(top, "repo"), "", "", "'" + program + "'"},
		{"below this folder", program, top, "", "", "'./my bin/remit'"},
		{"in this folder", program, filepath.Dir(program), "", "", "./remit"},
		{"started by go run", filepath.Join(top, "go-build1", "remit"), filepath.Join(top, "repo"), "", "", "go run ./cmd/remit"},
		{"by a script", program, top, filepath.Dir(program), "/demo/remit", "/demo/remit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(c.here)
			t.Setenv("PATH", c.path)
			p := &Program{Executable: func() (string, error) { return c.program, nil }, Env: func(string) (string, bool) { return c.variable, true }}
			if got := p.ownName(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if got, want := p.hint(`run "remit tasks" of remit.yaml`), `run "`+c.want+` tasks" of remit.yaml`; got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if got, want := p.errorHint(`the remit user runs "remit tasks"`), `the remit user runs "`+c.want+` tasks"`; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// TestUntilSignals checks that the first signal ends the context, and that the second one does not
// wait.
func TestUntilSignals(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 2)
	hung := make(chan struct{})
	defer close(hung)
	err := untilSignals(t.Context(), signals, func(ctx context.Context) error {
		signals <- os.Interrupt
		<-ctx.Done()
		signals <- os.Interrupt
		<-hung
		return nil
	})
	if err == nil {
		t.Error("the second signal is no error")
	}
	err = untilSignals(t.Context(), signals, func(ctx context.Context) error {
		signals <- os.Interrupt
		<-ctx.Done()
		return nil
	})
	if err != nil {
		t.Errorf("after one signal: %v", err)
	}
}
