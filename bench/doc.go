// Package bench measures Remit against peers and baselines, always as ratios within one run. The
// figures are in docs/performance.md.
package bench
