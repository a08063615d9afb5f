//go:build linux

package bench

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// TestStdioAgainstPeers compares a tool that does next to nothing: what is measured
// is the way of a call into a server and back.
func TestStdioAgainstPeers(t *testing.T) {
	measures(t)
	ours := startStdio(t, remit(t, "stdio"))
	const node, sdk, hello, list = 0, 1, 2, 3
	lanes := []lane{
		node:  startStdio(t, everything(t)).lane("server-everything", structureQuestion),
		sdk:   startStdio(t, exec.Command(program(t, goSDKSource))).lane("Go SDK", helloQuestion),
		hello: ours.lane("remit", helloQuestion),
		list:  ours.lane("remit, tools/list", listQuestion),
	}
	contest(t, lanes, []bar{
		{what: "calls/s against server-everything", ratio: func(r []pace) float64 { return r[hello].rate / r[node].rate }, least: 2},
		{what: "calls/s against the Go SDK", ratio: func(r []pace) float64 { return r[hello].rate / r[sdk].rate }, least: 8},
		{what: "CPU a call against server-everything", ratio: func(r []pace) float64 { return r[hello].cpu / r[node].cpu }, most: 0.6},
		{what: "CPU of tools/list against hello", ratio: func(r []pace) float64 { return r[list].cpu / r[hello].cpu }, most: 2},
	})
}

// TestStartAgainstServerEverything: a client that starts its server waits for it.
func TestStartAgainstServerEverything(t *testing.T) {
	measures(t)
	var ratios []float64
	for range 5 {
		theirs := greetAndAsk(t, everything(t), structureQuestion)
		ours := greetAndAsk(t, remit(t, "stdio"), helloQuestion)
		t.Logf("start to first answer: server-everything %s, remit %s", theirs, ours)
		ratios = append(ratios, float64(theirs)/float64(ours))
	}
	slices.Sort(ratios)
	ratio := ratios[len(ratios)/2]
	t.Logf("start to first answer against server-everything: %.0fx as fast, at least 10x", ratio)
	if ratio < 10 {
		t.Errorf("a start is only %.1fx as fast as that of server-everything", ratio)
	}
}

func greetAndAsk(t *testing.T, cmd *exec.Cmd, q question) time.Duration {
	t.Helper()
	start := time.Now()
	s := startStdio(t, cmd)
	if err := s.once(q); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}
