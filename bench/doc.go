// Package bench measures Remit against peers and baselines, always as ratios
// within one run; docs/performance.md has the figures.
package bench
