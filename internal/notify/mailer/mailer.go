// Package mailer sends plain text mails: one at a time for alerts of teams, or from an outbox for those of the server.
package mailer

import (
	"context"
	"crypto/tls"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

const timeout = 15 * time.Second // of one mail

// Server is a mail server. Every dial goes through its guard.
type Server struct {
	Guard    *netguard.Guard
	Address  string // host:port; port 465 uses TLS from the start
	Username string // empty: no authentication
	Password string
	Insecure bool        // without STARTTLS
	Roots    *tls.Config // nil: the system's
}

// Message is a mail.
type Message struct {
	From    string
	To      []string
	Subject string // its first line is taken, and 120 characters of it
	Text    string
	ID      string // the same for a mail that is sent again; empty: the server makes one
}

// Send sends one mail (RFC 5321), with STARTTLS unless the server is insecure.
func (s Server) Send(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		return err
	}
	conn, err := s.Guard.Dial(ctx, "tcp", s.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	roots := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.Roots != nil {
		roots = s.Roots.Clone()
	}
	roots.ServerName = host
	if port == "465" {
		conn = tls.Client(conn, roots)
	}
	client, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	if port != "465" && !s.Insecure {
		if err := client.StartTLS(roots); err != nil {
			return fmt.Errorf("STARTTLS: %w", err)
		}
	}
	if s.Username != "" {
		if err := client.Auth(smtp.PlainAuth("", s.Username, s.Password, host)); err != nil {
			return err
		}
	}
	return hand(client, m)
}

// hand hands a mail over.
func hand(client *smtp.Client, m Message) error {
	if err := client.Mail(Bare(m.From)); err != nil {
		return err
	}
	for _, to := range m.To {
		if err := client.Rcpt(Bare(to)); err != nil {
			return err
		}
	}
	body, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := body.Write([]byte(m.String())); err != nil {
		return err
	}
	if err := body.Close(); err != nil {
		return err
	}
	return client.Quit()
}

// Bare is an address without a name, or what was given when it is none.
func Bare(address string) string {
	if parsed, err := mail.ParseAddress(address); err == nil {
		return parsed.Address
	}
	return address
}

// String is the mail as it is sent (RFC 5322). Nothing in its subject or text can start a header or a part of its own.
func (m Message) String() string {
	var b strings.Builder
	subject, _, _ := strings.Cut(errs.ClipChars(m.Subject, 120), "\n")
	subject = strings.TrimSpace(strings.ReplaceAll(subject, "\r", " "))
	for _, line := range [][2]string{
		{"From", m.From}, {"To", strings.Join(m.To, ", ")}, {"Subject", mime.QEncoding.Encode("utf-8", subject)},
		{"Message-ID", m.messageID()}, {"MIME-Version", "1.0"}, {"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", line[0], line[1])
		}
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(m.Text)) // into a strings.Builder, which does not fail
	_ = w.Close()
	return b.String()
}

func (m Message) messageID() string {
	_, domain, _ := strings.Cut(Bare(m.From), "@")
	if m.ID == "" || domain == "" {
		return ""
	}
	return "<" + m.ID + "@" + domain + ">"
}
