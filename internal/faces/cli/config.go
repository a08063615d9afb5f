package cli

import (
	"github.com/spf13/cobra"
)

func (p *Program) configCommand() *cobra.Command {
	return group("config", "See the effective configuration",
		"Each setting can be given by flag, by environment variable and in remit.yaml, in this order of precedence.",
		p.configPrint())
}

func (p *Program) configPrint() *cobra.Command {
	return p.withJSON("print as JSON", &cobra.Command{
		Use:     "print",
		Short:   "Print every setting and where its value came from",
		Example: "  remit config print\n  REMIT_APPROVE=deny remit config print --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := resolveSettings(cmd.Flags(), p.Env)
			if err != nil {
				return usageError{err}
			}
			return p.show(settings.values, func() {
				var t table
				t.add("SETTING", "FROM", "VALUE")
				for _, v := range settings.values {
					t.add(v.Key, string(v.Origin), v.Value)
				}
				t.write(p.Stdout)
			})
		},
	})
}
