package team

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// AlertEvent is one alert for one channel.
type AlertEvent struct {
	ID             string          `json:"id" doc:"The alert's id: webhooks get it as Idempotency-Key, mail has it in its Message-ID."`
	EventType      string          `json:"event_type" enum:"running,finished,failed_stopped,new_vuln,new_asset,source_drop,regression,risk_ended,due_soon,overdue,report" doc:"Content."`
	SubjectType    string          `json:"subject_type" enum:"scan,enumeration,asset_policy,finding,rule,report"`
	SubjectID      string          `json:"subject_id" doc:"The id of the scan, the enumeration, the policy, (the first) finding or the schedule of the report."`
	SubjectName    string          `json:"subject_name" doc:"Its name at that time; empty for a policy, whose name is in the message."`
	Run            int64           `json:"run"`
	Status         string          `json:"status" enum:"succeeded,failed,pending" doc:"succeeded: the channel accepted it. failed: given up. pending: being sent, or to be retried."`
	ErrorMessage   string          `json:"error_message,omitempty"`
	Attempts       int             `json:"attempts" doc:"Attempts."`
	MaybeTwice     bool            `json:"maybe_twice" doc:"It may have arrived twice: the server stopped while sending, and sent it again."`
	Channel        string          `json:"channel" doc:"The kind of channel, such as slack, webhook or smtp."`
	ChannelNumber  int             `json:"channel_number" doc:"Position of the channel in the configuration, from 1."`
	ConfigID       string          `json:"alert_config_id"`
	ConfigName     string          `json:"alert_config_name" doc:"Its current name; empty if deleted."`
	AssetPolicyID  string          `json:"asset_policy_id,omitempty"`
	CreatedAt      time.Time       `json:"created_at"`
	UpdatedAt      time.Time       `json:"updated_at" doc:"Last attempt."`
	MessagePayload json.RawMessage `json:"message_payload" doc:"The content, as a webhook gets it, before the channel's severities are applied."`
}

func alertOf(n notification.Notification, names map[string]string) AlertEvent {
	var content struct {
		Scan        string `json:"scan_name"`
		Enumeration string `json:"enumeration_name"`
		Report      string `json:"report_name"`
	}
	_ = json.Unmarshal(n.Body, &content) // an unreadable one has no name
	e := AlertEvent{
		ID: n.ID, EventType: n.Event, SubjectType: string(n.Kind), SubjectID: n.Subject, SubjectName: content.Scan,
		Run: n.Run, Status: alertStatus(n.State), ErrorMessage: n.Note,
		Attempts: n.Attempts, MaybeTwice: n.MaybeTwice, Channel: n.Provider, ChannelNumber: n.Channel + 1,
		ConfigID: n.ConfigID, ConfigName: names[n.ConfigID],
		CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt, MessagePayload: n.Body,
	}
	switch n.Kind {
	case notification.OfEnumeration:
		e.SubjectName = content.Enumeration
	case notification.OfReport:
		e.SubjectName = content.Report
	case notification.OfFinding:
		e.SubjectID, _, _ = strings.Cut(n.Subject, "/")
	case notification.OfPolicy:
		e.SubjectType, e.SubjectID, e.AssetPolicyID = "asset_policy", n.PolicyID, n.PolicyID
	}
	return e
}

// alertStatus is this API's name for a state.
func alertStatus(state notification.State) string {
	switch state {
	case notification.Sent:
		return "succeeded"
	case notification.Failed, notification.Dropped:
		return "failed"
	}
	return "pending"
}

// alertStates are the states with this name; empty: all.
func alertStates(status string) (out []notification.State) {
	for _, state := range notification.States {
		if alertStatus(state) == status {
			out = append(out, state)
		}
	}
	return out
}

// AlertQuery has the parameters of the alert log.
type AlertQuery struct {
	Config  string `query:"alert_config_id" maxLength:"100" doc:"Only those of this alerting configuration."`
	Event   string `query:"event_type" enum:"running,finished,failed_stopped,new_vuln,new_asset,source_drop,regression,risk_ended,due_soon,overdue,report" doc:"Only of this type."`
	Subject string `query:"subject_id" maxLength:"100" doc:"Only those about this scan, enumeration, policy or schedule of reports."`
	Status  string `query:"status" enum:"succeeded,failed,pending" doc:"Only those in this state."`
	wire.HistoryRange
	Limit  int `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"Maximum number of events."`
	Offset int `query:"offset" minimum:"0" maximum:"2147483648" doc:"Events to skip."`
}

// AlertEvents is a page of the alert log.
type AlertEvents struct {
	Data    AlertEventList `json:"data" doc:"The events."`
	Total   int            `json:"total"`
	Limit   int            `json:"limit"`
	Offset  int            `json:"offset"`
	Message string         `json:"message"`
}

// AlertEventList is a page of alerts.
type AlertEventList struct {
	Events []AlertEvent `json:"events"`
}

func (s area) alertLog() {
	list := wire.Op("list-alert-log", "GET /v1/team/alert_log", "Alert log",
		"The alerts of your team's alerting channels and their delivery, newest first")
	list.Description = "Each alert has an event for each of its channels. Alerts are deleted with their subject."
	rest.Handle(s.API, list, func(ctx context.Context, in *AlertQuery) (*AlertEvents, error) {
		since, until, err := in.Times(time.Now())
		if err != nil {
			return nil, err
		}
		f := notification.Filter{ConfigID: in.Config, Event: in.Event, Subject: in.Subject, States: alertStates(in.Status),
			Since: since, Until: until}
		found, total, err := s.Notifications.Find(ctx, f, page.Window{Offset: in.Offset, Limit: in.Limit})
		if err != nil {
			return nil, err
		}
		configs := rest.Each(found, func(n notification.Notification) string { return n.ConfigID })
		names, err := s.Settings.Names(ctx, configs)
		events := rest.Each(found, func(n notification.Notification) AlertEvent { return alertOf(n, names) })
		return &AlertEvents{AlertEventList{events}, total, in.Limit, in.Offset, "Alerts."}, err
	})
}
