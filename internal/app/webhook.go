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

// webhookKey is the variable that holds what messages about requests are signed with.
const webhookKey = "REMIT_WEBHOOK_SECRET"

// addWebhook has a server told of new approval requests, if the settings name one.
func (a *App) addWebhook() error {
	if a.settings.Webhook == "" {
		return nil
	}
	text, _ := environmentOf(a.settings)(webhookKey)
	secret, err := webhook.ParseSecret(text)
	if err != nil {
		return fmt.Errorf("webhook: its messages are signed with %s: %w", webhookKey, err)
	}
	a.webhook = &webhook.Sender{URL: a.settings.Webhook, Secret: secret, Link: a.approvalPage, Log: a.log, Now: time.Now}
	a.waiting.told = a.webhook.Requested
	return nil
}

// environmentOf is where the settings come from that name no flag.
func environmentOf(s cli.Settings) func(string) (string, bool) {
	if s.Env == nil {
		return func(string) (string, bool) { return "", false }
	}
	return s.Env
}

// waitingGauge counts the requests that wait for a person.
func (a *App) waitingGauge() telemetry.Gauge {
	return telemetry.Gauge{
		Name: "remit.approvals.waiting", Unit: "{request}", Help: "Requests that wait for a person's approval, 100 if there are more.",
		Value: func(ctx context.Context) (float64, bool) {
			store, err := a.Approvals(ctx)
			if err != nil {
				return 0, false
			}
			const most = 100 // each is read whole, with what it would write
			list, err := store.List(ctx, approval.ListOptions{Now: time.Now(), Limit: most})
			return float64(len(list)), err == nil
		},
	}
}
