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

// States are what calls of the modern era remember between their rounds. The
// client keeps each for us, sealed: it can neither read nor change it, nor use
// it twice, for another call, or for somebody else.
type States struct {
	// Secret is what they are sealed with. It stays the same over a restart.
	Secret func() ([]byte, error)
	// Place is what they belong to, such as a workspace: a person who agreed in one
	// has agreed to nothing in another that has the same secret.
	Place string
	// Spend takes note of a state that was used; false if it was used before.
	Spend func(ctx context.Context, token string, now, expires time.Time) (fresh bool, err error)
	Now   func() time.Time

	once sync.Once
	aead cipher.AEAD
	err  error
}

const (
	stateWindow = time.Hour // as long as a person may take to answer
	maxState    = 64 << 10  // bytes; clients send it along as one string
)

// state is what a call remembers.
type state struct {
	Principal string                     `json:"p"`
	Subject   []byte                     `json:"s"` // digest of what is called
	Expires   int64                      `json:"e"` // in Unix milliseconds
	Token     string                     `json:"t"` // makes it single
	Number    int                        `json:"n"`
	Approved  bool                       `json:"a,omitempty"`
	Key       string                     `json:"i,omitempty"` // of idempotency
	AskedAt   int64                      `json:"w"`
	Asked     []string                   `json:"k"` // keys of all questions so far
	Answers   map[string]json.RawMessage `json:"v,omitempty"`
}

// prepare makes the cipher, the first time a call waits.
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

// seal hands a state to its client.
func (s *States) seal(st *state) (string, error) {
	aead, err := s.prepare()
	if err != nil {
		return "", contract.Errorf(contract.Unavailable, "The call cannot wait for an answer right now; try again later").Because(err)
	}
	if st.Expires == 0 { // the first round; later ones do not start the clock again
		st.Expires = s.Now().Add(stateWindow).UnixMilli()
	}
	st.Token = rand.Text()
	plain, err := json.Marshal(st)
	if err != nil {
		return "", fmt.Errorf("encode state: %w", err)
	}
	if len(plain) > maxState {
		return "", faultf(codeInvalidParams, "Invalid params: the answers are larger than %d bytes", maxState)
	}
	sealed := aead.Seal(nil, nil, plain, []byte(s.Place)) //nolint:gosec // this cipher makes its nonce itself
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// open takes a state back, once.
func (s *States) open(ctx context.Context, sealed, principal string, subject []byte) (*state, error) {
	aead, err := s.prepare()
	if err != nil {
		return nil, contract.Errorf(contract.Unavailable, "The state of the call cannot be read right now; try again later").Because(err)
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil {
		return nil, badState("is not one of ours")
	}
	plain, err := aead.Open(nil, nil, data, []byte(s.Place))
	if err != nil {
		return nil, badState("is not one of ours")
	}
	var st state
	if err := json.Unmarshal(plain, &st); err != nil {
		return nil, badState("is of another version of the server")
	}
	now, expires := s.Now(), time.UnixMilli(st.Expires)
	switch {
	case st.Principal != principal || !hmac.Equal(st.Subject, subject):
		return nil, badState("belongs to another call")
	case !now.Before(expires):
		return nil, badState("has expired")
	}
	fresh, err := s.Spend(ctx, st.Token, now, expires)
	if err != nil {
		return nil, contract.Errorf(contract.Unavailable, "The state of the call cannot be used right now; try again later").Because(err)
	}
	if !fresh {
		return nil, badState("was used before")
	}
	return &st, nil
}

func badState(why string) *rpcError {
	return faultf(codeInvalidParams, "Invalid params: requestState %s; make the call again without it", why)
}

// round is a call of the modern era in one of its rounds.
type round struct {
	subject []byte
	expires int64 // of its state, in Unix milliseconds; zero before there is one
	before  engine.Round
	asked   map[string]bool           // keys of the questions that were certainly put
	answers map[string]jsontree.Value // of all rounds so far
}

// readRound reads what a request brings along from earlier rounds.
func (q *request) readRound(ctx context.Context, digest string) error {
	r := &q.round
	given, brings := q.params.Get("inputResponses")
	sealed, resumes := q.params.Get("requestState")
	if !brings && !resumes {
		return nil
	}
	if brings && given.Kind != jsontree.Object {
		return faultf(codeInvalidParams, "Invalid params: inputResponses must be an object, not %s", given.Kind)
	}
	for _, m := range given.Members {
		if m.Value.Kind != jsontree.Object {
			return faultf(codeInvalidParams, "Invalid params: inputResponses.%s must be an object, not %s", m.Key, m.Value.Kind)
		}
	}
	if resumes { // once all else is right: the state is spent by it
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

// resume takes up the state that the client kept for us.
func (q *request) resume(ctx context.Context, digest string, sealed *jsontree.Value) error {
	if q.server.States == nil || sealed.Kind != jsontree.String {
		return badState("is not one of ours")
	}
	r := &q.round
	r.subject = q.subject(digest)
	st, err := q.server.States.open(ctx, sealed.Text, q.from.Principal, r.subject)
	if err != nil {
		return err
	}
	r.expires = st.Expires
	r.before = engine.Round{Number: st.Number, Approved: st.Approved, Asked: time.UnixMilli(st.AskedAt), Key: st.Key}
	r.asked, r.answers = map[string]bool{}, map[string]jsontree.Value{}
	for _, key := range st.Asked {
		r.asked[key] = true
	}
	for key, raw := range st.Answers {
		if r.answers[key], err = jsontree.Parse(raw); err != nil {
			return badState("is of another version of the server")
		}
	}
	return nil
}

// subject is the digest of what is called, under which contract.
func (q *request) subject(digest string) []byte {
	args := q.params.Field("arguments")
	if args.Kind == jsontree.Null {
		args = jsontree.Obj()
	}
	what := jsontree.Arr(jsontree.Str(q.method), q.params.Field("name"), q.params.Field("uri"), jsontree.Str(digest), args)
	sum := sha256.Sum256(what.Canonical())
	return sum[:]
}

// ask ends a round: the client is told what to answer.
func (q *request) ask(need *engine.Need, digest string) ([]byte, error) {
	r := &q.round
	if q.server.States == nil {
		return nil, faultf(codeInternal, "This server cannot wait for answers")
	}
	if r.subject == nil {
		r.subject = q.subject(digest)
	}
	st := state{
		Principal: q.from.Principal, Subject: r.subject, Expires: r.expires,
		Number: need.Next.Number, Approved: need.Next.Approved, AskedAt: need.Next.Asked.UnixMilli(), Key: need.Next.Key,
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
		delete(st.Answers, question.Key) // given before it was asked, it is no answer
	}
	sealed, err := q.server.States.seal(&st)
	if err != nil {
		return nil, err
	}
	b := appendQuestions(append(q.begin(1024), `"inputRequests":`...), need.Questions)
	b = jsontree.AppendString(append(b, `,"requestState":`...), sealed)
	return q.endAs(b, "input_required"), nil
}

// appendQuestions writes questions by their keys.
func appendQuestions(b []byte, questions []engine.Question) []byte {
	all := jsontree.Obj()
	for _, q := range questions {
		asked := jsontree.Obj(jsontree.M("method", jsontree.Str(questionMethod(q.Needs))), jsontree.M("params", q.Params))
		all.Members = append(all.Members, jsontree.M(q.Key, asked))
	}
	return all.Append(b)
}

// peer is the client of a request as the engine reaches it. In the legacy era it
// can be asked while a call runs; in the modern era it answers in rounds.
func (q *request) peer(ctx context.Context, tool *engine.Tool) (engine.Peer, error) {
	if q.from.era == legacy {
		return live{q}, nil
	}
	digest := ""
	if tool != nil {
		digest = tool.Digest
	}
	if err := q.readRound(ctx, digest); err != nil {
		return nil, err
	}
	rounds := &engine.Rounds{
		Live:    live{q},
		Answers: q.round.answers,
		Detach:  tool != nil && tool.Task != "" && q.from.tasks && q.server.Tasks != nil,
	}
	if q.round.asked != nil {
		rounds.Asked = func(key string) bool { return q.round.asked[key] }
	}
	return rounds, nil
}

// elseAsk ends a round with the question that err holds, or the request with err.
func (q *request) elseAsk(err error) ([]byte, error) {
	wait, ok := errors.AsType[*engine.SuspendedError](err)
	if q.from.era == legacy || !ok {
		return nil, err
	}
	next := engine.Round{Number: q.round.before.Number + 1}
	return q.ask(&engine.Need{Questions: wait.Questions, Next: next}, "")
}

// live is a client that hears of a call while it runs.
type live struct{ q *request }

var _ engine.Peer = live{}

// Progress tells a client that gave a token for it.
func (p live) Progress(done, total float64, message string) {
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
	_ = p.q.out.send(notification("notifications/progress", append(b, '}'))) // who is gone needs no news
}

func appendNumber(b []byte, n float64) []byte { return strconv.AppendFloat(b, n, 'f', -1, 64) }

// Log tells a client that wants to hear of messages of this level.
func (p live) Log(level engine.Level, logger string, data jsontree.Value) {
	if p.q.from.logs == nil || int32(level) < p.q.from.logs.Load() {
		return
	}
	params := jsontree.Obj(jsontree.M("level", jsontree.Str(level.String())))
	if logger != "" {
		params.Members = append(params.Members, jsontree.M("logger", jsontree.Str(logger)))
	}
	params.Members = append(params.Members, jsontree.M("data", data))
	_ = p.q.out.send(notification("notifications/message", params.Append(nil))) // who is gone needs no news
}

// Can tells what the client declared.
func (p live) Can(c engine.Capability) bool { return p.q.from.can(c) }

// Background has no task to offer.
func (live) Background() error { return nil }

// Release lets the connection go.
func (p live) Release() { p.q.out.release() }

// Ask puts the questions to the client, one after the other: a person reads one
// at a time.
func (p live) Ask(ctx context.Context, questions []engine.Question) (map[string]jsontree.Value, error) {
	for _, question := range questions {
		if !p.q.from.can(question.Needs) {
			return nil, &engine.IncapableError{Needs: question.Needs}
		}
	}
	engine.Placed(ctx) // later writes do not wait for a person
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
