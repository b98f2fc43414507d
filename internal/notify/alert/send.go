package alert

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"net/smtp"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
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
			Service: service, URL: url, Body: body, Header: c.header(a.ID), Secrets: append(secrets, url),
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

// mail sends the alert as a plain text message (RFC 5322), with STARTTLS unless the channel disables it; port 465 uses
// TLS from the start.
func (s *Sender) mail(ctx context.Context, c Channel, a Alert, text string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := s.deliver(ctx, c, message(c, a, text)); err != nil {
		return &apiclient.Error{Service: "The mail server", Message: err.Error()}
	}
	return nil
}

func (s *Sender) deliver(ctx context.Context, c Channel, message string) error {
	host, port, err := net.SplitHostPort(c.Server)
	if err != nil {
		return err
	}
	conn, err := s.guard.Dial(ctx, "tcp", c.Server)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	roots := s.roots.Clone()
	roots.ServerName = host
	if port == "465" {
		conn = tls.Client(conn, roots)
	}
	client, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	if port != "465" && !c.Insecure {
		if err := client.StartTLS(roots); err != nil {
			return fmt.Errorf("STARTTLS: %w", err)
		}
	}
	if c.Username != "" {
		if err := client.Auth(smtp.PlainAuth("", c.Username, c.Password, host)); err != nil {
			return err
		}
	}
	if err := client.Mail(bare(c.From)); err != nil {
		return err
	}
	for _, to := range c.To {
		if err := client.Rcpt(bare(to)); err != nil {
			return err
		}
	}
	body, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := body.Write([]byte(message)); err != nil {
		return err
	}
	if err := body.Close(); err != nil {
		return err
	}
	return client.Quit()
}

func bare(address string) string {
	if parsed, err := mail.ParseAddress(address); err == nil {
		return parsed.Address
	}
	return address
}

// message is the mail. Nothing in it can start a header or a part of its own.
func message(c Channel, a Alert, text string) string {
	var b strings.Builder
	subject, _, _ := strings.Cut(errs.ClipChars(a.Message, 120), "\n")
	subject = strings.TrimSpace(strings.ReplaceAll(subject, "\r", " "))
	for _, line := range [][2]string{
		{"From", c.From}, {"To", strings.Join(c.To, ", ")}, {"Subject", mime.QEncoding.Encode("utf-8", subject)},
		{"Message-ID", messageID(c, a)}, {"MIME-Version", "1.0"}, {"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", line[0], line[1])
		}
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // into a strings.Builder, which does not fail
	_ = w.Close()
	return b.String()
}

// messageID identifies an alert that is sent again; "" lets the server make one, for a test.
func messageID(c Channel, a Alert) string {
	_, domain, _ := strings.Cut(bare(c.From), "@")
	if a.ID == "" || domain == "" {
		return ""
	}
	return "<" + a.ID + "@" + domain + ">"
}

// Verify sends a test message to every channel: there is no other way to know that a webhook works.
func (s *Sender) Verify(ctx context.Context, text []byte) (ok bool, message string) {
	config, err := Parse(text)
	if err != nil {
		return false, err.Error()
	}
	for _, c := range config.Channels {
		test := Alert{Kind: Finished, Message: "Vedette can reach this channel. This is a test."}
		if err := s.Send(ctx, c, test); err != nil {
			return false, err.Error()
		}
	}
	return true, "A test message was sent to " + config.Provider() + "."
}
