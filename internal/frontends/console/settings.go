package console

import (
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/identity"
)

// settingsPage is the data of the settings page.
type settingsPage struct {
	Settings []Setting
	Identity string
	Person   identity.Person
	Rules    []toolRules // of the operator, by tool
	Reloaded bool        // the configuration was just reloaded
	Restart  []string    // the settings that then need a restart

	Sets                          []setRow
	Root, Data, Database, Version string
	ReadOnly                      bool
	Approve                       string // what happens to calls that need approval
	Checks                        []checkRow
	Healthy                       bool // every check passed
}

func (v *visit) settings() error { return v.showSettings(settingsPage{}) }

// reload reads the configuration again, and shows the settings.
func (v *visit) reload() error {
	if err := v.auditReady("reloaded"); err != nil {
		return err
	}
	restart, err := v.Reload()
	if err != nil {
		err = contract.Errorf(contract.Invalid, "The configuration is not valid, so nothing was reloaded: %s", err)
	}
	v.record("console/reload", v.person, err, jsontree.M("restart_for", jsontree.Str(strings.Join(restart, ","))))
	if err != nil {
		return err
	}
	return v.showSettings(settingsPage{Reloaded: true, Restart: restart})
}

func (v *visit) showSettings(page settingsPage) error {
	page.Settings, page.Identity, page.Person, page.Rules, page.Sets = v.Settings(), v.Identity(), v.person, v.operatorRules(), v.sets()
	page.Root, page.Version, page.ReadOnly, page.Approve = v.Root, v.Version, v.Engine.ReadOnly, v.setting("approve")
	page.Data, page.Database = v.setting("data"), v.setting("database")
	page.Checks, page.Healthy = v.checks()
	return v.page("settings", "settings", "Settings", page)
}
