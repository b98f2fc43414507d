package notification

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/alert"
)

// Dispatcher sends alerts to the channels of a team that want them.
type Dispatcher struct {
	*Notifications

	settings *setting.Settings
	sender   *alert.Sender
	logger   *slog.Logger
}

// NewDispatcher makes a dispatcher.
func NewDispatcher(ns *Notifications, s *setting.Settings, sender *alert.Sender, logger *slog.Logger) *Dispatcher {
	return &Dispatcher{ns, s, sender, logger}
}

// Channel is a channel of an alerting configuration.
type Channel struct {
	alert.Channel

	configID string
	index    int // in the configuration
}

// Channels are those of the named configurations and, if global is set, of the team's global ones. Deleted
// configurations are left out.
func (d *Dispatcher) Channels(
	ctx context.Context, teamID string, named []string, global bool,
) (out []Channel, err error) {
	applied, err := d.settings.Apply(ctx, nil, teamID, setting.Alerting, named, global, "")
	for _, a := range applied {
		config, err := alert.Parse(a.Text)
		if err != nil {
			d.logger.WarnContext(ctx, "an alerting configuration cannot be read", "config_id", a.ID, "error", err)
			continue
		}
		for i, c := range config.Channels {
			out = append(out, Channel{c, a.ID, i})
		}
	}
	return out, err
}

// Post adds a notification of each alert for each channel that wants it. about has their common fields.
func (d *Dispatcher) Post(ctx context.Context, about Notification, channels []Channel, alerts []alert.Alert) error {
	var list []Notification
	for _, a := range alerts {
		body, err := json.Marshal(a)
		if err != nil {
			return err
		}
		for _, c := range channels {
			if c.Wants(a.Kind) {
				n := about
				n.Event, n.ConfigID, n.Channel, n.Provider, n.Body = string(a.Kind), c.configID, c.index, c.Provider, body
				list = append(list, n)
			}
		}
	}
	return d.Add(ctx, list)
}

// Send sends one notification, even when ctx ends, so that it does not arrive twice. The error says when to try again.
func (d *Dispatcher) Send(ctx context.Context, id string) error {
	ctx = context.WithoutCancel(ctx)
	n, ok, err := d.Start(ctx, id)
	if err != nil || !ok {
		return err
	}
	end := func(state State, note string) error { return d.End(ctx, nil, n.ID, state, note) }
	c, ok, err := d.channelOf(ctx, n)
	if err != nil {
		return errors.Join(err, end(Waiting, ""))
	}
	if !ok {
		return end(Dropped, "The configuration does not have this channel any more.")
	}
	var a alert.Alert
	if err := json.Unmarshal(n.Body, &a); err != nil {
		return errors.Join(queue.Abandon(err), end(Failed, err.Error()))
	}
	a.ID = n.ID
	err = d.sender.Send(ctx, c, a)
	if err == nil {
		return end(Sent, "")
	}
	wait, retry := apiclient.RetryAfter(err)
	if !retry {
		return end(Failed, err.Error())
	}
	if failed := end(Waiting, err.Error()); failed != nil {
		return failed
	}
	return queue.After(err, min(wait, time.Hour))
}

// channelOf is the channel of a notification. ok is false when the configuration does not have it any more.
func (d *Dispatcher) channelOf(ctx context.Context, n Notification) (c alert.Channel, ok bool, err error) {
	applied, err := d.settings.Apply(ctx, nil, n.TeamID, setting.Alerting, []string{n.ConfigID}, false, "")
	if err != nil || len(applied) == 0 {
		return c, false, err
	}
	config, err := alert.Parse(applied[0].Text)
	if err != nil || n.Channel >= len(config.Channels) || config.Channels[n.Channel].Provider != n.Provider {
		return c, false, nil //nolint:nilerr // a configuration that cannot be read any more has no channel
	}
	return config.Channels[n.Channel], true, nil
}
