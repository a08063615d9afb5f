package cli

import (
	"github.com/spf13/cobra"
)

func (p *Program) configCommand() *cobra.Command {
	return group("config", p.configPrint())
}

func (p *Program) configPrint() *cobra.Command {
	return p.withJSON("print as JSON", &cobra.Command{
		Use:  "print",
		Args: cobra.NoArgs,
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
