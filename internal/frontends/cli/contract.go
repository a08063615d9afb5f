package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
)

func (p *Program) contractLint() *cobra.Command {
	return p.withJSON("print the findings as JSON", &cobra.Command{
		Use:               "lint [DIR]",
		Aliases:           []string{"check", "validate"},
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: folders,
		RunE: func(_ *cobra.Command, args []string) error {
			sets, err := p.lintTarget(args)
			if err != nil {
				return err
			}
			return p.reportFindings(sets)
		},
	})
}

func (p *Program) lintTarget(args []string) ([]*contract.Set, error) {
	if len(args) == 0 {
		return p.Catalog()
	}
	if _, err := os.Stat(args[0]); err != nil {
		return nil, fmt.Errorf("read contracts: %w", err)
	}
	sets, err := contract.LoadAll(os.DirFS(args[0]))
	if err == nil && len(sets) == 0 {
		err = fmt.Errorf("no _set.yaml in %s or its subfolders", args[0])
	}
	return sets, err
}

func (p *Program) reportFindings(sets []*contract.Set) error {
	findings := []contract.Finding{}
	count := 0
	for _, set := range sets {
		findings = append(findings, set.Lint()...)
		count += len(set.Contracts)
	}
	return failedIf(len(findings) > 0, p.show(findings, func() {
		if len(findings) == 0 {
			fmt.Fprintf(p.Stdout, "%s, no findings.\n", contract.Count(count, "contract"))
		}
		for _, f := range findings {
			fmt.Fprintln(p.Stdout, f)
		}
	}))
}

func (p *Program) contractNew() *cobra.Command {
	return &cobra.Command{
		Use:               "new DIR NAME",
		Aliases:           []string{"create"},
		Args:              exactArgs(2),
		ValidArgsFunction: folders,
		RunE: func(_ *cobra.Command, args []string) error {
			return p.scaffold(args[0], args[1])
		},
	}
}

func (p *Program) scaffold(dir, name string) error {
	draft, err := contract.Draft(name)
	if err != nil {
		return usageError{err}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the folder: %w", err)
	}
	file := filepath.Join(dir, name+".yaml")
	if err := createFile(file, draft); err != nil {
		return fmt.Errorf("write the draft: %w", err)
	}
	set, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("name the set: %w", err)
	}
	err = createFile(filepath.Join(dir, "_set.yaml"), contract.DraftSet(filepath.Base(set)))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write the draft: %w", err)
	}
	fmt.Fprintf(p.Stdout, "Wrote %s. Now:\n"+
		"  1. Fill it in: description, input, output, limits, examples.\n"+
		"  2. Write the method and its line in the toolset's table:\n\n%s\n"+
		"  3. Run \"go generate ./... && go test ./...\": the examples are the tests.\n", file, contract.DraftHandler(name))
	return nil
}

// createFile writes a new file. It fails if the file exists.
func createFile(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

func (p *Program) contractDiff() *cobra.Command {
	return p.withJSON("print as JSON", &cobra.Command{
		Use:               "diff OLD NEW",
		Args:              exactArgs(2),
		ValidArgsFunction: files(0, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			return p.diff(args[0], args[1])
		},
	})
}

func (p *Program) diff(oldFile, newFile string) error {
	old, err := loadContracts(oldFile)
	if err != nil {
		return err
	}
	updated, err := loadContracts(newFile)
	if err != nil {
		return err
	}
	report := contract.Review(old, updated)
	tooLittle := slices.ContainsFunc(report, func(r contract.ToolReview) bool { return !r.Enough })
	return failedIf(tooLittle, p.show(report, func() { p.printReview(report) }))
}

func (p *Program) printReview(report []contract.ToolReview) {
	if len(report) == 0 {
		fmt.Fprintln(p.Stdout, "Nothing changed.")
		return
	}
	for _, r := range report {
		verdict := "enough"
		if !r.Enough {
			verdict = "too little"
		}
		fmt.Fprintf(p.Stdout, "%s: %s (version %s -> %s: %s)\n", r.Tool, r.Needed, r.Old, r.New, verdict)
		for _, c := range r.Changes {
			fmt.Fprintf(p.Stdout, "  %-5s  %s: %s\n", c.Bump, c.Where, c.What)
		}
	}
}

// loadContracts reads a catalog, or a single contract as a set of one.
func loadContracts(file string) ([]*contract.Set, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read contracts: %w", err)
	}
	if strings.HasSuffix(file, ".json") || bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return catalog.Decode(data)
	}
	c, err := contract.LoadFile(os.DirFS(filepath.Dir(file)), path.Base(filepath.ToSlash(file)))
	if err != nil {
		return nil, err
	}
	return []*contract.Set{{Name: c.Set, Shape: c.Shape, Contracts: []*contract.Contract{c}}}, nil
}
