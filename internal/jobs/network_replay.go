package jobs

import (
	"context"
	"net/netip"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
	"github.com/vedette-sec/vedette/internal/tools/replay"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

// replayRequest sends a captured request again, to its host and within the scope of its task or scan as it is now.
func (w worker) replayRequest(ctx context.Context, a network.ReplayArgs) error {
	o, err := w.Network.Outgoing(ctx, a)
	if errs.Is(err, errs.NotFound) {
		return nil // it was done, or deleted meanwhile
	}
	var x traffic.Exchange
	if err == nil {
		x, err = w.sendAgain(ctx, a, o)
	}
	why := ""
	if e := errs.From(err); err != nil {
		if e.Kind == errs.Internal {
			return err
		}
		why = e.Message
	}
	return w.Network.EndReplay(context.WithoutCancel(ctx), nil, a, o, x, why)
}

func (w worker) sendAgain(
	ctx context.Context, a network.ReplayArgs, o network.Outgoing,
) (x traffic.Exchange, err error) {
	// Whoever asked must still see the task or the scan.
	as := account.WithCaller(ctx, account.Caller{UserID: a.UserID, TeamID: a.TeamID, Role: account.Member})
	var boundary scope.Boundary
	if o.TaskID != "" {
		t, err := w.Tasks.Find(as, o.TaskID)
		if err != nil {
			return x, err
		}
		streams, err := w.Tasks.Streams(as, o.TaskID)
		if err != nil {
			return x, err
		}
		if boundary, err = w.tools.Boundary(ctx, t, task.PlanOf(streams)); err != nil {
			return x, err
		}
	} else if boundary, err = w.boundaryOfScan(as, a.TeamID, o); err != nil {
		return x, err
	}
	// A name that led to a public address must not lead to a private one now.
	if was, err := netip.ParseAddr(o.IP); err == nil && !netguard.IsSpecial(was) {
		boundary.Deny = slices.Concat(boundary.Deny, netguard.Special())
	}
	limited, err := scope.New(boundary)
	if err != nil {
		return x, err
	}
	return replay.Send(ctx, limited, o)
}

// boundaryOfScan is the host of a request, less what the scan and the team leave out.
func (w worker) boundaryOfScan(ctx context.Context, teamID string, o network.Outgoing) (b scope.Boundary, err error) {
	s, err := w.Scans.Find(ctx, o.ScanID)
	if err != nil {
		return b, err
	}
	given, err := w.Scans.Options(ctx, teamID, s.Config)
	if err != nil {
		return b, err
	}
	if given.Proxy != nil {
		return b, errs.New(errs.Conflict, "not_replayable", "The scan reaches its targets by a proxy; this cannot be repeated.")
	}
	rules, err := w.Exclusions.Of(ctx, teamID)
	if err != nil {
		return b, err
	}
	excluded := slices.Concat(given.Excluded, s.Config.Exclusions)
	for _, rule := range rules {
		if rule.Type == exclusion.Target && rule.EnumerationID == "" && (rule.ScanID == "" || rule.ScanID == o.ScanID) {
			excluded = append(excluded, rule.Value)
		}
	}
	b = scope.Boundary{Deny: w.Deny, Doc: task.Scope{Hosts: []string{o.URL.Host}}}
	b.Team, err = hostpattern.Parse(excluded)
	return b, err
}
