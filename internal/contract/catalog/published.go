package catalog

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"remit/internal/contract"
)

// Published returns the sets that the version gate compares with: those of the
// compiled contracts in folder as they were last committed. What is not committed
// may still change freely. Without git it is the files as they lie there; an empty
// one has none.
func Published(ctx context.Context, folder string) ([]*contract.Set, error) {
	var sets []*contract.Set
	for _, name := range []string{catalogFile, hiddenFile} {
		data, err := committed(ctx, folder, name)
		if err != nil {
			return nil, fmt.Errorf("read the published catalog: %w", err)
		}
		if len(data) == 0 {
			continue
		}
		more, err := Decode(data)
		if err != nil {
			return nil, err
		}
		sets = append(sets, more...)
	}
	return sets, nil
}

// committed is a file as it was last committed: nothing, if it is new.
func committed(ctx context.Context, folder, name string) ([]byte, error) {
	git := func(args ...string) ([]byte, error) {
		command := exec.CommandContext(ctx, "git", args...)
		command.Dir = folder
		return command.Output()
	}
	if _, err := git("rev-parse", "--verify", "HEAD"); err != nil {
		return os.ReadFile(filepath.Join(folder, name))
	}
	data, err := git("show", "HEAD:./"+name)
	if err != nil {
		return nil, nil //nolint:nilerr // it is not in the commit
	}
	return data, nil
}
