//go:build unix

package pgtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"remit/internal/stores/sqlstore/pgtest"
)

func ping(t *testing.T, url string) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	n := 0
	return conn.QueryRow(t.Context(), "SELECT 1").Scan(&n)
}

func TestDatabases(t *testing.T) {
	for name, database := range map[string]func(testing.TB) string{"socket": pgtest.Database, "TCP": pgtest.TCPDatabase} {
		first, second := database(t), database(t)
		if first == second {
			t.Errorf("%s: two tests have one database", name)
		}
		for _, url := range []string{first, second} {
			if err := ping(t, url); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func run(t testing.TB, url, statement string) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), statement)
	return err
}

// TestPrepared checks that each database is a copy of its own, and that one is prepared for all.
func TestPrepared(t *testing.T) {
	prepared := 0
	prepare := func(t testing.TB, url string) {
		t.Helper()
		prepared++
		if err := run(t, url, "CREATE TABLE a (n INT PRIMARY KEY)"); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := run(t, pgtest.Prepared(t, prepare), "INSERT INTO a VALUES (1)"); err != nil {
			t.Error(err)
		}
	}
	if prepared != 1 {
		t.Errorf("prepared %d times", prepared)
	}
}

func TestServer(t *testing.T) {
	s := pgtest.New(t)
	for _, end := range []func(testing.TB){s.Stop, s.Kill} {
		if err := ping(t, s.URL()); err != nil {
			t.Fatal(err)
		}
		end(t)
		if err := ping(t, s.URL()); err == nil {
			t.Fatal("a server that has ended answers")
		}
		s.Start(t)
	}
	s.Pause(t)
	s.Resume(t)
	if err := ping(t, s.URL()); err != nil {
		t.Error(err)
	}
}
