package mailer

import (
	"context"
	"log/slog"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/pause"
)

const (
	maxOutbox = 256 // mails that wait; more are dropped, and logged
	tries     = 3
	tryAgain  = 5 * time.Second // before the second try, and twice as long before the third
)

// Outbox has the mails of the server itself that wait to be sent. They are kept in memory only: some hold links that
// open an account, which must not be stored.
type Outbox struct {
	server  Server
	from    string
	logger  *slog.Logger
	waiting chan Message
}

// NewOutbox makes an outbox whose mails are from this address.
func NewOutbox(s Server, from string, logger *slog.Logger) *Outbox {
	return &Outbox{server: s, from: from, logger: logger, waiting: make(chan Message, maxOutbox)}
}

// Put adds a mail without waiting. A full outbox drops it: the mail server has not taken any for long.
func (o *Outbox) Put(to, subject, text string) {
	select {
	case o.waiting <- Message{From: o.from, To: []string{to}, Subject: subject, Text: text}:
	default:
		o.logger.Warn("the outbox is full: a mail is dropped", "subject", subject)
	}
}

// Run sends mails until ctx ends. One that fails three times is dropped, and logged without its text.
func (o *Outbox) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-o.waiting:
			if err := o.send(ctx, m); err != nil {
				o.logger.ErrorContext(ctx, "a mail could not be sent", "subject", m.Subject, "error", err)
			}
		}
	}
}

func (o *Outbox) send(ctx context.Context, m Message) error {
	wait := tryAgain
	for try := 1; ; try++ {
		err := o.server.Send(ctx, m)
		if err == nil || try == tries {
			return err
		}
		if pause.For(ctx, wait) != nil {
			return err
		}
		wait *= 2
	}
}
