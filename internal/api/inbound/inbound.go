// Package inbound takes webhooks of issue trackers: POST /hooks/trackers/{config_id}/{provider}. It is no part of the
// documented APIs, as its callers are trackers, each with its own way to prove who it is (core/ticket).
//
// An address that does not exist, a configuration that takes no webhooks and a wrong signature have the same answer,
// byte for byte.
package inbound

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
	"github.com/vedette-sec/vedette/internal/infra/outage"
)

// Path is where webhooks are taken.
const Path = "/hooks/"

const route = "POST " + Path + "trackers/{config_id}/{provider}"

// New makes the handler of all paths below Path.
func New(tickets *ticket.Tickets, logger *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
		status := take(r.Context(), tickets, logger, r)
		answer(w, status)
	})
	mux.HandleFunc(Path, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusNotFound) })
	return mux
}

// answers are the bodies of all answers.
var answers = map[int]string{
	http.StatusOK:                    `{"ok":true}`,
	http.StatusNotFound:              `{"message":"There is no such webhook."}`,
	http.StatusRequestEntityTooLarge: `{"message":"The body is larger than 1 MiB."}`,
	http.StatusBadRequest:            `{"message":"The body could not be read."}`,
	http.StatusServiceUnavailable:    `{"message":"Try again later."}`,
	http.StatusInternalServerError:   `{"message":"Internal error."}`,
}

func answer(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "30")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answers[status]+"\n") // the tracker may have disconnected
}

func take(ctx context.Context, tickets *ticket.Tickets, logger *slog.Logger, r *http.Request) (status int) {
	if r.ContentLength > ticket.MaxHook {
		return http.StatusRequestEntityTooLarge
	}
	share := membudget.Process().Share()
	defer share.Release()
	body, err := share.ReadAll(ctx, r.Body, ticket.MaxHook+1)
	switch {
	case len(body) > ticket.MaxHook:
		return http.StatusRequestEntityTooLarge
	case err != nil:
		return http.StatusBadRequest
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		query = url.Values{}
	}
	ok, err := tickets.Receive(ctx, r.PathValue("config_id"), r.PathValue("provider"), r.Header, query, body)
	switch {
	case err != nil && ctx.Err() != nil:
		return http.StatusServiceUnavailable
	case err != nil:
		if outage.OfAnswer(err) != nil { // of the database or the disk: trackers try again, or Poll finds the change
			return http.StatusServiceUnavailable
		}
		logger.ErrorContext(ctx, "taking a webhook of a tracker", "error", err)
		return http.StatusInternalServerError
	case !ok:
		return http.StatusNotFound
	}
	return http.StatusOK
}
