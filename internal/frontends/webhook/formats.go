package webhook

import (
	"cmp"
	"fmt"
	"mime"
	"strings"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/visible"
)

// Format is the form of the messages.
type Format string

// The formats.
const (
	JSON  Format = "json"  // signed, for a program; with previews of the arguments and the effect
	Slack Format = "slack" // for an incoming webhook of Slack
	Ntfy  Format = "ntfy"  // for a topic of ntfy
)

// Signed reports whether messages of the format are signed.
func (f Format) Signed() bool { return cmp.Or(f, JSON) == JSON }

// notice is the text of a message that people read in another service. It contains nothing that the
// caller sent with the call, because whoever runs the service can read and keep it.
type notice struct {
	title, tool, agent string
	destructive        bool
	asked, expires     time.Time
	link               string // "" if there is no page
}

// maxNameBytes limits the names in a notice.
const maxNameBytes = 200

func (s *Sender) notice(r approval.Request) notice {
	title, destructive := s.About(r.Tool)
	name := func(text string) string { return cut(masked(visible.Line(text)), maxNameBytes) }
	n := notice{
		title: name(cmp.Or(title, r.Tool)), tool: name(r.Tool), agent: name(r.Principal),
		destructive: destructive, asked: r.CreatedAt, expires: r.ExpiresAt,
	}
	if s.Link != nil {
		n.link = s.Link(r.ID)
	}
	return n
}

// The parts of a message for Slack.
type (
	slackMessage struct {
		Text        string       `json:"text"` // what notifications show
		Markdown    bool         `json:"mrkdwn"`
		UnfurlLinks bool         `json:"unfurl_links"`
		UnfurlMedia bool         `json:"unfurl_media"`
		Blocks      []slackBlock `json:"blocks"`
	}
	slackBlock struct {
		Type     string      `json:"type"`
		Text     *slackText  `json:"text,omitempty"`
		Elements []slackText `json:"elements,omitempty"`
	}
	slackText struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Verbatim bool   `json:"verbatim,omitempty"`
	}
)

// forSlack sets the message for an incoming webhook of Slack. Names are in plain text, where Slack
// interprets no formatting; only our link and time are in its markup.
func (n notice) forSlack(m *message) {
	const plain, markup = "plain_text", "mrkdwn"
	about := []string{fmt.Sprintf("expires <!date^%d^{date_short_pretty} at {time}|%s>", n.expires.Unix(), stampOf(n.expires))}
	if n.destructive {
		about = append([]string{"destructive"}, about...)
	}
	if n.link != "" {
		about = append([]string{"<" + escapeSlack(n.link) + "|Review the request>"}, about...)
	}
	m.setJSON(slackMessage{
		Text: escapeSlack("Waiting for approval: " + n.title + ", asked by " + n.agent),
		Blocks: []slackBlock{
			{Type: "section", Text: &slackText{Type: plain, Text: escapeSlack("Waiting for approval: " + n.title)}},
			{Type: "context", Elements: []slackText{
				{Type: plain, Text: escapeSlack(n.agent)},
				{Type: plain, Text: escapeSlack(n.tool)},
				{Type: markup, Text: strings.Join(about, ", "), Verbatim: true},
			}},
		},
	})
}

// escapeSlack escapes the characters with which Slack's control sequences begin: links, and
// mentions that notify a whole channel.
func escapeSlack(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// shortWindow is how long a request may wait at most to count as urgent.
const shortWindow = 10 * time.Minute

// forNtfy sets the message for a topic of ntfy.
func (n notice) forNtfy(m *message) {
	priority := "default"
	if n.destructive || n.expires.Sub(n.asked) <= shortWindow {
		priority = "high"
	}
	for name, value := range map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "Priority": priority, "Click": n.link,
		"Title": mime.BEncoding.Encode("utf-8", "Waiting for approval: "+n.title),
	} {
		if value != "" {
			m.header.Set(name, value)
		}
	}
	text := n.agent + " asks for " + n.tool
	if n.destructive {
		m.header.Set("Tags", "warning")
		text += ", which is destructive"
	}
	m.body = []byte(text + ". It expires at " + stampOf(n.expires) + ".")
}

func stampOf(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
