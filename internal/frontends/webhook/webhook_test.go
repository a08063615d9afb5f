package webhook_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine/approval"
	"remit/internal/frontends/webhook"
)

// TestOverTheNetwork checks a complete message over a real network connection.
func TestOverTheNetwork(t *testing.T) {
	heard := make(chan struct{})
	r := &receiver{now: time.Now, answer: func(int, http.ResponseWriter, *http.Request) { close(heard) }}
	server := httptest.NewServer(r)
	defer server.Close()
	sender := &webhook.Sender{
		URL: server.URL + "/hook?key=1", Secret: secretBytes, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Link: func(id string) string { return "https://remit.example.com/console/approvals/" + id },
	}
	sender.Requested(request("k3v9q2xa7m", time.Date(2026, 11, 16, 12, 0, 0, 5, time.FixedZone("", 3600))),
		approval.Shown{Title: "Add a task\x1b", After: "title: Buy\n"})
	// The request has expired, but a first attempt is always made.
	<-heard
	sender.Close()
	if r.errs[0] != nil || r.ids[0] != "msg_k3v9q2xa7m" {
		t.Errorf("%s: %v", r.ids[0], r.errs[0])
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(r.bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"type": "approval.requested", "id": "k3v9q2xa7m", "tool": "tasks/add_task", "version": "1.2.0", "principal": "agent:ci", "summary": "Add a task",
		"arguments_preview": `{"title":"Buy <milk> & ü"}`, "effect_preview": "Add a task\\x1b\n+ title: Buy\n", "created_at": "2026-11-16T11:00:00Z", "expires_at": "2026-11-16T12:00:00Z",
		"url": "https://remit.example.com/console/approvals/k3v9q2xa7m",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

func TestVerifierRejects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.Secret = []byte("another secret, also long")
		r.Requested(request("a", time.Now()), approval.Shown{})
		synctest.Wait()
		if r.attempts() != 1 || r.errs[0] == nil {
			t.Error("a message with another signature is accepted, so the other tests prove nothing")
		}
	})
}

func TestServerFailsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(attempt int, w http.ResponseWriter, _ *http.Request) {
			if attempt <= 2 {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		r.Requested(request("a", time.Now()), approval.Shown{})
		sleepAnHour()
		if diff := cmp.Diff([]time.Duration{time.Second, 5 * time.Second}, r.pauses()); diff != "" {
			t.Errorf("pauses differ (-want +got):\n%s", diff)
		}
		r.verified(t) // each attempt is signed with its own timestamp
		if len(slices.Compact(slices.Clone(r.ids))) != 1 {
			t.Errorf("one message has several ids: %v", r.ids)
		}
		if log := r.logged(t); strings.Contains(log, "webhook dropped") || !strings.Contains(log, "the server answered 500") {
			t.Errorf("the log:\n%s", log)
		}
	})
}

func TestServerAlwaysFails(t *testing.T) {
	for name, status := range map[string]int{"an error": 503, "no such page": 404, "elsewhere": 302, "too many": 429} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Location", "http://other.example.com/")
					w.WriteHeader(status)
				})
				began := time.Now()
				r.Requested(request("a", began), approval.Shown{})
				sleepAnHour()
				want := []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute}
				if diff := cmp.Diff(want, r.pauses()); diff != "" {
					t.Errorf("pauses differ (-want +got):\n%s", diff)
				}
				if last := r.times[len(r.times)-1].Sub(began); last > 10*time.Minute {
					t.Errorf("the last attempt comes after %s", last)
				}
				log := r.logged(t)
				if !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "webhook dropped") || !strings.Contains(log, "host=hooks.example.com") || !strings.Contains(log, "attempts=6") {
					t.Errorf("the log:\n%s", log)
				}
			})
		})
	}
}

// TestServerIsDown checks that calls continue if nothing listens, and that this is logged.
func TestServerIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.network.Close()
		began := time.Now()
		r.Requested(request("a", began), approval.Shown{})
		if took := time.Since(began); took != 0 {
			t.Errorf("the call waited %s", took)
		}
		sleepAnHour()
		if log := r.logged(t); strings.Count(log, "webhook dropped") != 1 || !strings.Contains(log, "dial") {
			t.Errorf("the log:\n%s", log)
		}
	})
}

// TestServerIsSlow checks that each attempt ends after ten seconds, and that other messages are
// sent between the attempts.
func TestServerIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(_ int, _ http.ResponseWriter, request *http.Request) {
			if request.Header.Get("webhook-id") == "msg_slow" {
				<-request.Context().Done()
			}
		})
		began := time.Now()
		r.Requested(request("slow", began), approval.Shown{})
		synctest.Wait()
		r.Requested(request("quick", began), approval.Shown{})
		if took := time.Since(began); took != 0 {
			t.Errorf("the calls waited %s", took)
		}
		sleepAnHour()
		if len(r.ids) < 2 || r.ids[1] != "msg_quick" || r.times[1].Sub(began) != 10*time.Second {
			t.Errorf("attempts %v at %v", r.ids, r.times)
		}
		if last := r.times[len(r.times)-1].Sub(began); last > 10*time.Minute {
			t.Errorf("the last attempt comes after %s", last)
		}
		if log := r.logged(t); !strings.Contains(log, "webhook dropped") {
			t.Errorf("the log:\n%s", log)
		}
	})
}

// TestServerAnswersGone checks that nothing is sent after 410, not even queued messages.
func TestServerAnswersGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(attempt int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(map[bool]int{true: http.StatusInternalServerError, false: http.StatusGone}[attempt == 1])
		})
		r.Requested(request("a", time.Now()), approval.Shown{})
		synctest.Wait()
		r.Requested(request("b", time.Now()), approval.Shown{})
		sleepAnHour()
		r.Requested(request("c", time.Now()), approval.Shown{})
		sleepAnHour()
		if diff := cmp.Diff([]string{"msg_a", "msg_b"}, r.ids); diff != "" {
			t.Errorf("attempts differ (-want +got):\n%s", diff)
		}
		if log := r.logged(t); strings.Count(log, "410") != 2 {
			t.Errorf("the log:\n%s", log)
		}
	})
}

func TestQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(_ int, _ http.ResponseWriter, request *http.Request) { <-request.Context().Done() })
		for i := range 300 {
			r.Requested(request(fmt.Sprint(i), time.Now()), approval.Shown{})
			synctest.Wait()
		}
		if r.attempts() != 1 {
			t.Errorf("%d attempts at once", r.attempts())
		}
		if log := r.log.String(); strings.Count(log, "the queue is full") != 300-256-1 {
			t.Errorf("the log has %d lines", strings.Count(log, "\n"))
		}
	})
}

func TestRequestExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, answering(http.StatusInternalServerError))
		short := request("a", time.Now())
		short.ExpiresAt = time.Now().Add(10 * time.Second)
		r.Requested(short, approval.Shown{})
		sleepAnHour()
		if r.attempts() != 3 { // at once, after one second, after five more seconds
			t.Errorf("%d attempts for a request of ten seconds", r.attempts())
		}
	})
}

// TestRetryAfterExpiry checks that a retry delayed by a slow attempt is not made after the request
// has expired.
func TestRetryAfterExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(attempt int, w http.ResponseWriter, request *http.Request) {
			if attempt == 1 {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			<-request.Context().Done()
		})
		short := request("short", time.Now())
		short.ExpiresAt = time.Now().Add(2 * time.Second)
		r.Requested(short, approval.Shown{})
		synctest.Wait()
		r.Requested(request("slow", time.Now()), approval.Shown{})
		time.Sleep(10500 * time.Millisecond)
		synctest.Wait()
		log := r.logged(t)
		if diff := cmp.Diff([]string{"msg_short", "msg_slow"}, r.ids); diff != "" {
			t.Errorf("attempts differ (-want +got):\n%s", diff)
		}
		if !strings.Contains(log, "request=short") || !strings.Contains(log, "attempts=1 error=\"the time for retries") {
			t.Errorf("the log:\n%s", log)
		}
	})
}

func TestClose(t *testing.T) {
	t.Run("nothing was sent", func(t *testing.T) {
		sender := &webhook.Sender{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		sender.Close()
		sender.Close()
	})
	t.Run("what is new goes out first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, func(int, http.ResponseWriter, *http.Request) { time.Sleep(100 * time.Millisecond) })
			for i := range 5 {
				r.Requested(request(fmt.Sprint(i), time.Now()), approval.Shown{})
			}
			log := r.logged(t)
			if r.attempts() != 5 || strings.Contains(log, "webhook dropped") {
				t.Errorf("%d went out:\n%s", r.attempts(), log)
			}
			r.Requested(request("late", time.Now()), approval.Shown{})
			if r.attempts() != 5 || !strings.Contains(r.log.String(), "the server is shutting down") {
				t.Error("something was sent after the end")
			}
		})
	})
	t.Run("close does not wait for retries", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, answering(http.StatusInternalServerError))
			r.Requested(request("a", time.Now()), approval.Shown{})
			synctest.Wait()
			began := time.Now()
			if log := r.logged(t); time.Since(began) != 0 || !strings.Contains(log, "webhook dropped") {
				t.Errorf("after %s:\n%s", time.Since(began), log)
			}
		})
	})
	t.Run("close does not wait long for a slow server", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, func(_ int, _ http.ResponseWriter, request *http.Request) { <-request.Context().Done() })
			for i := range 5 {
				r.Requested(request(fmt.Sprint(i), time.Now()), approval.Shown{})
			}
			synctest.Wait()
			began := time.Now()
			log := r.logged(t)
			if took := time.Since(began); took != 2*time.Second || strings.Count(log, "webhook dropped") != 5 {
				t.Errorf("after %s:\n%s", took, log)
			}
		})
	})
}

func TestPreview(t *testing.T) {
	for name, tc := range map[string]struct{ arguments, want string }{
		"just fits":       {strings.Repeat("a", 4096), strings.Repeat("a", 4096)},
		"too long":        {strings.Repeat("a", 4097), strings.Repeat("a", 4093) + "…"},
		"no half letters": {strings.Repeat("a", 4092) + strings.Repeat("ü", 10), strings.Repeat("a", 4092) + "…"},
		"grows":           {strings.Repeat("\u202e", 1000), strings.Repeat(`\u202e`, 682) + `\…`},
		"marks are spelt": {"{\"a\":\"x\u202ey\u200bz\"}", `{"a":"x\u202ey\u200bz"}`},
		"no UTF-8":        {"a\xffb", `a\xffb`},
		"nothing":         {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil)
				asked := request("a", time.Now())
				asked.Arguments = []byte(tc.arguments)
				r.Requested(asked, approval.Shown{})
				synctest.Wait()
				var got struct {
					Preview string `json:"arguments_preview"`
				}
				if err := json.Unmarshal([]byte(r.bodies[0]), &got); err != nil || got.Preview != tc.want || len(got.Preview) > 4096 {
					t.Errorf("%d bytes, error %v, end with %q", len(got.Preview), err, got.Preview[max(0, len(got.Preview)-20):])
				}
				r.verified(t)
			})
		})
	}
}

func TestParseSecret(t *testing.T) {
	for _, tc := range []struct{ text, want, wrong string }{
		{secretText, string(secretBytes), ""},
		{"a plain text of some length", "a plain text of some length", ""},
		{"", "", "0 bytes"},
		{"too short", "", "at least 16"},
		{"whsec_", "", "0 bytes"},
		{"whsec_c2hvcnQ=", "", "5 bytes"},
		{"whsec_not base64 at all!", "", "must be base64"},
	} {
		got, err := webhook.ParseSecret(tc.text)
		if tc.wrong == "" && (err != nil || string(got) != tc.want) || tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong)) {
			t.Errorf("%q: %q, error %v", tc.text, got, err)
		}
		if err != nil && len(tc.text) > 6 && strings.Contains(err.Error(), strings.TrimPrefix(tc.text, "whsec_")) {
			t.Errorf("the error contains the secret: %v", err)
		}
	}
}

// TestCredentialsAreMasked checks that a message holds no credential of the arguments or the
// effect.
func TestCredentialsAreMasked(t *testing.T) {
	const random = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5kL7nP9r"
	for _, secret := range []string{
		"docs/ghp_" + random, "Authorization: Bearer " + random, "xoxb-2147483647-" + random, "remit_" + random, "remit_p_" + random,
		"AKIAIOSFODNN7EXAMPLE", "postgres://app:" + random + "@db/app", "-----BEGIN PRIVATE KEY-----" + random,
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil)
			asked := request("a", time.Now())
			asked.Arguments, asked.Summary = []byte(`{"title":"`+secret+`"}`), "Add "+secret
			r.Requested(asked, approval.Shown{Title: "Add", Before: secret + "\n", After: "x " + secret + "\n"})
			synctest.Wait()
			if body := r.bodies[0]; strings.Contains(body, random) || strings.Contains(body, "IOSFODNN7") || strings.Count(body, "***") < 3 {
				t.Errorf("%s: sent as %s", secret, body)
			}
		})
	}
}
