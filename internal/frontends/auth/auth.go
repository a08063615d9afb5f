// Package auth authenticates HTTP requests: it reads the bearer token, finds the caller's identity
// and scopes, limits the request rate of each token, and answers requests that it rejects. It does
// not decide which tools a caller may use; the engine does.
package auth

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/identity"
	"remit/internal/engine/ratelimit"
)

// Tokens looks up the tokens of agents.
type Tokens interface {
	// Check returns the token with this secret. The message of a contract.Denied error is for the
	// caller; any other error means that the token could not be checked. Check is safe for
	// concurrent use.
	Check(ctx context.Context, secret string) (identity.Token, error)
	// AnyCreated reports whether a valid token exists. It is safe for concurrent use.
	AnyCreated(ctx context.Context) (bool, error)
}

var _ Tokens = (*identity.Tokens)(nil)

// Mode says whether callers must send a token.
type Mode int

// The modes of authentication.
const (
	Auto Mode = iota // required once a token exists or an issuer is set
	On               // seen required
	Off              // never required; credentials that are sent are still checked
)

// agentRate is the request rate of an agent whose token does not set one.
var agentRate = ratelimit.Rate{Requests: 6000, Per: time.Minute}

// Authenticator authenticates requests. Set its fields before the first use; Issuer, Limiter,
// Audit, Scopes and DeadlineFactor are optional.
type Authenticator struct {
	Tokens        Tokens
	Issuer        *OIDC // nil if no OIDC issuer is set
	Mode          Mode
	LocalIdentity identity.Identity // the caller's identity where no token is required
	// Returns the public base URL of this server, without a trailing slash.
	BaseURL func() string
	Scopes  func() []string // returns the supported scopes, for the metadata document
	// BehindProxy means that requests come through the operator's proxy, so the last address in
	// X-Forwarded-For is the client's.
	BehindProxy bool
	Limiter     ratelimit.Limiter // nil: no rate limit
	Audit       engine.Auditor
	Log         *slog.Logger
	Now         func() time.Time
	// DeadlineFactor multiplies the timeout of token lookups, as engine.Options.DeadlineFactor does
	// for contract deadlines. It is for tests.
	DeadlineFactor int

	requirement requirement
	guessesOnce sync.Once
	guesses     *ratelimit.Memory
}

// identityKey is the context key for the identity of a request with credentials.
type identityKey struct{}

// Guard checks the credentials of every request and rejects those that are not valid. Requests
// without credentials pass; the engine rejects them if the tool requires identity.
func (d *Authenticator) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header["Authorization"] == nil && !hasQueryToken(r.URL) {
			next.ServeHTTP(w, r)
			return
		}
		who, ref := d.admit(r)
		if ref == nil && who.Role != identity.NoRole && !isDecision(r.URL.Path) {
			ref = d.recordFailure(r, personElsewhere(), d.Now())
		}
		if ref != nil {
			d.refuse(w, r, ref)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, who)))
	})
}

// AdmitsOtherUser reports whether a request of another user of this machine may be served: without
// identity, everybody who can connect would count as the user who runs this server.
func (d *Authenticator) AdmitsOtherUser(r *http.Request) bool {
	// Guard checks credentials. A health check says nothing about the workspace.
	return r.Header["Authorization"] != nil || r.URL.Path == "/health" || d.Required(r.Context())
}

// Identity returns the identity of the sender of a request that passed Guard. An empty principal
// means that the caller is anonymous.
func (d *Authenticator) Identity(r *http.Request) identity.Identity {
	if r.Header["Authorization"] != nil {
		if who, ok := r.Context().Value(identityKey{}).(*identity.Identity); ok {
			return *who
		}
		return identity.Identity{} // Guard did not check these credentials
	}
	if !d.Required(r.Context()) {
		return d.LocalIdentity
	}
	return identity.Identity{Grant: d.requirement.unsure.Load()}
}

// StillAllowed reports whether a request that was accepted earlier would be accepted now. It is for
// long-lived responses. If the credentials cannot be checked at the moment, it returns true.
func (d *Authenticator) StillAllowed(r *http.Request) bool {
	if r.Header["Authorization"] == nil {
		who := d.Identity(r)
		return who.Principal != "" || who.Grant.IsUnverifiable()
	}
	// The client may have disconnected already.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), d.lookupTimeout())
	defer cancel()
	secret, ref := bearer(r)
	if ref == nil {
		_, ref = d.check(ctx, secret)
	}
	return ref == nil || ref.status >= http.StatusInternalServerError
}

// RequireIdentity rejects anonymous callers. It is for lists, metrics and everything else that is
// not public.
func (d *Authenticator) RequireIdentity(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who := d.Identity(r); who.Grant.IsUnverifiable() {
			ref := unavailable()
			ref.message = contract.AsError(identity.AnonymousError(who.Grant, "")).Message
			d.refuse(w, r, ref)
			return
		} else if who.Principal == "" {
			d.refuse(w, r, unauthenticated(""))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Challenge answers a call that the engine denied. It sets WWW-Authenticate and returns the status
// of the response: 401 if the caller is anonymous, 403 if the token lacks a scope. If no other
// token would help, it returns 0 and sets nothing.
func (d *Authenticator) Challenge(w http.ResponseWriter, r *http.Request, err error) (status int) {
	var lacks *identity.ScopeError
	scope := ""
	if errors.As(err, &lacks) {
		scope = lacks.Needs.String()
	} else if !errors.Is(err, identity.ErrAnonymous) {
		return 0
	}
	var ref *refusal
	switch nobody := d.Identity(r).Principal == ""; {
	case nobody:
		ref = unauthenticated(scope)
	case lacks != nil:
		ref = &refusal{status: http.StatusForbidden, code: insufficientScope, message: "This needs a token with the scope " + scope, scope: scope}
	default:
		return 0
	}
	d.challenge(w, r, ref)
	return ref.status
}

// isDecision reports whether a path is one that the tokens of people are for.
func isDecision(path string) bool {
	return path == "/approvals" || strings.HasPrefix(path, "/approvals/")
}

// personElsewhere refuses the token of a person everywhere but at /approvals.
func personElsewhere() *refusal {
	return &refusal{
		status: http.StatusForbidden, code: insufficientScope,
		message: "This token belongs to a person and is valid for /approvals alone; send the token of an agent here",
	}
}

// admit authenticates a request with credentials and applies the rate limit. A valid token is
// accepted no matter how many invalid ones came from the same address: clients on one machine or
// behind one router share an address, and nobody can guess 32 random bytes.
func (d *Authenticator) admit(r *http.Request) (*identity.Identity, *refusal) {
	now := d.Now()
	var caller caller
	secret, ref := bearer(r)
	if ref == nil {
		caller, ref = d.check(r.Context(), secret)
	}
	if ref != nil {
		return nil, d.recordFailure(r, ref, now)
	}
	if ref := d.checkRate(r.Context(), caller, now); ref != nil {
		return nil, ref
	}
	return caller.who, nil
}

// caller is an authenticated caller.
type caller struct {
	who  *identity.Identity
	key  string // the key of the rate limit
	rate ratelimit.Rate
}

// check returns the owner of a token.
func (d *Authenticator) check(ctx context.Context, secret string) (caller, *refusal) {
	if isRemitToken(secret) {
		token, err := d.Tokens.Check(ctx, secret)
		if err != nil {
			return caller{}, d.checkFailed(err)
		}
		who := &identity.Identity{Principal: token.Principal(), Grant: token.Grant(), Role: token.Role}
		return caller{who, "auth/token/" + token.ID, cmp.Or(token.Rate, agentRate)}, nil
	}
	if d.Issuer == nil {
		return caller{}, invalidTokenf("This is not a Remit token; Remit tokens begin with %s", identity.Prefix)
	}
	who, err := d.Issuer.check(ctx, secret, d.BaseURL(), d.Now)
	if err != nil {
		return caller{}, d.checkFailed(err)
	}
	return caller{who, "auth/" + who.Principal, agentRate}, nil
}

// checkFailed converts the error of a check into a refusal. Only a denied token is answered with
// 401: a client must not ask for a new token because of an error on the server.
func (d *Authenticator) checkFailed(err error) *refusal {
	failure := contract.AsError(err)
	if failure.Kind == contract.Denied {
		ref := invalidTokenf("%s", failure.Message)
		ref.cause = failure.Cause
		return ref
	}
	d.Log.Warn("token check failed", "error", err)
	ref := unavailable()
	if failure.Kind == contract.Unavailable {
		ref.message = failure.Message
	}
	return ref
}

// checkRate applies the rate limit of an agent.
func (d *Authenticator) checkRate(ctx context.Context, c caller, now time.Time) *refusal {
	if d.Limiter == nil {
		return nil
	}
	wait, err := d.Limiter.Allow(ctx, c.key, c.rate, now)
	if err != nil {
		d.Log.Warn("rate limit check failed", "caller", c.who.Principal, "error", err)
		return &refusal{
			status: http.StatusServiceUnavailable, message: "The rate limit cannot be checked right now; try again", wait: time.Second,
		}
	}
	if wait > 0 {
		return rateLimitedf(wait, "This token has sent more than %d requests in %s", c.rate.Requests, c.rate.Per)
	}
	return nil
}

const (
	tokenPollInterval  = time.Second     // how often to check whether a token exists
	tokenLookupTimeout = 4 * time.Second // the timeout of that check; callers wait for it
)

// requirement caches whether callers must send a token.
type requirement struct {
	seen   atomic.Bool                    // a token has existed since the start
	last   atomic.Bool                    // the result of the last check
	unsure atomic.Pointer[identity.Grant] // of anonymous callers, if the last check failed
	until  atomic.Int64                   // when the result expires, in Unix nanoseconds
	mu     sync.Mutex
}

// Required reports whether callers must send a token. Once a token has existed, it returns true
// until the program ends: revoking the last token does not open the server.
func (d *Authenticator) Required(ctx context.Context) bool {
	switch {
	case d.Mode != Auto:
		return d.Mode == On
	case d.Issuer != nil || d.requirement.seen.Load():
		return true
	}
	if d.requirement.isFresh(d.Now()) {
		return d.requirement.last.Load()
	}
	return d.checkTokens(ctx)
}

// CheckAnonymous returns an error if callers must send a token at this moment. It looks up whether
// tokens exist, where Required may use a result that is a second old.
func (d *Authenticator) CheckAnonymous(ctx context.Context) error {
	d.requirement.until.Store(0)
	if !d.Required(ctx) {
		return nil
	}
	if unsure := d.requirement.unsure.Load(); unsure.IsUnverifiable() {
		return identity.AnonymousError(unsure, "")
	}
	return contract.Errorf(contract.Denied, "it was issued to an anonymous caller, and this server requires a token now")
}

// isFresh reports whether the last result is still fresh. A result that expires later than the
// interval allows means that the clock was set back; it is not fresh.
func (n *requirement) isFresh(now time.Time) bool {
	left := n.until.Load() - now.UnixNano()
	return 0 < left && left <= int64(tokenPollInterval)
}

// lookupTimeout returns the timeout of a token lookup.
func (d *Authenticator) lookupTimeout() time.Duration {
	return tokenLookupTimeout * time.Duration(max(1, d.DeadlineFactor))
}

// checkTokens checks whether a token exists. If the check fails, callers must send a token, because
// one may exist.
func (d *Authenticator) checkTokens(ctx context.Context) bool {
	n := &d.requirement
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isFresh(d.Now()) {
		return n.last.Load() // another request checked meanwhile
	}
	// Other requests use the result, so a client that disconnects must not cancel the check.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.lookupTimeout())
	defer cancel()
	found, err := d.Tokens.AnyCreated(ctx)
	var unsure *identity.Grant
	if err != nil {
		d.Log.Warn("check for tokens failed; callers must send a token", "error", err)
		unsure = identity.UnverifiableGrant(err)
	}
	n.unsure.Store(unsure)
	if found {
		n.seen.Store(true)
		d.Log.Info("a token exists; callers must send one from now on")
	}
	n.last.Store(found || err != nil)
	n.until.Store(d.Now().Add(tokenPollInterval).UnixNano())
	return n.last.Load()
}
