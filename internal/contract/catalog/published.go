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
// catalog.json in folder as it was last committed. What is not committed may still
// change freely. Without git it is the file as it lies there; an empty one has
// none.
func Published(ctx context.Context, folder string) ([]*contract.Set, error) {
	show := exec.CommandContext(ctx, "git", "show", "HEAD:./catalog.json")
	show.Dir = folder
	data, err := show.Output()
	if err != nil {
		if data, err = os.ReadFile(filepath.Join(folder, "catalog.json")); err != nil {
			return nil, fmt.Errorf("read the published catalog: %w", err)
		}
	}
	if len(data) == 0 {
		return nil, nil
	}
	return Decode(data)
}
