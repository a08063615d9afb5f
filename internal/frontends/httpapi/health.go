package httpapi

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"remit/internal/contract/jsontree"
)

// healthPatience is how long the checks together may take: a load balancer that
// waits longer gives up, and learns less.
const healthPatience = 5 * time.Second

// health answers GET /health. It names what does not work; why goes to the log.
func (a *API) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthPatience)
	defer cancel()
	var found map[string]error
	if a.Health != nil {
		found = a.Health(ctx)
	}
	status, word := http.StatusOK, "ok"
	checks := jsontree.Obj()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		verdict := "ok"
		if err := found[name]; err != nil {
			verdict = "failed"
			status, word = http.StatusServiceUnavailable, "failing"
			a.Log.Warn("health check failed", "check", name, "error", err)
		}
		checks.Members = append(checks.Members, jsontree.M(name, jsontree.Str(verdict)))
	}
	body := jsontree.Obj(
		jsontree.M("status", jsontree.Str(word)),
		jsontree.M("version", jsontree.Str(a.Version)),
		jsontree.M("checks", checks),
	)
	answer(w, status, body.Append(nil))
}
