package sqlstore_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestSpend(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		db := open(t, at)
		hour := noon().Add(time.Hour)
		for _, c := range []struct {
			name, token  string
			now, expires time.Time
			fresh        bool
		}{
			{"the first time", "a", noon(), hour, true},
			{"the second time", "a", noon(), hour, false},
			{"another", "b", noon(), hour, true},
			{"at the last moment", "a", hour.Add(-time.Microsecond), hour, false},
			{"when it is expired", "a", hour, hour, false},
			{"for the first time when it is expired", "c", hour, hour, false},
			{"once the others are forgotten", "d", hour, hour.Add(time.Hour), true},
			{"when it is forgotten that it was spent", "a", hour, hour, false},
		} {
			if fresh, err := db.UseOnce(t.Context(), c.token, c.now, c.expires); err != nil || fresh != c.fresh {
				t.Errorf("%s: fresh %v, error %v", c.name, fresh, err)
			}
		}
		for token, want := range map[string]bool{"d": true, "e": false} {
			if used, err := db.Used(t.Context(), token); err != nil || used != want {
				t.Errorf("%s is used: %v, error %v", token, used, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if fresh, err := open(t, at).UseOnce(t.Context(), "d", hour, hour.Add(time.Hour)); err != nil || fresh {
			t.Errorf("after a restart: fresh %v, error %v", fresh, err)
		}
	})
}

func TestSpendAtOnce(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		db := open(t, url(t))
		var wg sync.WaitGroup
		var fresh atomic.Int32
		for range 16 {
			wg.Go(func() {
				ok, err := db.UseOnce(t.Context(), "token", noon(), noon().Add(time.Hour))
				if err != nil {
					t.Error(err)
				}
				if ok {
					fresh.Add(1)
				}
			})
		}
		wg.Wait()
		if n := fresh.Load(); n != 1 {
			t.Errorf("one token was fresh %d times", n)
		}
	})
}

func TestProcessesRaceForTokens(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		winners := map[string]int{}
		for _, c := range spawnTogether(t, 4, "spend", at) {
			for _, token := range c.lines(t) {
				winners[token]++
			}
		}
		for i := range tokensToSpend {
			if n := winners[keyOf(i)]; n != 1 {
				t.Errorf("token %d was fresh in %d processes, want 1", i, n)
			}
		}
	})
}

func TestSharedCommitsSurviveSIGKILL(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		c := spawn(t, "flood", at)
		c.start.Close()
		var spent []string
		for c.out.Scan() { // includes what was printed between the kill and the end
			if spent = append(spent, c.out.Text()); len(spent) == 200 {
				if err := c.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := c.cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		db := open(t, at)
		for _, token := range spent {
			if fresh, err := db.UseOnce(t.Context(), token, noon(), noon().Add(time.Hour)); err != nil || fresh {
				t.Errorf("an acknowledged token is lost: %s is fresh %v, error %v", token, fresh, err)
			}
		}
		if len(spent) < 200 {
			t.Errorf("the child was killed after %d tokens, want 200", len(spent))
		}
	})
}
