package team

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/inbox"
)

// UserNotification is something that the caller was told.
type UserNotification struct {
	ID        string     `json:"id"`
	Kind      string     `json:"kind" enum:"assigned,mentioned,regression,risk_ended,due_soon,overdue" doc:"What it is about: a finding was assigned to you; a comment mentions you; what is assigned to you and was fixed is there again; the time is over for which a risk was accepted; what is assigned to you is due soon, or overdue."`
	VulnID    string     `json:"vuln_id,omitempty" doc:"The finding; absent when it is about several."`
	Text      string     `json:"text" doc:"What happened, in words."`
	Actor     string     `json:"actor,omitempty" doc:"Who did it; absent: the service."`
	CreatedAt time.Time  `json:"created_at"`
	ReadAt    *time.Time `json:"read_at,omitempty" doc:"When you read it; absent: not yet."`
}

// UserNotificationList is a page of what the caller was told.
type UserNotificationList struct {
	wire.Listing
	Unread int                `json:"unread" doc:"How many you have not read, on all pages."`
	Data   []UserNotification `json:"data" doc:"The newest first."`
}

// ReadRequest names notifications.
type ReadRequest struct {
	IDs []string `json:"ids,omitempty" maxItems:"1000" doc:"The notifications; default all."`
}

func (s area) inbox() {
	const path = "/v1/user/notifications"
	list := wire.Op("list-user-notifications", "GET "+path, "User", "What you were told about findings of your team")
	list.Description = "Kept for 90 days. Where the server has a mail server, they are mails too."
	rest.Handle(s.API, list, func(ctx context.Context, in *struct {
		Unread bool `query:"unread" doc:"Only those that you have not read."`
		wire.Window
	}) (*UserNotificationList, error) {
		found, total, unread, err := s.Inbox.Find(ctx, in.Unread, in.Page())
		return &UserNotificationList{wire.ListOf(in.Window, len(found), total, "Notifications."), unread,
			rest.Each(found, func(m inbox.Message) UserNotification {
				return UserNotification{m.ID, string(m.Kind), m.FindingID, m.Text, m.Actor, m.At, rest.OrNull(m.ReadAt)}
			})}, err
	})
	rest.Handle(s.API, wire.Op("read-user-notifications", "POST "+path+"/read", "User", "Mark notifications as read", 404),
		func(ctx context.Context, in *struct{ Body ReadRequest }) (*wire.Message, error) {
			n, err := s.Inbox.Read(ctx, in.Body.IDs)
			return wire.Messagef("%d notifications are read.", n), err
		})
}
