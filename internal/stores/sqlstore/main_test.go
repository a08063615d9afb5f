package sqlstore_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"remit/internal/engine/approval"
	"remit/internal/stores/sqlstore"
)

// childEnv names the environment variable with the role of this binary when a test starts it again.
const childEnv = "REMIT_SQLSTORE_CHILD"

func TestMain(m *testing.M) {
	if part := os.Getenv(childEnv); part != "" {
		os.Exit(runChild(part, os.Args[1]))
	}
	// Each check of a model runs many transactions, so most of them are left to the slow tests.
	if os.Getenv("REMIT_FULL") != "true" {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

func runChild(part, url string) int {
	parts := map[string]func(context.Context, string) error{"open": childOpen, "take": childTake, "decide": childDecide, "spend": childSpend, "flood": childFlood}
	if err := parts[part](context.Background(), url); err != nil {
		fmt.Fprintln(os.Stderr, part+":", err)
		return 1
	}
	return 0
}

// ready reports to the parent that the setup is done, and waits for the start.
func ready() error {
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// childOpen opens a database that may not exist yet, at the same time as other processes.
func childOpen(ctx context.Context, url string) error {
	if err := ready(); err != nil {
		return err
	}
	db, err := sqlstore.Open(ctx, url)
	if err != nil {
		return err
	}
	return db.Close()
}

// childTake tries to take each approval, and prints those that it got.
func childTake(ctx context.Context, url string) error {
	db, err := sqlstore.Open(ctx, url)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := ready(); err != nil {
		return err
	}
	for i := range approvalsToTake {
		r, found, err := db.Approvals().Take(ctx, keyOf(i), "", noon())
		if err != nil {
			return err
		}
		if found {
			fmt.Println(r.ID)
		}
	}
	return nil
}

// childDecide approves one request after the other, and prints each when it is acknowledged, until
// it is killed.
func childDecide(ctx context.Context, url string) error {
	db, err := sqlstore.Open(ctx, url)
	if err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	for i := 0; ; i++ {
		id := fmt.Sprintf("r%06d", i)
		if err := approve(ctx, db.Approvals(), id, keyOf(i)); err != nil {
			return err
		}
		fmt.Println(id)
	}
}

// childSpend tries to spend each token, and prints those that were fresh.
func childSpend(ctx context.Context, url string) error {
	db, err := sqlstore.Open(ctx, url)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := ready(); err != nil {
		return err
	}
	for i := range tokensToSpend {
		fresh, err := db.UseOnce(ctx, keyOf(i), noon(), noon().Add(time.Hour))
		if err != nil {
			return err
		}
		if fresh {
			fmt.Println(keyOf(i))
		}
	}
	return nil
}

// childFlood spends tokens from many goroutines at once, so that they share commits. It prints each
// when it is acknowledged, until it is killed.
func childFlood(ctx context.Context, url string) error {
	db, err := sqlstore.Open(ctx, url)
	if err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	failed := make(chan error)
	for w := range 16 {
		go func() {
			for i := 0; ; i++ {
				token := fmt.Sprint(w, " ", i)
				if _, err := db.UseOnce(ctx, token, noon(), noon().Add(time.Hour)); err != nil {
					failed <- err
					return
				}
				fmt.Println(token)
			}
		}()
	}
	return <-failed
}

// child is a second process of this binary.
type child struct {
	cmd   *exec.Cmd
	start io.Closer
	out   *bufio.Scanner
}

// spawn starts a child and waits until it is ready.
func spawn(t *testing.T, part, url string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, url)
	cmd.Env = append(os.Environ(), childEnv+"="+part)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd, start: in, out: bufio.NewScanner(out)}
	if !c.out.Scan() || c.out.Text() != "ready" {
		t.Fatalf("the child says %q instead of being ready", c.out.Text())
	}
	return c
}

// spawnTogether starts n children and lets all of them continue at the same time.
func spawnTogether(t *testing.T, n int, part, url string) []*child {
	t.Helper()
	children := make([]*child, n)
	for i := range children {
		children[i] = spawn(t, part, url)
	}
	for _, c := range children {
		c.start.Close()
	}
	return children
}

// lines reads the output of the child to the end, and waits for the child to exit.
func (c *child) lines(t *testing.T) []string {
	t.Helper()
	var lines []string
	for c.out.Scan() {
		lines = append(lines, c.out.Text())
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("child: %v", err)
	}
	return lines
}

const (
	approvalsToTake = 50
	tokensToSpend   = 50
)

func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

func keyOf(i int) string { return fmt.Sprint("key ", i) }

// approve creates a request and approves it.
func approve(ctx context.Context, s approval.Store, id, key string) error {
	expires := noon().Add(time.Hour)
	_, err := s.Ask(ctx, approval.Request{ID: id, Key: key, Arguments: []byte("{}"), CreatedAt: noon(), ExpiresAt: expires})
	if err != nil {
		return err
	}
	_, err = s.Decide(ctx, id, approval.Verdict{Approve: true, By: "grace"}, noon(), expires)
	return err
}
