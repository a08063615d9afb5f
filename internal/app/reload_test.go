package app

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/frontends/cli"
)

// TestReload checks that a reload changes the level of the log, and names what needs a restart.
func TestReload(t *testing.T) {
	var out bytes.Buffer
	level := &slog.LevelVar{}
	fresh, failed := cli.Settings{LogLevel: slog.LevelDebug}, error(nil)
	a := &App{
		log:      slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})),
		settings: cli.Settings{Level: level, Reload: func() (cli.Settings, error) { return fresh, failed }},
	}
	var restart []string
	reload := func() {
		restart, _ = a.reload()
	}
	reload()
	if got := out.String(); level.Level() != slog.LevelInfo || !strings.Contains(got, "the configuration was reloaded") || strings.Contains(got, "restart") {
		t.Errorf("%v: %s", level, got) // the default of a server is info
	}
	out.Reset()
	fresh.Tools = map[string]contract.Tightening{"hello": {Hide: true}}
	reload()
	if got := out.String(); !strings.Contains(got, "restart_for=tools") || !slices.Equal(restart, []string{"tools"}) {
		t.Error(got)
	}
	out.Reset()
	failed = errors.New("remit.yaml:1:1: unknown key")
	level.Set(slog.LevelWarn)
	reload()
	if got := out.String(); level.Level() != slog.LevelWarn || !strings.Contains(got, "nothing was reloaded") || !strings.Contains(got, "unknown key") {
		t.Error(got)
	}
}
