package webhook_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/frontends/webhook"
)

const secretText = "whsec_c2l4dGVlbiBieXRlcyBhdCBsZWFzdA=="

var secretBytes = []byte("sixteen bytes at least")

// verify checks a message as a receiver does. It follows the Standard Webhooks text, not our code.
func verify(h http.Header, body []byte, secret []byte, now time.Time) error {
	id, stamp := h.Get("webhook-id"), h.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("timestamp %q", stamp)
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > 5*time.Minute || age < -5*time.Minute {
		return fmt.Errorf("the message is %s old", age)
	}
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
	for signature := range strings.FieldsSeq(h.Get("webhook-signature")) {
		version, text, _ := strings.Cut(signature, ",")
		sent, err := base64.StdEncoding.DecodeString(text)
		if version == "v1" && err == nil && hmac.Equal(sent, mac.Sum(nil)) {
			return nil
		}
	}
	return errors.New("no signature fits")
}

// receiver is the server that gets the messages.
type receiver struct {
	mu     sync.Mutex
	now    func() time.Time
	answer func(attempt int, w http.ResponseWriter, r *http.Request)
	ids    []string    // webhook-id of each attempt
	times  []time.Time // when each attempt arrived
	bodies []string
	errs   []error
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err == nil {
		err = verify(request.Header, body, secretBytes, r.now())
	}
	r.mu.Lock()
	r.errs = append(r.errs, err)
	r.ids = append(r.ids, request.Header.Get("webhook-id"))
	r.times = append(r.times, r.now())
	r.bodies = append(r.bodies, string(body))
	attempt := len(r.ids)
	r.mu.Unlock()
	if r.answer != nil {
		r.answer(attempt, w, request)
	}
}

func request(id string, now time.Time) approval.Request {
	return approval.Request{
		ID: id, Tool: "tasks/add_task", Version: "1.2.0", Principal: "agent:ci", Summary: "Add a task",
		Arguments: []byte(`{"title":"Buy <milk> & ü"}`), CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}
}

// rig is a sender and its receiver, on the clock of the test.
type rig struct {
	*webhook.Sender
	*receiver
	log     *bytes.Buffer // read only after the sender is closed
	server  *http.Server
	network *memNetwork
}

func newRig(t *testing.T, answer func(attempt int, w http.ResponseWriter, r *http.Request)) *rig {
	t.Helper()
	r := &rig{receiver: &receiver{now: time.Now, answer: answer}, log: &bytes.Buffer{}, network: newMemNetwork()}
	r.server = &http.Server{Handler: r.receiver}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = r.server.Serve(r.network)
	}()
	t.Cleanup(func() {
		r.Close()
		r.server.Close()
		<-served
	})
	secret, err := webhook.ParseSecret(secretText)
	if err != nil {
		t.Fatal(err)
	}
	r.Sender = &webhook.Sender{
		URL: "http://hooks.example.com/of/secret-path", Secret: secret, Now: time.Now,
		Client: &http.Client{Transport: &http.Transport{DialContext: r.network.dial}},
		Log:    slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	return r
}

// logged closes the sender and returns its log. It fails the test if the log contains a secret.
func (r *rig) logged(t *testing.T) string {
	t.Helper()
	r.Close()
	log := r.log.String()
	for _, secret := range []string{"milk", "secret-path", "sixteen", "c2l4dGVlbiB", "v1,"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log contains %q:\n%s", secret, log)
		}
	}
	return log
}

// pauses returns the times between attempts.
func (r *rig) pauses() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []time.Duration
	for i := 1; i < len(r.times); i++ {
		all = append(all, r.times[i].Sub(r.times[i-1]))
	}
	return all
}

func (r *rig) attempts() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ids)
}

func (r *rig) verified(t *testing.T) {
	t.Helper()
	for i, err := range r.errs {
		if err != nil {
			t.Errorf("attempt %d: %v", i+1, err)
		}
	}
}

func answering(status int) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// sleepAnHour sleeps for an hour of the test's clock, so that all attempts end.
func sleepAnHour() {
	time.Sleep(time.Hour)
	synctest.Wait()
}
