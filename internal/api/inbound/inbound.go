// Package inbound takes webhooks: of issue trackers, POST /hooks/trackers/{config_id}/{provider}, of the operator's
// GitHub App, POST /hooks/github, of GitLab, POST /hooks/gitlab/{connection_id}, and of Slack, POST /hooks/slack for
// the operator's app and POST /hooks/slack/{installation_id} for those of teams. It is no part of the documented APIs,
// as its callers are other services, each with its own way to prove who it is (core/ticket, core/review, core/chat).
//
// Of a tracker, an address that does not exist, a configuration that takes no webhooks and a wrong signature have the
// same answer, byte for byte. A webhook of the App says whose it is, and has one address: it is 401 if it is not
// signed. So is one of GitLab without the secret of its connection.
package inbound

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/vedette-sec/vedette/internal/core/chat"
	"github.com/vedette-sec/vedette/internal/core/review"
	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
	"github.com/vedette-sec/vedette/internal/infra/outage"
)

// Path is where webhooks are taken.
const Path = "/hooks/"

const (
	trackerRoute = "POST " + Path + "trackers/{config_id}/{provider}"
	githubRoute  = "POST " + Path + "github"
	gitlabRoute  = "POST " + Path + "gitlab/{connection_id}"
	slackRoute   = "POST " + Path + "slack"
)

// New makes the handler of all paths below Path.
func New(tickets *ticket.Tickets, reviews *review.Reviews, chats *chat.Chats, logger *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(trackerRoute, func(w http.ResponseWriter, r *http.Request) {
		answer(w, take(r, ticket.MaxHook, logger, func(ctx context.Context, body []byte) (int, error) {
			query, err := url.ParseQuery(r.URL.RawQuery)
			if err != nil {
				query = url.Values{}
			}
			ok, err := tickets.Receive(ctx, r.PathValue("config_id"), r.PathValue("provider"), r.Header, query, body)
			if !ok {
				return http.StatusNotFound, err
			}
			return http.StatusOK, err
		}))
	})
	mux.HandleFunc(githubRoute, func(w http.ResponseWriter, r *http.Request) {
		answer(w, take(r, review.MaxHook, logger, func(ctx context.Context, body []byte) (int, error) {
			taken, err := reviews.Receive(ctx, r.Header, body)
			return statuses[taken], err
		}))
	})
	mux.HandleFunc(gitlabRoute, func(w http.ResponseWriter, r *http.Request) {
		answer(w, take(r, review.MaxHook, logger, func(ctx context.Context, body []byte) (int, error) {
			taken, err := reviews.ReceiveGitLab(ctx, r.PathValue("connection_id"), r.Header, body)
			return statuses[taken], err
		}))
	})
	fromSlack := func(w http.ResponseWriter, r *http.Request) {
		var challenge string
		status := take(r, chat.MaxHook, logger, func(ctx context.Context, body []byte) (int, error) {
			text, taken, err := chats.Receive(ctx, r.PathValue("installation_id"), r.Header, body)
			challenge = text
			return slackStatuses[taken], err
		})
		if status == http.StatusOK && challenge != "" {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, challenge) // Slack may have disconnected
			return
		}
		answer(w, status)
	}
	mux.HandleFunc(slackRoute, fromSlack)
	mux.HandleFunc(slackRoute+"/{installation_id}", fromSlack)
	mux.HandleFunc(Path, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusNotFound) })
	return mux
}

// statuses are the answers to webhooks of the App and of GitLab.
var statuses = map[review.Taken]int{
	review.Unknown: http.StatusNotFound, review.Unsigned: http.StatusUnauthorized, review.Malformed: http.StatusBadRequest,
	review.Ignored: http.StatusAccepted, review.Accepted: http.StatusOK,
}

// slackStatuses are the answers to Slack.
var slackStatuses = map[chat.Taken]int{
	chat.Unknown: http.StatusNotFound, chat.Unsigned: http.StatusUnauthorized, chat.Malformed: http.StatusBadRequest,
	chat.Accepted: http.StatusOK,
}

// answers are the bodies of all answers.
var answers = map[int]string{
	http.StatusOK:                    `{"ok":true}`,
	http.StatusAccepted:              `{"ok":true,"message":"Nothing is done about it."}`,
	http.StatusUnauthorized:          `{"message":"The signature is missing or wrong."}`,
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

// take reads a body of at most most bytes, and gives the status with which do answers.
//
//nolint:unparam // each area says how much it takes
func take(r *http.Request, most int, logger *slog.Logger, do func(context.Context, []byte) (int, error)) int {
	if r.ContentLength > int64(most) {
		return http.StatusRequestEntityTooLarge
	}
	ctx := r.Context()
	share := membudget.Process().Share()
	defer share.Release()
	body, err := share.ReadAll(ctx, r.Body, int64(most)+1)
	switch {
	case len(body) > most:
		return http.StatusRequestEntityTooLarge
	case err != nil:
		return http.StatusBadRequest
	}
	status, err := do(ctx, body)
	switch {
	case err != nil && ctx.Err() != nil:
		return http.StatusServiceUnavailable
	case err != nil:
		// Of the database or the disk: trackers try again, or Poll finds the change; GitHub redelivers by hand, Slack three
		// times.
		if outage.OfAnswer(err) != nil {
			return http.StatusServiceUnavailable
		}
		logger.ErrorContext(ctx, "taking a webhook", "path", r.URL.Path, "error", err)
		return http.StatusInternalServerError
	}
	return status
}
