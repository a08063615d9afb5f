// Package auth lets HTTP requests in: who sends them, what their token lets them do,
// how often, and what they are told if they may not.
package auth

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

// Tokens knows the tokens of agents.
type Tokens interface {
	// Check finds the token of a secret. A contract.Denied error is for the caller;
	// any other means that it could not be checked. Safe for concurrent use.
	Check(ctx context.Context, secret string) (identity.Token, error)
	// Any tells whether there is a token that lets anybody in. Safe for concurrent use.
	Any(ctx context.Context) (bool, error)
}

var _ Tokens = (*identity.Tokens)(nil)

// Mode says whether callers have to say who they are.
type Mode int

// The modes.
const (
	Auto Mode = iota // once there is a token, or an issuer is set
	On               // always
	Off              // never; but credentials that are sent are checked all the same
)

// agentRate is how often each agent may send a request, unless its token says otherwise.
var agentRate = ratelimit.Rate{Requests: 6000, Per: time.Minute}

// Door lets requests in. Fill in its fields before it is used; Issuer, Limiter, Audit,
// Scopes and DeadlineFactor may be left out.
type Door struct {
	Tokens   Tokens
	Issuer   *OIDC // nil if no OIDC issuer is set
	Mode     Mode
	Local    identity.Identity // who calls where identity is off
	Resource func() string     // the base URL of this server as others reach it, without a slash at the end
	Scopes   func() []string   // those that there are, for clients that look before they ask
	// BehindProxy says that a proxy of the operator passes requests on, so the client is
	// the one that its X-Forwarded-For names last.
	BehindProxy bool
	Limiter     ratelimit.Limiter // nil: agents may call as often as they like
	Audit       engine.Auditor
	Log         *slog.Logger
	Now         func() time.Time
	// DeadlineFactor multiplies how long a look at the tokens may take, as that of
	// engine.Options multiplies the deadlines of contracts. It is for tests.
	DeadlineFactor int

	need        need
	guessesOnce sync.Once
	guesses     *ratelimit.Memory
}

// identityKey is where a request carries who sends it, if it came with credentials.
type identityKey struct{}

// Guard reads the credentials of every request. Those that are not good get no
// further. A request without any passes as it is: who may not call as nobody is told
// so where that is known.
func (d *Door) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header["Authorization"] == nil && !hasQueryToken(r.URL) {
			next.ServeHTTP(w, r)
			return
		}
		who, no := d.admit(r)
		if no != nil {
			d.refuse(w, r, no)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, who)))
	})
}

// Who is the sender of a request that went through Guard. A principal of "" is nobody.
func (d *Door) Who(r *http.Request) identity.Identity {
	if r.Header["Authorization"] != nil {
		if who, ok := r.Context().Value(identityKey{}).(*identity.Identity); ok {
			return *who
		}
		return identity.Identity{} // credentials that nobody has checked are none
	}
	switch {
	case !d.Required(r.Context()):
		return d.Local
	case d.need.unsure.Load():
		return identity.Identity{Grant: identity.Unsure}
	default:
		return identity.Identity{}
	}
}

// Still tells whether a request that was let in would be let in now, for what stays open
// long after. While that cannot be checked it stays as it is.
func (d *Door) Still(r *http.Request) bool {
	if r.Header["Authorization"] == nil {
		who := d.Who(r)
		return who.Principal != "" || who.Grant == identity.Unsure
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), d.lookTimeout()) // one who has left may still read
	defer cancel()
	secret, no := bearer(r)
	if no == nil {
		_, no = d.check(ctx, secret)
	}
	return no == nil || no.status >= http.StatusInternalServerError
}

// Known keeps out nobody in particular: for lists, metrics and whatever else is not
// for everybody.
func (d *Door) Known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who := d.Who(r); who.Grant == identity.Unsure {
			d.refuse(w, r, uncertain())
			return
		} else if who.Principal == "" {
			d.refuse(w, r, unknown(""))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Challenge tells the sender of a call that the engine denied what would let it pass:
// it sets WWW-Authenticate and gives the status of the answer, 401 if nobody calls and
// 403 if their token lacks a scope. It gives 0, and sets nothing, if no other token
// would help.
func (d *Door) Challenge(w http.ResponseWriter, r *http.Request, err error) (status int) {
	var lacks *identity.ScopeError
	scope := ""
	if errors.As(err, &lacks) {
		scope = lacks.Needs.String()
	} else if !errors.Is(err, identity.ErrNobody) {
		return 0
	}
	var no *refusal
	switch nobody := d.Who(r).Principal == ""; {
	case nobody:
		no = unknown(scope)
	case lacks != nil:
		no = &refusal{status: http.StatusForbidden, code: insufficientScope, why: "This needs a token with the scope " + scope, scope: scope}
	default:
		return 0
	}
	d.challenge(w, r, no)
	return no.status
}

// admit finds out who sends a request with credentials, and whether they may now. A good
// token comes in however many bad ones its address has sent: on one machine, and behind
// one router, all have the same, and nobody guesses 32 random bytes.
func (d *Door) admit(r *http.Request) (*identity.Identity, *refusal) {
	now := d.Now()
	var entry entry
	secret, no := bearer(r)
	if no == nil {
		entry, no = d.check(r.Context(), secret)
	}
	if no != nil {
		return nil, d.failed(r, no, now)
	}
	if no := d.pace(r.Context(), entry, now); no != nil {
		return nil, no
	}
	return entry.who, nil
}

// entry is somebody who may come in.
type entry struct {
	who  *identity.Identity
	key  string // what their requests are counted by
	rate ratelimit.Rate
}

// check tells whose token it is.
func (d *Door) check(ctx context.Context, secret string) (entry, *refusal) {
	if isOurs(secret) {
		token, err := d.Tokens.Check(ctx, secret)
		if err != nil {
			return entry{}, d.cannot(err)
		}
		who := &identity.Identity{Principal: token.Principal(), Grant: token.Grant()}
		return entry{who, "door/token/" + token.ID, cmp.Or(token.Rate, agentRate)}, nil
	}
	if d.Issuer == nil {
		return entry{}, bad("This is no token of Remit: those begin with %s", identity.Prefix)
	}
	who, err := d.Issuer.check(ctx, secret, d.Resource(), d.Now)
	if err != nil {
		return entry{}, d.cannot(err)
	}
	return entry{who, "door/" + who.Principal, agentRate}, nil
}

// cannot words the failure of a check. What is not the sender's fault is no reason to
// send them for another token.
func (d *Door) cannot(err error) *refusal {
	failure := contract.AsError(err)
	if failure.Kind == contract.Denied {
		no := bad("%s", failure.Message)
		no.cause = failure.Cause
		return no
	}
	d.Log.Warn("a token could not be checked", "error", err)
	return uncertain()
}

// pace keeps an agent within its rate.
func (d *Door) pace(ctx context.Context, e entry, now time.Time) *refusal {
	if d.Limiter == nil {
		return nil
	}
	wait, err := d.Limiter.Allow(ctx, e.key, e.rate, now)
	if err != nil {
		d.Log.Warn("the rate of an agent could not be checked", "caller", e.who.Principal, "error", err)
		return &refusal{status: http.StatusServiceUnavailable, why: "The rate limit cannot be checked right now; try again", wait: time.Second}
	}
	if wait > 0 {
		return tooOften(wait, "This token has sent more than %d requests in %s", e.rate.Requests, e.rate.Per)
	}
	return nil
}

const (
	askEvery    = time.Second     // how often it is looked whether there is a token
	askPatience = 4 * time.Second // how long that may take, while callers wait
)

// need remembers whether callers have to say who they are.
type need struct {
	always atomic.Bool  // there was a token once
	last   atomic.Bool  // what the last look said
	unsure atomic.Bool  // that it could not tell
	until  atomic.Int64 // how long that holds, in Unix nanoseconds
	looks  sync.Mutex
}

// Required tells whether callers have to say who they are. From the first token on
// that stays so while the program runs: to revoke the last one opens nothing.
func (d *Door) Required(ctx context.Context) bool {
	switch {
	case d.Mode != Auto:
		return d.Mode == On
	case d.Issuer != nil || d.need.always.Load():
		return true
	}
	if d.need.holds(d.Now()) {
		return d.need.last.Load()
	}
	return d.look(ctx)
}

// holds tells whether the last look was lately. What holds for longer than a look does
// comes from a clock that was set back.
func (n *need) holds(now time.Time) bool {
	left := n.until.Load() - now.UnixNano()
	return 0 < left && left <= int64(askEvery)
}

// lookTimeout is how long a look at the tokens may take.
func (d *Door) lookTimeout() time.Duration {
	return askPatience * time.Duration(max(1, d.DeadlineFactor))
}

// look asks whether there is a token. While that cannot be told callers have to say
// who they are: there may be one.
func (d *Door) look(ctx context.Context) bool {
	n := &d.need
	n.looks.Lock()
	defer n.looks.Unlock()
	if n.holds(d.Now()) {
		return n.last.Load() // somebody else looked meanwhile
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.lookTimeout()) // one who leaves must not spoil it for others
	defer cancel()
	found, err := d.Tokens.Any(ctx)
	if err != nil {
		d.Log.Warn("whether there are tokens cannot be told, so callers need one", "error", err)
	}
	if found {
		n.always.Store(true)
		d.Log.Info("there is a token, so callers need one from now on")
	}
	n.unsure.Store(err != nil)
	n.last.Store(found || err != nil)
	n.until.Store(d.Now().Add(askEvery).UnixNano())
	return n.last.Load()
}
