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

// maxAnswer is how many bytes of an answer's body are read, and thrown away.
const maxAnswer = 64 << 10

const interrupted = "the delivery was interrupted"

// stored is a delivery as Deliver needs it.
type stored struct {
	Delivery
	state   State
	started time.Time
}

// outcome is how a delivery ended.
type outcome struct {
	state  State
	status int
	words  string
	took   time.Duration
}

// Deliver sends a delivery: at most one POST, however often and by however many workers
// it is called. It waits at most 15 seconds for the receiver, and records what came of
// it; an error means only that the database did not do its part, or that there is no
// such delivery.
//
// A delivery that was started by a worker which did not live to record the outcome is
// recorded as failed. So that a worker which does live is not taken for dead, Deliver
// waits until its time is up (20 seconds after its start).
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

// load reads a delivery.
func (h *Hooks) load(ctx context.Context, id string) (stored, error) {
	var d stored
	var started db.Time
	err := h.db.QueryRow(ctx, `SELECT team_id, subject, event, url, body, state, started_at FROM hook_delivery WHERE id = ?`, id).
		Scan(&d.TeamID, &d.Subject, &d.Event, &d.URL, &d.Body, &d.state, &started)
	if db.IsNoRows(err) {
		return d, errs.Missing("delivery")
	}
	d.started = started.Time
	return d, err
}

// move changes a delivery's state and sets further columns, on disk when it returns. It
// reports whether this call did it: false means that the state was no longer from.
func (h *Hooks) move(ctx context.Context, id string, from, to State, set string, args ...any) (bool, error) {
	if !from.To(to) {
		return false, fmt.Errorf("hook: a delivery does not go from %s to %s", from, to)
	}
	n, err := h.db.Exec(ctx, `UPDATE hook_delivery SET state = ?, `+set+` WHERE id = ? AND state = ?`,
		append(append([]any{to}, args...), id, from)...)
	return n == 1, err
}

// record writes down how a delivery ended, also while the process is shutting down.
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
	req.Close = true // a connection of its own: nothing of it is ever sent again
	res, err := h.client.Do(req)
	if err != nil {
		return failure(err)
	}
	defer res.Body.Close()
	// Reading a little lets the receiver end in peace. Its answer is the status alone.
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

// failure puts an error of the exchange into words that hold neither the URL nor an
// address that a name resolved to.
func failure(err error) outcome {
	var denied *netguard.Denied
	var refused *errs.Error
	var lookup *net.DNSError
	var untrusted *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.As(err, &denied):
		return outcome{state: Blocked, words: "the address is not allowed: " + denied.Why}
	case errors.As(err, &refused):
		return outcome{state: Blocked, words: refused.Message}
	case errors.As(err, &timeout) && timeout.Timeout():
		return outcome{state: Failed, words: "the receiver did not answer in time"}
	case errors.As(err, &lookup):
		return outcome{state: Failed, words: "the host name could not be looked up"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return outcome{state: Failed, words: "the connection was refused"}
	case errors.As(err, &untrusted):
		return outcome{state: Failed, words: "the certificate is not trusted"}
	}
	return outcome{state: Failed, words: "the exchange with the receiver failed"}
}
