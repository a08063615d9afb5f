package httpapi

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"remit/internal/contract/jsontree"
)

// healthTimeout is the timeout of all checks together. It is short because a load balancer that
// gives up first learns less.
const healthTimeout = 5 * time.Second

// health answers GET /health. It names the checks that failed; the errors go to the log.
func (a *API) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	var found map[string]error
	if a.Health != nil {
		found = a.Health(ctx)
	}
	status, overall := http.StatusOK, "ok"
	checks := jsontree.Obj()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		result := "ok"
		if err := found[name]; err != nil {
			result = "failed"
			status, overall = http.StatusServiceUnavailable, "failing"
			a.Log.Warn("health check failed", "check", name, "error", err)
		}
		checks.Members = append(checks.Members, jsontree.M(name, jsontree.Str(result)))
	}
	body := jsontree.Obj(
		jsontree.M("status", jsontree.Str(overall)),
		jsontree.M("version", jsontree.Str(a.Version)),
		jsontree.M("checks", checks),
	)
	writeJSON(w, status, body.Append(nil))
}
