package sqlstore_test

import (
	"testing"

	"remit/internal/engine/jobs"
	"remit/internal/engine/jobs/jobstest"
)

func TestJobs(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		jobstest.Suite(t, func(t *testing.T) jobs.Store {
			return open(t, url(t)).Jobs()
		})
	})
}
