package alert

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/notify/mailer"
)

const (
	timeout        = 15 * time.Second // of one message
	telegramAPI    = "https://api.telegram.org"
	maxText        = 3500 // characters; Discord takes 2000, Telegram 4096, the others more
	maxDiscordText = 1900
)

// Sender sends alerts. Every dial goes through its guard.
type Sender struct {
	guard  *netguard.Guard
	client *http.Client
	roots  *tls.Config // for mail servers
}

// NewSender makes a sender.
func NewSender(guard *netguard.Guard) *Sender {
	return &Sender{guard: guard, client: guard.Client(timeout), roots: &tls.Config{MinVersion: tls.VersionTLS12}}
}

// Send sends to one channel. The error is an *apiclient.Error, which says whether to try again.
func (s *Sender) Send(ctx context.Context, c Channel, a Alert) error {
	a = a.only(c.Severities)
	text := errs.ClipChars(a.text(), maxText)
	post := func(service, url string, body any, secrets ...string) error {
		return apiclient.Do(ctx, s.client, apiclient.Request{
			Service: service, URL: url, Body: body, Header: c.header(a.ID), Sign: c.signer(a.ID, time.Now()),
			Secrets: append(secrets, url),
		}, nil)
	}
	switch c.Provider {
	case "slack":
		return post("Slack", c.WebhookURL, map[string]any{"text": escapeSlack(text)})
	case "discord":
		// Text from targets mentions no person.
		mentions := map[string]any{"parse": []string{}}
		content := errs.ClipChars(text, maxDiscordText)
		return post("Discord", c.WebhookURL, map[string]any{"content": content, "allowed_mentions": mentions})
	case "teams":
		return post("Teams", c.WebhookURL, teamsCard(text))
	case "telegram":
		url := strings.TrimRight(cmp.Or(c.APIURL, telegramAPI), "/") + "/bot" + c.APIKey + "/sendMessage"
		body := map[string]any{"chat_id": c.ChatID, "text": text, "disable_web_page_preview": true}
		return post("Telegram", url, body, c.APIKey)
	case "smtp":
		return s.mail(ctx, c, a, text)
	}
	return post("The webhook", c.WebhookURL, a, c.Token, c.Password)
}

// header is the header of a user's webhook. An alert that is sent again has the same Idempotency-Key.
func (c Channel) header(id string) http.Header {
	h := http.Header{}
	if c.Provider != "webhook" {
		return h
	}
	if id != "" {
		h.Set("Idempotency-Key", id)
	}
	for name, value := range c.Headers {
		h.Set(name, value)
	}
	switch {
	case c.Token != "":
		h.Set("Authorization", "Bearer "+c.Token)
	case c.Username != "":
		r := http.Request{Header: h}
		r.SetBasicAuth(c.Username, c.Password)
	}
	return h
}

// escapeSlack encodes what Slack would take for markup or mentions.
func escapeSlack(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// teamsCard is an adaptive card with plain text, for Teams workflows.
func teamsCard(text string) any {
	var blocks []any
	for line := range strings.Lines(text) {
		plain := noMarkdown.Replace(strings.TrimSpace(line))
		blocks = append(blocks, map[string]any{"type": "TextBlock", "text": plain, "wrap": true})
	}
	return map[string]any{"type": "message", "attachments": []any{map[string]any{
		"contentType": "application/vnd.microsoft.card.adaptive",
		"content": map[string]any{
			"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
			"body": blocks,
		},
	}}}
}

// noMarkdown escapes Markdown, which a TextBlock renders.
var noMarkdown = strings.NewReplacer(
	`\`, `\\`, "[", `\[`, "]", `\]`, "*", `\*`, "_", `\_`, "`", "\\`", "#", `\#`, "<", "&lt;",
)

// mail sends the alert as a plain text mail.
func (s *Sender) mail(ctx context.Context, c Channel, a Alert, text string) error {
	server := mailer.Server{Guard: s.guard, Address: c.Server, Username: c.Username, Password: c.Password,
		Insecure: c.Insecure, Roots: s.roots}
	if err := server.Send(ctx, mailOf(c, a, text)); err != nil {
		return &apiclient.Error{Service: "The mail server", Message: err.Error()}
	}
	return nil
}

func mailOf(c Channel, a Alert, text string) mailer.Message {
	return mailer.Message{From: c.From, To: c.To, Subject: a.Message, Text: text, ID: a.ID}
}

// Verify sends a test message to every channel: there is no other way to know that a webhook works.
func (s *Sender) Verify(ctx context.Context, text []byte) (ok bool, message string) {
	config, err := Parse(text)
	if err != nil {
		return false, err.Error()
	}
	for _, c := range config.Channels {
		test := Alert{ID: "test-" + ids.New(), Kind: Finished, Message: "Vedette can reach this channel. This is a test."}
		if err := s.Send(ctx, c, test); err != nil {
			return false, err.Error()
		}
	}
	return true, "A test message was sent to " + config.Provider() + "."
}
