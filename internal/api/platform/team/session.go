package team

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
)

// SessionList is where the caller is signed in.
type SessionList struct {
	Message string        `json:"message"`
	Data    []SessionItem `json:"data" doc:"The newest first; at most 100."`
}

// SessionItem is one sign-in.
type SessionItem struct {
	ID         string    `json:"id"`
	CreatedAt  time.Time `json:"created_at" doc:"When you signed in."`
	ExpiresAt  time.Time `json:"expires_at" doc:"When its token ends by itself."`
	LastUsedAt time.Time `json:"last_used_at" doc:"To within five minutes."`
	UserAgent  string    `json:"user_agent" doc:"The client that signed in."`
	Address    string    `json:"address" doc:"Where it signed in from."`
	Current    bool      `json:"current" doc:"Whether this request uses it."`
}

func (s area) sessions() {
	const path, tag = "/v1/user/sessions", "User"
	rest.Handle(s.API, wire.Op("list-sessions", "GET "+path, tag, "Where you are signed in"),
		func(ctx context.Context, _ *struct{}) (*SessionList, error) {
			found, err := s.Accounts.FindSessions(ctx)
			return &SessionList{"Your sessions.", rest.Each(found, func(s account.Session) SessionItem {
				return SessionItem{
					ID: s.ID, CreatedAt: s.CreatedAt, ExpiresAt: s.ExpiresAt, LastUsedAt: s.LastUsedAt, UserAgent: s.UserAgent,
					Address: s.Address, Current: s.Current,
				}
			})}, err
		})
	all := wire.Op("end-sessions", "DELETE "+path, tag, "Sign out everywhere; the tokens stop working at once")
	all.Description = "API keys stay: delete or rotate them for themselves. Tokens of an OpenID issuer end when the issuer says."
	wire.Act(s.API, all, "You are signed out.", func(ctx context.Context, in *struct {
		Others bool `query:"others" doc:"Keep the session that this request uses."`
	}) error {
		return s.Accounts.EndSessions(ctx, in.Others)
	})
	one := wire.Op("end-session", "DELETE "+path+"/{session_id}", tag,
		"End one session; its token stops working at once", 404)
	wire.Act(s.API, one, "The session has ended.", func(ctx context.Context, in *struct {
		ID string `path:"session_id" doc:"The session's id; current is the one that this request uses."`
	}) error {
		return s.Accounts.EndSession(ctx, in.ID)
	})
}
