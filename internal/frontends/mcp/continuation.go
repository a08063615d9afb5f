package mcp

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// States keeps the state of modern calls between their rounds. The client stores it, encrypted: it
// cannot read or change the state, use it twice, or use it for another call or owner.
type States struct {
	// Secret returns the encryption secret, which must survive a restart.
	Secret func() ([]byte, error)
	// Workspace identifies the workspace that a state belongs to: an approval in one workspace must
	// not count in another one with the same secret.
	Workspace string
	// UseOnce records that a state was used. It returns false if it was used before.
	UseOnce func(ctx context.Context, token string, now, expires time.Time) (fresh bool, err error)
	Now     func() time.Time

	once sync.Once
	aead cipher.AEAD
	err  error
}

const (
	stateWindow = time.Hour // the time that a person has to answer
	maxState    = 64 << 10  // bytes; clients send it back as one string
)

// state is the state of a call between two rounds.
type state struct {
	Owner    string                     `json:"p"` // see engine.Call.Owner
	Subject  []byte                     `json:"s"` // digest of the call
	Expires  int64                      `json:"e"` // in Unix milliseconds
	Token    string                     `json:"t"` // makes it single-use
	Number   int                        `json:"n"`
	Approved bool                       `json:"a,omitempty"`
	By       string                     `json:"b,omitempty"`
	Rule     string                     `json:"r,omitempty"`
	Key      string                     `json:"i,omitempty"` // the idempotency key
	AskedAt  int64                      `json:"w"`
	Asked    []string                   `json:"k"` // keys of all questions so far
	Seen     string                     `json:"o,omitempty"`
	Asks     int                        `json:"q,omitempty"`
	Answers  map[string]json.RawMessage `json:"v,omitempty"`
}

// prepare creates the cipher on first use.
func (s *States) prepare() (cipher.AEAD, error) {
	s.once.Do(func() {
		var secret []byte
		if secret, s.err = s.Secret(); s.err != nil {
			return
		}
		purpose := hmac.New(sha256.New, secret)
		purpose.Write([]byte("remit requestState 1"))
		var block cipher.Block
		if block, s.err = aes.NewCipher(purpose.Sum(nil)); s.err == nil {
			s.aead, s.err = cipher.NewGCMWithRandomNonce(block)
		}
	})
	return s.aead, s.err
}

// seal encrypts a state for the client.
func (s *States) seal(st *state) (string, error) {
	aead, err := s.prepare()
	if err != nil {
		return "", contract.Errorf(contract.Unavailable, "The call cannot wait for an answer right now; try again later").Because(err)
	}
	if st.Expires == 0 { // the first round; later ones do not extend it
		st.Expires = s.Now().Add(stateWindow).UnixMilli()
	}
	st.Token = rand.Text()
	plain, err := json.Marshal(st)
	if err != nil {
		return "", fmt.Errorf("encode state: %w", err)
	}
	if len(plain) > maxState {
		return "", rpcErrorf(codeInvalidParams, "Invalid params: the answers are larger than %d bytes", maxState)
	}
	sealed := aead.Seal(nil, nil, plain, []byte(s.Workspace)) //nolint:gosec // this cipher generates its own nonce
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// open decrypts a state and marks it as used.
func (s *States) open(ctx context.Context, sealed, owner string, subject []byte) (*state, error) {
	aead, err := s.prepare()
	if err != nil {
		return nil, contract.Errorf(contract.Unavailable, "The state of the call cannot be read right now; try again later").Because(err)
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil {
		return nil, badState("was not issued by this server")
	}
	plain, err := aead.Open(nil, nil, data, []byte(s.Workspace))
	if err != nil {
		return nil, badState("was not issued by this server")
	}
	var st state
	if err := json.Unmarshal(plain, &st); err != nil {
		return nil, badState("is from another version of the server")
	}
	now, expires := s.Now(), time.UnixMilli(st.Expires)
	switch {
	case st.Owner != owner || !hmac.Equal(st.Subject, subject):
		return nil, badState("belongs to another call")
	case !now.Before(expires):
		return nil, badState("has expired")
	}
	fresh, err := s.UseOnce(ctx, st.Token, now, expires)
	if err != nil {
		return nil, contract.Errorf(contract.Unavailable, "The state of the call cannot be used right now; try again later").Because(err)
	}
	if !fresh {
		return nil, badState("was used before")
	}
	return &st, nil
}

func badState(reason string) *rpcError {
	return rpcErrorf(codeInvalidParams, "Invalid params: requestState %s; make the call again without it", reason)
}

// continuation is one round of a modern call.
type continuation struct {
	subject []byte
	expires int64 // of its state, in Unix milliseconds; zero before the first state
	before  engine.Continuation
	asked   map[string]bool           // keys of the questions that were asked
	answers map[string]jsontree.Value // of all rounds so far
}

// readContinuation reads the answers and the state from earlier rounds.
func (q *request) readContinuation(ctx context.Context, digest string) error {
	r := &q.continuation
	given, brings := q.params.Get("inputResponses")
	sealed, resumes := q.params.Get("requestState")
	if !brings && !resumes {
		return nil
	}
	if brings && given.Kind != jsontree.Object {
		return rpcErrorf(codeInvalidParams, "Invalid params: inputResponses must be an object, not %s", given.Kind)
	}
	for _, m := range given.Members {
		if m.Value.Kind != jsontree.Object {
			return rpcErrorf(codeInvalidParams, "Invalid params: inputResponses.%s must be an object, not %s", m.Key, m.Value.Kind)
		}
	}
	if resumes { // after all other checks, because this spends the state
		if err := q.resume(ctx, digest, &sealed); err != nil {
			return err
		}
	}
	for _, m := range given.Members {
		if r.answers == nil {
			r.answers = map[string]jsontree.Value{}
		}
		r.answers[m.Key] = m.Value
	}
	return nil
}

// resume restores the state that the client sent back.
func (q *request) resume(ctx context.Context, digest string, sealed *jsontree.Value) error {
	if q.server.States == nil || sealed.Kind != jsontree.String {
		return badState("was not issued by this server")
	}
	r := &q.continuation
	r.subject = q.subject(digest)
	st, err := q.server.States.open(ctx, sealed.Text, q.from.Owner(), r.subject)
	if err != nil {
		return err
	}
	r.expires = st.Expires
	r.before = engine.Continuation{Attempt: st.Number, Approved: st.Approved, By: st.By, Rule: st.Rule, Asked: time.UnixMilli(st.AskedAt), Key: st.Key, Seen: st.Seen, Asks: st.Asks}
	r.asked, r.answers = map[string]bool{}, map[string]jsontree.Value{}
	for _, key := range st.Asked {
		r.asked[key] = true
	}
	for key, raw := range st.Answers {
		if r.answers[key], err = jsontree.Parse(raw); err != nil {
			return badState("is from another version of the server")
		}
	}
	return nil
}

// subject returns the digest of the call and its contract.
func (q *request) subject(digest string) []byte {
	args := q.params.Field("arguments")
	if args.Kind == jsontree.Null {
		args = jsontree.Obj()
	}
	what := jsontree.Arr(jsontree.Str(q.method), q.params.Field("name"), q.params.Field("uri"), jsontree.Str(digest), args)
	sum := sha256.Sum256(what.Canonical())
	return sum[:]
}

// ask ends a round with questions to the client.
func (q *request) ask(need *engine.Suspension, digest string) ([]byte, error) {
	r := &q.continuation
	if q.server.States == nil {
		return nil, rpcErrorf(codeInternal, "This server cannot wait for answers")
	}
	if r.subject == nil {
		r.subject = q.subject(digest)
	}
	st := state{
		Owner: q.from.Owner(), Subject: r.subject, Expires: r.expires,
		Number: need.Next.Attempt, Approved: need.Next.Approved, By: need.Next.By, Rule: need.Next.Rule,
		AskedAt: need.Next.Asked.UnixMilli(), Key: need.Next.Key,
		Seen: need.Next.Seen, Asks: need.Next.Asks,
		Answers: map[string]json.RawMessage{},
	}
	for key := range r.asked {
		st.Asked = append(st.Asked, key)
	}
	for key, v := range r.answers {
		st.Answers[key] = v.Append(nil)
	}
	for _, question := range need.Questions {
		st.Asked = append(st.Asked, question.Key)
		delete(st.Answers, question.Key) // an answer given before the question does not count
	}
	sealed, err := q.server.States.seal(&st)
	if err != nil {
		return nil, err
	}
	b := appendQuestions(append(q.begin(1024), `"inputRequests":`...), need.Questions)
	b = jsontree.AppendString(append(b, `,"requestState":`...), sealed)
	return q.endAs(b, "input_required"), nil
}

// appendQuestions appends questions by their keys.
func appendQuestions(b []byte, questions []engine.Question) []byte {
	all := jsontree.Obj()
	for _, q := range questions {
		asked := jsontree.Obj(jsontree.M("method", jsontree.Str(questionMethod(q.Needs))), jsontree.M("params", q.Params))
		all.Members = append(all.Members, jsontree.M(q.Key, asked))
	}
	return all.Append(b)
}

// peer returns the engine's view of the client. A legacy client can be asked while a call runs; a
// modern client answers in rounds.
func (q *request) peer(ctx context.Context, tool *engine.Tool) (engine.Peer, error) {
	if q.from.era == legacy {
		return livePeer{q}, nil
	}
	digest := ""
	if tool != nil {
		digest = tool.Digest
	}
	if err := q.readContinuation(ctx, digest); err != nil {
		return nil, err
	}
	deferred := &engine.DeferredPeer{
		Live:    livePeer{q},
		Answers: q.continuation.answers,
		Detach:  tool != nil && tool.Task != "" && q.from.tasks && q.server.Tasks != nil,
	}
	if q.continuation.asked != nil {
		deferred.Asked = func(key string) bool { return q.continuation.asked[key] }
	}
	return deferred, nil
}

// askOrFail ends the round with the questions in err, or returns err.
func (q *request) askOrFail(err error) ([]byte, error) {
	wait, ok := errors.AsType[*engine.SuspendedError](err)
	if q.from.era == legacy || !ok {
		return nil, err
	}
	next := engine.Continuation{Attempt: q.continuation.before.Attempt + 1}
	return q.ask(&engine.Suspension{Questions: wait.Questions, Next: next}, "")
}

// livePeer is a client that receives messages while a call runs.
type livePeer struct{ q *request }

var _ engine.Peer = livePeer{}

// Progress sends a progress notification if the client sent a progress token.
func (p livePeer) Progress(done, total float64, message string) {
	meta := p.q.params.Field("_meta")
	token := meta.Field("progressToken")
	if token.Kind != jsontree.String && token.Kind != jsontree.Number {
		return
	}
	b := append([]byte(`{"progressToken":`), token.Raw...)
	b = appendNumber(append(b, `,"progress":`...), done)
	if total > 0 {
		b = appendNumber(append(b, `,"total":`...), total)
	}
	if message != "" {
		b = jsontree.AppendString(append(b, `,"message":`...), message)
	}
	// The client may have disconnected.
	_ = p.q.out.send(notification("notifications/progress", append(b, '}')))
}

func appendNumber(b []byte, n float64) []byte { return strconv.AppendFloat(b, n, 'f', -1, 64) }

// Log sends a log notification if the client wants this level.
func (p livePeer) Log(level engine.Level, logger string, data jsontree.Value) {
	if p.q.from.logs == nil || int32(level) < p.q.from.logs.Load() {
		return
	}
	params := jsontree.Obj(jsontree.M("level", jsontree.Str(level.String())))
	if logger != "" {
		params.Members = append(params.Members, jsontree.M("logger", jsontree.Str(logger)))
	}
	params.Members = append(params.Members, jsontree.M("data", data))
	// The client may have disconnected.
	_ = p.q.out.send(notification("notifications/message", params.Append(nil)))
}

// Can reports whether the client declared a capability.
func (p livePeer) Can(c engine.Capability) bool { return p.q.from.can(c) }

// Background does nothing: this client has no tasks.
func (livePeer) Background() error { return nil }

// Release closes the connection if the client can resume it.
func (p livePeer) Release() { p.q.out.release() }

// Ask asks the client the questions one by one, because a person reads one at a time.
func (p livePeer) Ask(ctx context.Context, questions []engine.Question) (map[string]jsontree.Value, error) {
	for _, question := range questions {
		if !p.q.from.can(question.Needs) {
			return nil, &engine.MissingCapabilityError{Needs: question.Needs}
		}
	}
	engine.MarkOrdered(ctx) // later writes must not wait for a person
	defer p.q.out.pausing()()
	answers := make(map[string]jsontree.Value, len(questions))
	for _, question := range questions {
		m, err := p.q.questions.put(ctx, p.q.out.send, questionMethod(question.Needs), question.Params.Append(nil))
		if err != nil {
			return nil, fmt.Errorf("ask the client: %w", err)
		}
		if m.failed {
			return nil, errors.New("the client answered with an error")
		}
		answers[question.Key] = m.result
	}
	return answers, nil
}

func questionMethod(c engine.Capability) string {
	switch c {
	case engine.Sampling:
		return "sampling/createMessage"
	case engine.Roots:
		return "roots/list"
	default:
		return "elicitation/create"
	}
}
