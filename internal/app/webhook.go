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
	sender := &webhook.Sender{
		URL: a.settings.Webhook, Format: webhook.Format(a.settings.WebhookFormat),
		About: a.aboutTool, Link: a.approvalPage, Log: a.log, Now: time.Now,
	}
	if sender.Format.Signed() {
		text, _ := environmentOf(a.settings)(webhookKey)
		secret, err := webhook.ParseSecret(text)
		if err != nil {
			return fmt.Errorf("webhook: read the signing key from %s: %w", webhookKey, err)
		}
		sender.Secret = secret
	}
	a.webhook, a.waiting.notify = sender, sender.Requested
	return nil
}

// aboutTool returns the title of a tool, by its id, and whether its calls are destructive.
func (a *App) aboutTool(id string) (title string, destructive bool) {
	for _, tool := range a.engine.Tools() {
		if tool.ID == id {
			return tool.Title, tool.Hints.Destructive
		}
	}
	return "", false
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
