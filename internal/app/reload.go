package app

import (
	"log/slog"
	"reflect"
	"slices"
	"strings"

	"remit/internal/frontends/cli"
)

// reload reads the configuration again, and returns the settings that need a restart. Only the
// level of the log can change while the server runs: tools, approvals and stores are bound to the
// settings that they were opened with. The log says the same.
func (a *App) reload() (restart []string, err error) {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	fresh, err := a.settings.Reload()
	if err != nil {
		a.log.Warn("the configuration is not valid, so nothing was reloaded", "error", err)
		return nil, err
	}
	level := fresh.LogLevel
	if fresh.Origin("log_level") == cli.FromDefault {
		level = slog.LevelInfo
	}
	a.settings.Level.Set(level)
	for _, v := range fresh.Values() {
		isSame := func(old cli.Value) bool { return old.Key == v.Key && old.Value == v.Value }
		switch {
		case v.Key == "log_level":
			a.logLevel = &v
		case !slices.ContainsFunc(a.settings.Values(), isSame):
			restart = append(restart, v.Key)
		}
	}
	if !reflect.DeepEqual(fresh.Tools, a.settings.Tools) {
		restart = append(restart, "tools")
	}
	if len(restart) > 0 {
		a.log.Warn("the configuration was reloaded; restart the server for other changes", "log_level", level, "restart_for", strings.Join(restart, ","))
		return restart, nil
	}
	a.log.Info("the configuration was reloaded", "log_level", level)
	return nil, nil
}

// settingsInForce returns all settings, with what was reloaded.
func (a *App) settingsInForce() []cli.Value {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	values := slices.Clone(a.settings.Values())
	for i := range values {
		if values[i].Key == "log_level" && a.logLevel != nil {
			values[i] = *a.logLevel
		}
	}
	return values
}
