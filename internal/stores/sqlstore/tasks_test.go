package sqlstore_test

import (
	"testing"

	"remit/internal/toolsets/tasks"
	"remit/internal/toolsets/tasks/taskstest"
)

func TestTasks(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		taskstest.Suite(t, func(t *testing.T) tasks.Store { return open(t, url(t)).Tasks() })
	})
}
