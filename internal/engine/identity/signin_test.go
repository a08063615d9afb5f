package identity_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

func newSignIn(store *sessionMemory, c *clock) *identity.SignIn {
	spent := map[string]bool{}
	return &identity.SignIn{
		Sessions:  func(context.Context) (identity.SessionStore, error) { return store, nil },
		Secret:    func() ([]byte, error) { return []byte("a secret of the machine"), nil },
		Workspace: "/w", Now: c.now,
		UseOnce: func(_ context.Context, token string, _, _ time.Time) (bool, error) {
			fresh := !spent[token]
			spent[token] = true
			return fresh, nil
		},
	}
}

var grace = identity.Person{Name: "grace", Role: identity.Approver}

func newLink(t *testing.T, s *identity.SignIn) string {
	t.Helper()
	link, err := s.Link(grace, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

func enter(t *testing.T, s *identity.SignIn) (cookie string) {
	t.Helper()
	cookie, who, _, err := s.Redeem(t.Context(), newLink(t, s))
	if err != nil || who != grace {
		t.Fatalf("%v is in, error %v", who, err)
	}
	return cookie
}

func TestLinkRejects(t *testing.T) {
	signIn := newSignIn(&sessionMemory{}, &clock{noon})
	for name, tc := range map[string]struct {
		who  identity.Person
		good time.Duration
	}{
		"nobody":          {identity.Person{Role: identity.Admin}, time.Minute},
		"an odd name":     {identity.Person{Name: "a\u202eb", Role: identity.Admin}, time.Minute},
		"everybody":       {identity.Person{Name: identity.Everybody, Role: identity.Admin}, time.Minute},
		"no role":         {identity.Person{Name: "grace"}, time.Minute},
		"an unknown role": {identity.Person{Name: "grace", Role: 9}, time.Minute},
		"no time":         {grace, 0},
		"a long time":     {grace, 8 * 24 * time.Hour},
	} {
		if link, err := signIn.Link(tc.who, tc.good); err == nil || link != "" || contract.AsError(err).Kind != contract.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPeek checks that a link names its person without being used up.
func TestPeek(t *testing.T) {
	c := &clock{noon}
	signIn := newSignIn(&sessionMemory{}, c)
	link := newLink(t, signIn)
	for range 2 {
		if who, err := signIn.Peek(link); err != nil || who != grace {
			t.Errorf("%v, %v", who, err)
		}
	}
	_, err := signIn.Peek(link[1:])
	denied(t, err, "altered")
	if _, who, _, err := signIn.Redeem(t.Context(), link); err != nil || who != grace {
		t.Errorf("after that: %v, %v", who, err)
	}
	c.at = noon.Add(10 * time.Minute)
	_, err = signIn.Peek(link)
	denied(t, err, "expired")
}

func TestRedeemRejects(t *testing.T) {
	c := &clock{noon}
	signIn := newSignIn(&sessionMemory{}, c)
	link := newLink(t, signIn)
	elsewhere := newSignIn(&sessionMemory{}, c)
	elsewhere.Workspace = "/other"
	body, mac, _ := strings.Cut(link, ".")
	other, otherMAC, _ := strings.Cut(newLink(t, signIn), ".")
	for name, tc := range map[string]struct {
		token string
		after time.Duration
		want  string
	}{
		"nothing":              {"", 0, "altered"},
		"a dot":                {".", 0, "altered"},
		"a part of it":         {link[:len(link)-1], 0, "altered"},
		"more of it":           {link + "A", 0, "altered"},
		"other words":          {other + "." + mac, 0, "altered"},
		"another signature":    {body + "." + otherMAC, 0, "altered"},
		"of another workspace": {newLink(t, elsewhere), 0, "made for another workspace"},
		"no signature":         {body, 0, "altered"},
		"an expired one":       {link, 10 * time.Minute, "expired"},
		"the token of agents":  {secretOfAnother(t), 0, "altered"},
		"a long one":           {strings.Repeat("A", 1<<20), 0, "altered"},
	} {
		c.at = noon.Add(tc.after)
		cookie, _, _, err := signIn.Redeem(t.Context(), tc.token)
		if denied(t, err, tc.want); cookie != "" || t.Failed() {
			t.Errorf("%s: a cookie %q", name, cookie)
		}
		if strings.Contains(err.Error(), "remit token link") {
			t.Errorf("%s: %v; the page says how to get another already", name, err)
		}
	}
	c.at = noon.Add(10*time.Minute - time.Second)
	if _, _, _, err := signIn.Redeem(t.Context(), link); err != nil {
		t.Errorf("at the last moment: %v", err)
	}
	_, _, _, err := signIn.Redeem(t.Context(), link)
	denied(t, err, "used already")
}

func TestSessionEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		visits []time.Duration // after signing in; the person is signed in at all but the last
		in     bool            // also at the last
	}{
		"just before two idle hours":  {[]time.Duration{2*time.Hour - 1}, true},
		"after two idle hours":        {[]time.Duration{2 * time.Hour}, false},
		"two hours after a visit":     {[]time.Duration{time.Hour, 3*time.Hour - 1}, true},
		"over two hours after it":     {[]time.Duration{time.Hour, 3 * time.Hour}, false},
		"twelve hours, always there":  {append(hours(11), 12*time.Hour), false},
		"almost twelve, always there": {append(hours(11), 12*time.Hour-time.Second), true},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clock{noon.Truncate(time.Microsecond)}
			began := c.at
			signIn := newSignIn(&sessionMemory{}, c)
			cookie := enter(t, signIn)
			for i, after := range tc.visits {
				c.at = began.Add(after)
				who, err := signIn.Person(t.Context(), cookie)
				if i < len(tc.visits)-1 || tc.in {
					if err != nil || who != grace {
						t.Errorf("after %s: %v, error %v", after, who, err)
					}
					continue
				}
				denied(t, err, "session has ended")
			}
		})
	}
}

func hours(n int) []time.Duration {
	var all []time.Duration
	for i := range n {
		all = append(all, time.Duration(i+1)*time.Hour)
	}
	return all
}

func TestSessionIsTouchedOnceAMinute(t *testing.T) {
	store, c := &sessionMemory{}, &clock{noon.Truncate(time.Microsecond)}
	began := c.at
	signIn := newSignIn(store, c)
	cookie := enter(t, signIn)
	for _, step := range []struct {
		after   time.Duration
		touches int
	}{{0, 0}, {time.Minute - 1, 0}, {time.Minute, 1}, {time.Minute + time.Second, 1}, {2 * time.Minute, 2}} {
		c.at = began.Add(step.after)
		if _, err := signIn.Person(t.Context(), cookie); err != nil || store.touches != step.touches {
			t.Errorf("after %s: %d touches, error %v, want %d", step.after, store.touches, err, step.touches)
		}
	}
}

// TestLookDoesNotExtendSession checks that a page that is left open does not defer the idle
// timeout.
func TestLookDoesNotExtendSession(t *testing.T) {
	store, c := &sessionMemory{}, &clock{noon.Truncate(time.Microsecond)}
	began := c.at
	signIn := newSignIn(store, c)
	cookie := enter(t, signIn)
	for after := time.Minute; after < identity.SessionIdle; after += 10 * time.Minute {
		c.at = began.Add(after)
		if who, err := signIn.PersonWithoutTouch(t.Context(), cookie); err != nil || who != grace {
			t.Fatalf("after %s: %v, error %v", after, who, err)
		}
	}
	c.at = began.Add(identity.SessionIdle)
	who, err := signIn.PersonWithoutTouch(t.Context(), cookie)
	if denied(t, err, "session has ended"); who != (identity.Person{}) || store.touches != 0 {
		t.Errorf("%v is in, %d touches", who, store.touches)
	}
}

// TestSignOut checks that all sessions of this workspace can be listed and ended, and none of other
// workspaces.
func TestSignOut(t *testing.T) {
	store, c := &sessionMemory{}, &clock{noon}
	signIn, elsewhere := newSignIn(store, c), newSignIn(store, c)
	elsewhere.Workspace = "/other"
	theirs := enter(t, elsewhere)
	old := enter(t, signIn)
	c.at = noon.Add(time.Hour)
	first, second := enter(t, signIn), enter(t, signIn)
	link, err := signIn.Link(identity.Person{Name: "ada", Role: identity.Viewer}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ada, _, _, err := signIn.Redeem(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	in := func(s *identity.SignIn, cookie string) bool {
		_, err := s.PersonWithoutTouch(t.Context(), cookie)
		return err == nil
	}
	c.at = noon.Add(identity.SessionIdle) // the old session was not used since
	people, err := signIn.People(t.Context())
	if err != nil || len(people) != 3 || in(signIn, old) {
		t.Errorf("%d are in, error %v", len(people), err)
	}
	for _, nobody := range []string{"nobody", "GRACE"} {
		if n, err := signIn.SignOut(t.Context(), nobody); n != 0 || err != nil {
			t.Errorf("%q: ended %d, error %v", nobody, n, err)
		}
	}
	if n, err := signIn.SignOut(t.Context(), ""); n != 0 || contract.AsError(err).Kind != contract.Invalid {
		t.Errorf("ended %d, error %v", n, err)
	}
	if n, err := signIn.SignOut(t.Context(), "grace"); n != 2 || err != nil || in(signIn, first) || in(signIn, second) || !in(signIn, ada) {
		t.Errorf("ended %d, error %v, ada is in: %v", n, err, in(signIn, ada))
	}
	if n, err := signIn.SignOut(t.Context(), identity.Everybody); n != 1 || err != nil || in(signIn, ada) {
		t.Errorf("ended %d, error %v", n, err)
	}
	c.at = noon
	if !in(elsewhere, theirs) {
		t.Error("a session of another workspace was ended")
	}
	store.fail = errors.New("the disk is on fire")
	if _, err := signIn.SignOut(t.Context(), identity.Everybody); contract.AsError(err).Kind != contract.Unavailable {
		t.Errorf("without a store: %v", err)
	}
	signIn.Exists = func() bool { return false }
	if people, err := signIn.People(t.Context()); err != nil || len(people) != 0 {
		t.Errorf("where no session was ever begun: %v, error %v", people, err)
	}
}

// TestSignOutVoidsLinks checks that unused links of the person become void, but only in this
// workspace.
func TestSignOutVoidsLinks(t *testing.T) {
	store, c := &sessionMemory{}, &clock{noon}
	signIn, elsewhere := newSignIn(store, c), newSignIn(store, c)
	elsewhere.Workspace = "/other"
	linkFor := func(s *identity.SignIn, name string) string {
		link, err := s.Link(identity.Person{Name: name, Role: identity.Viewer}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return link
	}
	in := func(s *identity.SignIn, link string) bool {
		_, _, _, err := s.Redeem(t.Context(), link)
		if err != nil && (contract.AsError(err).Kind != contract.Denied || !strings.Contains(err.Error(), "signed out")) {
			t.Errorf("%v", err)
		}
		return err == nil
	}
	graces, adas, others := linkFor(signIn, "grace"), linkFor(signIn, "ada"), linkFor(elsewhere, "grace")
	c.at = noon.Add(time.Second)
	if n, err := signIn.SignOut(t.Context(), "grace"); n != 0 || err != nil {
		t.Errorf("ended %d, error %v", n, err)
	}
	if in(signIn, graces) || len(store.sessions) != 0 || !in(signIn, adas) || !in(elsewhere, others) {
		t.Error("another link is void than that of grace")
	}
	adas = linkFor(signIn, "ada")
	c.at = noon.Add(2 * time.Second)
	if n, err := signIn.SignOut(t.Context(), identity.Everybody); n != 1 || err != nil || in(signIn, adas) {
		t.Errorf("ended %d, error %v", n, err)
	}
	c.at = noon.Add(3 * time.Second)
	if !in(signIn, linkFor(signIn, "grace")) {
		t.Error("a new link is void")
	}
}

func TestCookieIsNotStored(t *testing.T) {
	store := &sessionMemory{}
	signIn := newSignIn(store, &clock{noon})
	cookie := enter(t, signIn)
	if kept := store.sessions[0]; strings.Contains(kept.Hash+kept.Seal+kept.Name, cookie) {
		t.Error("the cookie is kept")
	}
	for name, other := range map[string]string{
		"none": "", "the hash": store.sessions[0].Hash, "43 characters": strings.Repeat("A",
			43), "a part": cookie[:42], "more": cookie + "A", "a token": secretOfAnother(t),
	} {
		_, err := signIn.Person(t.Context(), other)
		denied(t, err, "not signed in")
		if t.Failed() {
			t.Fatalf("with %s", name)
		}
		if err := signIn.End(t.Context(), other); err != nil {
			t.Errorf("end %s: %v", name, err)
		}
	}
	if _, err := signIn.Person(t.Context(), cookie); err != nil {
		t.Errorf("another's end ended this session: %v", err)
	}
	if err := signIn.End(t.Context(), cookie); err != nil {
		t.Fatal(err)
	}
	_, err := signIn.Person(t.Context(), cookie)
	denied(t, err, "not signed in")
}

func TestSignInWithoutStore(t *testing.T) {
	store := &sessionMemory{}
	signIn := newSignIn(store, &clock{noon})
	cookie := enter(t, signIn)
	link := newLink(t, signIn)
	store.fail = errors.New("the disk is on fire")
	_, err := signIn.Person(t.Context(), cookie)
	_, _, _, redeemed := signIn.Redeem(t.Context(), link)
	for _, err := range []error{err, redeemed, signIn.End(t.Context(), cookie)} {
		if e := contract.AsError(err); err == nil || e.Kind != contract.Unavailable || strings.Contains(e.Message, "fire") {
			t.Errorf("got %v, want unavailable", err)
		}
	}
	signIn.Exists = func() bool { return false }
	signIn.Sessions = func(context.Context) (identity.SessionStore, error) { t.Error("the store was opened"); return nil, nil }
	_, err = signIn.Person(t.Context(), cookie)
	denied(t, err)
}

func FuzzRedeem(f *testing.F) {
	signIn := newSignIn(&sessionMemory{}, &clock{noon})
	link, err := signIn.Link(grace, time.Minute)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", ".", link[:20], "e30." + strings.Repeat("A", 43), strings.ToLower(link)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if token != link {
			_, _, _, err := signIn.Redeem(t.Context(), token)
			denied(t, err)
		}
	})
}
