package mailer_test

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/notify/mailer"
	"github.com/vedette-sec/vedette/internal/notify/mailer/mailtest"
)

var loopback = &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

func TestOutboxSendsWhatIsPutIntoIt(t *testing.T) {
	address, mails := mailtest.Start(t)
	out := mailer.NewOutbox(mailer.Server{Guard: loopback, Address: address, Insecure: true}, "vedette@example.com",
		slog.New(slog.DiscardHandler))
	out.Put("ada@example.com", "Hi\r\nBcc: eve@example.com", "Line\r\n.\r\nMAIL FROM:<eve@example.com>\r\nüber")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go out.Run(ctx)
	m := <-mails
	if m.From != "vedette@example.com" || strings.Join(m.To, " ") != "ada@example.com" || strings.Contains(m.Head, "Bcc") ||
		!strings.Contains(m.Head, "Subject: Hi\r\n") || !strings.Contains(m.Text, "über") || !strings.Contains(m.Text, "eve@") {
		t.Errorf("%+v", m)
	}
}

// TestAFullOutboxDropsMails: nobody waits for a mail server that takes nothing.
func TestAFullOutboxDropsMails(t *testing.T) {
	var log strings.Builder
	out := mailer.NewOutbox(mailer.Server{Guard: loopback}, "vedette@example.com", slog.New(slog.NewTextHandler(&log, nil)))
	for range 300 {
		out.Put("ada@example.com", "Subject", "the link is s3cret")
	}
	if !strings.Contains(log.String(), "outbox is full") || strings.Contains(log.String(), "s3cret") {
		t.Errorf("%.300s", log.String())
	}
}

func TestSendRefusesPlainTextAndPrivateAddresses(t *testing.T) {
	address, _ := mailtest.Start(t)
	m := mailer.Message{From: "a@example.com", To: []string{"b@example.com"}, Text: "x"}
	err := mailer.Server{Guard: loopback, Address: address, Username: "u", Password: "p4ssword"}.Send(t.Context(), m)
	if err == nil || !strings.Contains(err.Error(), "STARTTLS") || strings.Contains(err.Error(), "p4ssword") {
		t.Errorf("a server without STARTTLS: %v", err)
	}
	err = mailer.Server{Guard: &netguard.Guard{}, Address: address, Insecure: true}.Send(t.Context(), m)
	if err == nil {
		t.Error("a private address is dialled")
	}
}
