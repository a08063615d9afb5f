package app

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"remit/internal/engine"
	"remit/internal/engine/audit"
)

// metricsTimeout bounds the checks for one scrape, well below the timeout of Prometheus.
const metricsTimeout = 3 * time.Second

// storageMetrics exports the state of what calls depend on. It looks when Prometheus asks.
type storageMetrics struct {
	*App
	connections func() (open, limit, closed int64)
}

// Describe sends nothing: what is not known is left out, so the metrics vary.
func (storageMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m storageMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), metricsTimeout)
	defer cancel()
	send := func(kind prometheus.ValueType, name, help string, value float64, labels ...string) {
		var label []string
		if len(labels) > 0 {
			label = []string{"check"}
		}
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, label, nil), kind, value, labels...)
	}
	gauge := func(name, help string, value float64, labels ...string) {
		send(prometheus.GaugeValue, name, help, value, labels...)
	}
	for check, err := range m.health(ctx, false) {
		gauge("remit_health", "1 if a check of /health succeeds, 0 if it fails.", oneIf(err == nil), check)
	}
	gauge("remit_storage_in_doubt", "1 while the database is not known to be that of the workspace, so that nothing is written.",
		oneIf(m.anchor.check(ctx) != nil))
	send(prometheus.CounterValue, "remit_audit_failures_total",
		"Audit records that could not be stored; lost records of reads count once a minute.", float64(m.auditFailures.Load()))
	if free, size := diskSpace(m.settings.Data); size > 0 {
		gauge("remit_disk_free_bytes", "Bytes that are free on the disk of the data folder.", float64(free))
		gauge("remit_disk_size_bytes", "Size of the disk of the data folder.", float64(size))
	}
	if at := m.lastBackup(); !at.IsZero() {
		gauge("remit_backup_timestamp_seconds", "When the last backup was made.", float64(at.Unix()))
	}
	if waiting, known := m.waitingGauge().Value(ctx); known {
		gauge("remit_approvals_waiting", "Requests waiting for a person's approval, counted up to 100.", waiting)
	}
	open, limit, closed := m.connections()
	gauge("remit_connections", "Open connections.", float64(open))
	gauge("remit_connections_limit", "How many connections may be open.", float64(limit))
	send(prometheus.CounterValue, "remit_connections_closed_total", "Idle connections that were closed because too many were open.",
		float64(closed))
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// countedAudit counts the records that could not be stored.
type countedAudit struct {
	engine.Auditor
	failures *atomic.Int64
}

// Write implements engine.Auditor.
func (c countedAudit) Write(ctx context.Context, r *audit.Record, durable bool) error {
	err := c.Auditor.Write(ctx, r, durable)
	if err != nil {
		c.failures.Add(1)
	}
	return err
}
