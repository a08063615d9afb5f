//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The fault driver. Callers make changes through real servers while a plan of faults runs, chosen
// by a seed. Afterwards everything is healed, the servers start again, and three things must be
// equal, exactly: what was acknowledged, what is in the stores, and what the records say.
//
// REMIT_FAULT_SEED runs one plan again; REMIT_FAULT_ONLY is a regular expression for the names of
// the faults that may occur. The moments of the faults differ from run to run.

// disturbance is something that goes wrong for a while.
type disturbance struct {
	name       string
	what       string // what is disturbed; by one fault at a time
	begin, end func()
	first      bool // ends first: a server need not start meanwhile
}

// faultServer is a server that may be killed and started again.
type faultServer struct {
	*workspace
	args    []string
	running *httpServer
	url     atomic.Pointer[string]
}

func (f *faultServer) start() {
	f.t.Helper()
	f.running = f.serve(f.args...)
	f.url.Store(&f.running.url)
}

// kill returns the fault of a server that is killed and started again.
func (f *faultServer) kill(name string) disturbance {
	return disturbance{name: "kill " + name, what: name, begin: func() { f.running.kill() }, end: f.start}
}

// pause returns the fault of a server that is suspended for a while.
func (f *faultServer) pause(name string) disturbance {
	signal := func(s syscall.Signal) func() {
		return func() {
			if err := f.running.cmd.Process.Signal(s); err != nil {
				f.t.Fatalf("%s: %v\n%s", name, err, f.running.stderr)
			}
		}
	}
	return disturbance{name: "pause " + name, what: name, begin: signal(syscall.SIGSTOP), end: signal(syscall.SIGCONT)}
}

// faultBed is what a run disturbs.
type faultBed struct {
	t       *testing.T
	rand    *rand.Rand
	servers []*faultServer
	faults  [][]disturbance // by kind: each kind is as likely as another
	// longest is how long a fault lasts at most. It shapes the load and proves nothing.
	longest time.Duration
	audit   func(args ...string) outcome // runs a command that reads the records
	chain   func() ([]string, error)     // reads the lines of all records, the oldest first
	stored  func() (*storedState, error) // reads the stores
	during  atomic.Pointer[string]       // the names of the faults at the moment
	acks    atomic.Int64                 // number of acknowledged changes
}

// faultPlan says how much a run does.
type faultPlan struct {
	steps, callers, uploads int
	longest                 time.Duration
}

// seededPlans returns the plans of this test run by seed. One seed is always the same, so that a
// change that breaks it shows. The slow tests also use random ones.
func seededPlans(t *testing.T) (seeds []uint64, plan faultPlan) {
	t.Helper()
	plan = faultPlan{steps: 10, callers: 6, uploads: 1, longest: time.Second}
	seeds = []uint64{22}
	if os.Getenv("REMIT_FULL") == "true" {
		plan = faultPlan{steps: 30, callers: 12, uploads: 4, longest: 30 * time.Second}
		seeds = append(seeds, rand.Uint64(), rand.Uint64())
	}
	if text := os.Getenv("REMIT_FAULT_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("REMIT_FAULT_SEED: %v", err)
		}
		seeds = []uint64{seed}
	}
	return seeds, plan
}

// TestFaults checks with one server on SQLite and a disk, also with folders that go away, and with
// three on PostgreSQL and S3, that acknowledged changes, the stores and the records are equal after
// many faults.
func TestFaults(t *testing.T) {
	t.Parallel()
	seeds, plan := seededPlans(t)
	for name, newBed := range map[string]func(*testing.T, *rand.Rand) *faultBed{
		"disk": newDiskBed, "folders": newFolderBed, "replicas": newReplicaBed,
	} {
		for _, seed := range seeds {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				t.Parallel()
				t.Logf("REMIT_FAULT_SEED=%d runs this plan again", seed)
				bed := newBed(t, rand.New(rand.NewPCG(seed, seed)))
				bed.longest = plan.longest
				bed.run(plan)
			})
		}
	}
}

// run runs the callers and the faults, heals everything and checks the outcome.
func (b *faultBed) run(plan faultPlan) {
	b.t.Helper()
	b.chooseFrom(os.Getenv("REMIT_FAULT_ONLY"))
	b.setFaults()
	for _, s := range b.servers {
		s.start()
	}
	var stop atomic.Bool
	var working sync.WaitGroup
	all := make([]*changer, plan.callers)
	for i := range all {
		all[i] = &changer{
			name: fmt.Sprintf("c%d", i), rand: rand.New(rand.NewPCG(b.rand.Uint64(), 0)), servers: b.servers, during: &b.during,
			ended: &b.acks, uploads: plan.uploads, client: http.Client{Timeout: timeout, Transport: &http.Transport{}},
		}
		working.Go(func() { all[i].run(&stop) })
	}
	for range plan.steps {
		b.awaitAcks(2 * int64(plan.callers))
		b.disturb()
	}
	b.awaitAcks(2 * int64(plan.callers))
	stop.Store(true)
	working.Wait()
	for _, s := range b.servers {
		s.running.kill()
	}
	var objects []*object
	for _, c := range all {
		objects = append(objects, c.objects...)
	}
	b.check(objects)
}

// chooseFrom leaves out faults whose names do not match.
func (b *faultBed) chooseFrom(names string) {
	match := regexp.MustCompile(names)
	for i, kind := range b.faults {
		b.faults[i] = slices.DeleteFunc(slices.Clone(kind), func(f disturbance) bool { return !match.MatchString(f.name) })
	}
	b.faults = slices.DeleteFunc(b.faults, func(kind []disturbance) bool { return len(kind) == 0 })
}

// awaitAcks waits until more changes were acknowledged: the servers work again after a fault.
func (b *faultBed) awaitAcks(more int64) {
	b.t.Helper()
	want := b.acks.Load() + more
	for end := time.Now().Add(timeout); b.acks.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			logs := ""
			for i, s := range b.servers {
				logs += fmt.Sprintf("\nserver %d: %s", i, lastLines(s.running.stderr.String()))
			}
			b.t.Fatalf("only %d changes were acknowledged%s", b.acks.Load(), logs)
		}
	}
}

// lastLines returns the end of a log.
func lastLines(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// disturb lets one or two faults begin, last for a while, and end in either order.
func (b *faultBed) disturb() {
	b.t.Helper()
	choose := func() disturbance {
		kind := b.faults[b.rand.IntN(len(b.faults))]
		return kind[b.rand.IntN(len(kind))]
	}
	chosen := []disturbance{choose()}
	if other := choose(); b.rand.IntN(3) == 0 && other.what != chosen[0].what {
		chosen = append(chosen, other)
	}
	var names []string
	for _, f := range chosen {
		names = append(names, f.name)
		b.setFaults(names...)
		f.begin()
		part := b.rand.Float64()
		time.Sleep(time.Duration(part * part * part * float64(b.longest))) // most are short
	}
	if swap := b.rand.IntN(2) == 0; !chosen[0].first && (swap || chosen[len(chosen)-1].first) {
		slices.Reverse(chosen)
	}
	for _, f := range chosen {
		f.end()
	}
	b.setFaults()
}

func (b *faultBed) setFaults(names ...string) {
	text := strings.Join(names, ", ")
	b.during.Store(&text)
	if text != "" {
		b.t.Log("fault: " + text)
	}
}
