// Package audit writes one hash-chained record of every call, and verifies the chain. Where the
// records are stored is up to a Storage.
package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract/jsontree"
)

// Record says who called what, when, and with which outcome. Arguments that a contract marks are
// redacted before; credentials are redacted when the record is written, wherever they occur.
type Record struct {
	Time      time.Time
	Principal string
	Frontend  string // stdio, cli, http, console, page
	Client    string // the client's own name
	Session   string // identifies the connection of the call; "" if there is none
	Tool      string // set/name
	Version   string // of the contract
	Arguments jsontree.Value
	Outcome   string // ok, replayed, asked, the kind of failure, Begun, or that of recovery
	// Code and Message are those of the failure, as the caller got them. They are "" for a call
	// that did not fail. Message is shortened, and credentials in it are replaced, when the record
	// is written; what the arguments hide must not be in it. Older records lack both.
	Code, Message string
	// Approved says what let a call pass that needs approval: the id of the request that a person
	// approved, ByRule, ByTerminal, or ByMode. It is "" for all other calls.
	Approved string
	// Rule is the id of the standing rule that let the call pass, or that denied it.
	Rule string
	// Request is the id of the approval request that the call waits for, or that a person denied.
	Request string
	// Key is a digest of the idempotency key and the arguments of the call. A call and its repeats
	// have the same. It is "" for a call without a key.
	Key string
	// Call identifies the call, if it may have changed something: records, histories and the outbox
	// of the database name it.
	Call string
	// Effect says what is about to be changed, with the outcome Begun, or what was changed in the
	// database.
	Effect jsontree.Value
	Owner  string // the process that makes the change; only with the outcome Begun
	// Undone and Unknown are the numbers of the announced changes that were not made, and of those
	// of which it is not known. All other announced changes of the call were made.
	Undone, Unknown []int
	// Made are the numbers of the announced changes that a call made although it failed.
	Made      []int
	Recovered bool // the process ended before; another one found out what it had changed
	Duration  time.Duration
	Bytes     int // size of the answer
	// Since is where the records ended that Recovery has read. It is not encoded. If a record was
	// added after that which says what became of the call, this one is not stored; see
	// RecoveryStorage.
	Since []Place
	// InOutbox means that the outbox of the database holds a record of the call, as if it
	// succeeded. This one takes its place in the chain. It is not encoded.
	InOutbox bool

	encoded []byte // the arguments, if they were encoded before
}

// The values of Record.Approved that are no id of a request.
const (
	ByMode     = "auto"     // nobody was asked, because the operator has set --approve auto
	ByRule     = "rule"     // a standing permission of a person; Record.Rule names it
	ByTerminal = "terminal" // a person said yes at the terminal, about an action that is no call
)

// Storage appends records to the file of a day, and seals each with Seal.
type Storage interface {
	// Ready returns an error if a record of this day could not be stored. It is cheap once it has
	// succeeded.
	Ready(day string) error
	// Append queues a record and returns at once, with an error if it cannot be stored. wait
	// returns when a durable record is on disk; for others it need not be called. Safe for
	// concurrent use.
	Append(day string, record []byte, durable bool) (wait func(context.Context) error, err error)
	// Replace queues the record of a call in place of the one that the outbox of the database
	// holds, and returns at once. If it cannot be stored, the one in the outbox is.
	Replace(day string, record []byte, call string) error
}

// RecoveryStorage is a Storage for processes that may take each other for dead: a process may
// settle a call while another one does so, or ends it.
type RecoveryStorage interface {
	// AppendSince appends a durable record, unless one was added since some places that says what
	// became of the same call. It returns when that is on disk.
	AppendSince(ctx context.Context, day string, record []byte, since []Place) error
}

// Log encodes records and passes them to a Storage.
type Log struct{ Storage Storage }

// Ready returns an error if a record could not be stored now. Callers check it before a write.
func (l *Log) Ready(now time.Time) error { return l.Storage.Ready(now.UTC().Format(time.DateOnly)) }

// Write stores one record. A durable one is on disk when Write returns.
func (l *Log) Write(ctx context.Context, r *Record, durable bool) error {
	record := r.encode()
	day := DayOf(record)
	if r.InOutbox {
		return l.Storage.Replace(day, record, r.Call)
	}
	if s, ok := l.Storage.(RecoveryStorage); ok && len(r.Since) > 0 {
		return s.AppendSince(ctx, day, record, r.Since)
	}
	wait, err := l.Storage.Append(day, record, durable)
	if err != nil || !durable {
		return err
	}
	return wait(ctx)
}

// DayOf returns the day of an encoded record.
func DayOf(record []byte) string { return string(record[len(timeMark):][:len(time.DateOnly)]) }

// CallOf returns the id of the call that a record or line is about, or "" if it has none.
func CallOf(line []byte) string {
	const mark = `,"call":"` // nobody can guess an id to forge it in arguments
	at := bytes.LastIndex(line, []byte(mark))
	if at < 0 {
		return ""
	}
	id, _, _ := bytes.Cut(line[at+len(mark):], []byte{'"'})
	return string(id)
}

// Settles reports whether a record or line says what became of a call that has begun.
func Settles(line []byte) bool {
	at := bytes.LastIndex(line, []byte(`,"outcome":"`)) // arguments come before it
	return at >= 0 && !bytes.Contains(line[at:], []byte(begunMark)) && !bytes.Contains(line[at:], []byte(`,"unknown":[`))
}

// timeMark is the beginning of every record, before its time.
const timeMark = `{"time":"`

// encode encodes the record without encoding/json, because it runs on every call.
func (r *Record) encode() []byte {
	size := 384
	if r.Effect.Kind != jsontree.Null {
		size = 576
	}
	b := make([]byte, 0, size)
	b = append(b, timeMark...)
	b = appendTime(b, r.Time.UTC())
	b = append(b, '"')
	b = appendText(b, "principal", r.Principal)
	b = appendText(b, "frontend", r.Frontend)
	b = appendText(b, "client", withoutSecret(r.Client))
	if r.Session != "" {
		b = appendText(b, "session", r.Session)
	}
	b = appendText(b, "tool", r.Tool)
	b = appendText(b, "version", r.Version)
	b = append(b, `,"arguments":`...)
	b = r.appendArguments(b)
	b = appendText(b, "outcome", r.Outcome)
	if r.Code != "" {
		b = appendText(b, "code", withoutSecret(r.Code))
	}
	if r.Message != "" {
		b = appendText(b, "message", shortened(Mask(r.Message, "(redacted)")))
	}
	if r.Approved != "" {
		b = appendText(b, "approved", r.Approved)
	}
	if r.Rule != "" {
		b = appendText(b, "rule", r.Rule)
	}
	if r.Request != "" {
		b = appendText(b, "request", r.Request)
	}
	if r.Key != "" {
		b = appendText(b, "key", r.Key)
	}
	if r.Call != "" {
		b = appendText(b, "call", r.Call)
	}
	if r.Effect.Kind != jsontree.Null {
		b = append(b, `,"effect":`...)
		b = r.Effect.Append(b)
	}
	if r.Owner != "" {
		b = appendText(b, "owner", r.Owner)
	}
	b = appendNumbers(b, "undone", r.Undone)
	b = appendNumbers(b, "unknown", r.Unknown)
	b = appendNumbers(b, "made", r.Made)
	if r.Recovered {
		b = append(b, `,"recovered":true`...)
	}
	b = append(b, `,"micros":`...)
	b = strconv.AppendInt(b, r.Duration.Microseconds(), 10)
	b = append(b, `,"bytes":`...)
	b = strconv.AppendInt(b, int64(r.Bytes), 10)
	return append(b, '}')
}

func (r *Record) appendArguments(b []byte) []byte {
	if r.encoded != nil {
		return append(b, r.encoded...)
	}
	start := len(b)
	if holds(&r.Arguments) {
		safe := redacted(&r.Arguments)
		b = safe.Append(b)
	} else {
		b = r.Arguments.Append(b)
	}
	r.encoded = b[start:len(b):len(b)]
	return b
}

// appendTime appends a time as 2006-01-02T15:04:05.000000Z. Every call is recorded, and package
// time formats RFC3339 in a third of the time of other layouts.
func appendTime(b []byte, t time.Time) []byte {
	b = t.AppendFormat(b, time.RFC3339)
	point := len(b) - 1
	b = strconv.AppendInt(b[:point], 1_000_000+int64(t.Nanosecond()/1000), 10)
	b[point] = '.' // replaces the 1, which keeps the zeros after it
	return append(b, 'Z')
}

// maxMessage is how many bytes of an error message are recorded.
const maxMessage = 512

// shortened cuts a text to maxMessage.
func shortened(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "..."
}

func appendText(b []byte, key, value string) []byte {
	b = append(b, ',', '"')
	b = append(b, key...)
	b = append(b, '"', ':')
	return jsontree.AppendString(b, value)
}

// The end of every line is ,"prev":"HASH","hash":"HASH"} and has a fixed length.
const (
	prevMark = `,"prev":"`
	hashMark = `","hash":"`
	ending   = `"}`
	hexSize  = 2 * sha256.Size
	tailSize = len(prevMark) + hexSize + len(hashMark) + hexSize + len(ending)
)

// InitialHash is the hash that the very first record refers to.
var InitialHash = hex.EncodeToString(make([]byte, sha256.Size))

// Seal returns the line of a record: the record, the hash of the line before it, and the hash of
// all that precedes it on its own line.
func Seal(prevHash string, record []byte) []byte {
	return AppendSealed(make([]byte, 0, len(record)+tailSize), prevHash, record)
}

// AppendSealed appends the line of a record to b.
func AppendSealed(b []byte, prevHash string, record []byte) []byte {
	start := len(b)
	b = append(b, record[:len(record)-1]...)
	b = append(b, prevMark...)
	b = append(b, prevHash...)
	sum := sha256.Sum256(b[start:])
	b = append(b, hashMark...)
	b = hex.AppendEncode(b, sum[:])
	return append(b, ending...)
}

// HashOf returns the hash that the next line refers to. For a line that lost its hash it computes
// one, so that the chain continues after damage.
func HashOf(line []byte) string {
	if _, _, hash, ok := split(line); ok {
		return string(hash)
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// split returns the hashed part of a line and its two hashes.
func split(line []byte) (hashed, prev, hash []byte, ok bool) {
	if len(line) < tailSize {
		return nil, nil, nil, false
	}
	tail := line[len(line)-tailSize:]
	hashAt := len(prevMark) + hexSize
	if !bytes.HasPrefix(tail, []byte(prevMark)) || !bytes.HasPrefix(tail[hashAt:], []byte(hashMark)) ||
		!bytes.HasSuffix(tail, []byte(ending)) {
		return nil, nil, nil, false
	}
	hashed = line[:len(line)-tailSize+hashAt]
	prev = tail[len(prevMark):hashAt]
	hash = tail[hashAt+len(hashMark) : len(tail)-len(ending)]
	return hashed, prev, hash, true
}
