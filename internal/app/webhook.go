package app

import (
	"context"
	"fmt"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/engine/telemetry"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/webhook"
)

// webhookKey is the environment variable with the key that signs webhook messages.
const webhookKey = "REMIT_WEBHOOK_SECRET"

// addWebhook sends new approval requests to the configured webhook, if any.
func (a *App) addWebhook() error {
	if a.settings.Webhook == "" {
		return nil
	}
	text, _ := environmentOf(a.settings)(webhookKey)
	secret, err := webhook.ParseSecret(text)
	if err != nil {
		return fmt.Errorf("webhook: read the signing key from %s: %w", webhookKey, err)
	}
	a.webhook = &webhook.Sender{URL: a.settings.Webhook, Secret: secret, Link: a.approvalPage, Log: a.log, Now: time.Now}
	a.waiting.notify = a.webhook.Requested
	return nil
}

// environmentOf returns the environment for settings that have no flag.
func environmentOf(s cli.Settings) func(string) (string, bool) {
	if s.Env == nil {
		return func(string) (string, bool) { return "", false }
	}
	return s.Env
}

// maxWaiting is how many waiting requests are counted: each is read completely, with its arguments.
const maxWaiting = 100

// waitingGauge counts the requests that wait for approval.
func (a *App) waitingGauge() telemetry.Gauge {
	return telemetry.Gauge{
		Name: "remit.approvals.waiting", Unit: "{request}", Help: "Requests waiting for a person's approval, counted up to 100.",
		Value: func(ctx context.Context) (float64, bool) {
			store, err := a.Approvals(ctx)
			if err != nil {
				return 0, false
			}
			list, err := store.List(ctx, approval.ListOptions{Now: time.Now(), Limit: maxWaiting})
			return float64(len(list)), err == nil
		},
	}
}
