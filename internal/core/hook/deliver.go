package hook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

const maxAnswer = 64 << 10 // bytes that are read of the response's body

const interrupted = "the delivery was interrupted"

type stored struct {
	Delivery
	state   State
	started time.Time
}

// outcome is the result of a delivery.
type outcome struct {
	state  State
	status int
	words  string
	took   time.Duration
}

// Deliver sends a delivery: at most one POST, even if it is called often and by several workers. It waits at
// most 15 seconds for the receiver, and stores the result; an error is only about the database, or that there
// is no such delivery.
//
// A delivery whose worker died is stored as failed, 20 seconds after its start, when a live worker would have
// stored the result.
func (h *Hooks) Deliver(ctx context.Context, id string) error {
	d, err := h.load(ctx, id)
	if err != nil {
		return err
	}
	if d.state == Pending {
		mine, err := h.move(ctx, id, Pending, Sending, `started_at = ?, attempts = attempts + 1`, db.At(h.now()))
		if err != nil {
			return err
		}
		if mine {
			return h.record(ctx, id, d.Delivery, h.post(ctx, d.Delivery))
		}
		if d, err = h.load(ctx, id); err != nil { // another worker was faster
			return err
		}
	}
	if d.state != Sending {
		return nil
	}
	select {
	case <-time.After(d.started.Add(h.lease).Sub(h.now())):
		return h.record(ctx, id, d.Delivery, outcome{state: Failed, words: interrupted})
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *Hooks) load(ctx context.Context, id string) (stored, error) {
	var d stored
	err := h.db.QueryRow(ctx, `SELECT team_id, subject, event, url, body, state, started_at FROM hook_delivery WHERE id = ?`,
		id).Scan(&d.TeamID, &d.Subject, &d.Event, &d.URL, &d.Body, &d.state, db.Into(&d.started))
	return d, db.OrMissing(err, "delivery")
}

// move changes a delivery's state and sets further columns. It returns false when the state was no longer
// from.
func (h *Hooks) move(ctx context.Context, id string, from, to State, set string, args ...any) (bool, error) {
	if !from.To(to) {
		return false, fmt.Errorf("hook: a delivery does not go from %s to %s", from, to)
	}
	n, err := h.db.Exec(ctx, `UPDATE hook_delivery SET state = ?, `+set+` WHERE id = ? AND state = ?`,
		append(append([]any{to}, args...), id, from)...)
	return n == 1, err
}

// record stores the result of a delivery, also while the process is shutting down.
func (h *Hooks) record(ctx context.Context, id string, d Delivery, o outcome) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	done, err := h.move(ctx, id, Sending, o.state, `status_code = ?, error = ?, finished_at = ?, duration_ms = ?`,
		o.status, db.Clean(o.words), db.At(h.now()), o.took.Milliseconds())
	if done {
		h.logger.InfoContext(ctx, "webhook", "delivery", id, "team", d.TeamID, "event", d.Event, "receiver", receiver(d.URL),
			"state", o.state, "status", o.status, "error", o.words, "took", o.took.Round(time.Millisecond))
	}
	return err
}

// post makes the one request.
func (h *Hooks) post(ctx context.Context, d Delivery) outcome {
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	o := h.exchange(limited, d)
	o.took = time.Since(start)
	if ctx.Err() != nil && o.state == Failed && o.status == 0 {
		o.words = interrupted
	}
	return o
}

// exchange sends the request and reads the answer.
func (h *Hooks) exchange(ctx context.Context, d Delivery) outcome {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(d.Body))
	if err != nil {
		return outcome{state: Blocked, words: "the URL is malformed"}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "vedette-webhook")
	req.Header.Set("X-Service-Event", d.Event)
	req.Header.Set("X-Service-Completion-Delivery", "webhook")
	req.Close = true // on a connection of its own nothing is sent twice
	res, err := h.client.Do(req)
	if err != nil {
		return failure(err)
	}
	defer res.Body.Close()
	// Some receivers fail when their response is not read.
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	o := outcome{state: Failed, status: res.StatusCode}
	switch res.StatusCode / 100 {
	case 2:
		o.state = Delivered
	case 3:
		o.words = fmt.Sprintf("the receiver answered %d; redirects are not followed", res.StatusCode)
	default:
		o.words = fmt.Sprintf("the receiver answered %d", res.StatusCode)
	}
	return o
}

// failure describes an error of the exchange, without the URL and the addresses of a name.
func failure(err error) outcome {
	var denied *netguard.Denied
	var refused *errs.Error
	var lookup *net.DNSError
	var untrusted *tls.CertificateVerificationError
	var timeout net.Error
	o := outcome{state: Failed, words: "the exchange with the receiver failed"}
	switch {
	case errors.As(err, &denied):
		o = outcome{state: Blocked, words: "the address is not allowed: " + denied.Why}
	case errors.As(err, &refused):
		o = outcome{state: Blocked, words: refused.Message}
	case errors.As(err, &timeout) && timeout.Timeout():
		o.words = "the receiver did not answer in time"
	case errors.As(err, &lookup):
		o.words = "the host name could not be looked up"
	case errors.Is(err, syscall.ECONNREFUSED):
		o.words = "the connection was refused"
	case errors.As(err, &untrusted):
		o.words = "the certificate is not trusted"
	}
	return o
}
