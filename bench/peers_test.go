//go:build linux

package bench

import (
	"os/exec"
	"testing"
)

// TestStdioAgainstPeers compares calls of a trivial tool, so that it measures only the path of a
// call through a server.
func TestStdioAgainstPeers(t *testing.T) {
	skipUnlessMeasuring(t)
	ours := startStdio(t, remit(t, "stdio"))
	const node, sdk, hello, list = 0, 1, 2, 3
	contenders := []contender{
		node:  startStdio(t, everythingServer(t)).contender("server-everything", structureQuestion),
		sdk:   startStdio(t, exec.Command(program(t, goSDKSource))).contender("Go SDK", helloQuestion),
		hello: ours.contender("remit", helloQuestion),
		list:  ours.contender("remit, tools/list", listQuestion),
	}
	compareContenders(t, contenders, []limit{
		{what: "calls/s against server-everything", ratio: func(r []speed) float64 { return r[hello].rate / r[node].rate }, min: 2},
		{what: "calls/s against the Go SDK", ratio: func(r []speed) float64 { return r[hello].rate / r[sdk].rate }, min: 8},
		{what: "CPU a call against server-everything", ratio: func(r []speed) float64 { return r[hello].cpu / r[node].cpu }, max: 0.6},
		{what: "CPU of tools/list against hello", ratio: func(r []speed) float64 { return r[list].cpu / r[hello].cpu }, max: 2},
	})
}
