package assets

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

const (
	enumerationTag  = "Enumerations"
	enumerationPath = "/v1/asset/enumerate/{enumerate_id}"
)

// EnumerationName is a new name for an enumeration.
type EnumerationName struct {
	Name string `json:"name" maxLength:"200"`
}

func (s area) enumerations() {
	const path, one = "/v1/asset/enumerate", enumerationPath
	rest.Handle(s.API, wire.Op("list-enumerations", "GET "+path, enumerationTag,
		"Your team's enumerations and groups of assets, newest first"), s.listEnumerations)
	rest.Handle(s.API, wire.Op("create-enumeration", "POST "+path, enumerationTag, "Create and launch an enumeration"),
		s.createEnumeration)
	wire.Act(s.API, wire.Op("delete-enumerations", "DELETE "+path, enumerationTag,
		"Delete enumerations with their assets; running ones are stopped", 404, 413, 415), "The enumerations are deleted.",
		func(ctx context.Context, in *struct{ Body EnumerationDeletion }) error {
			return s.Enumerations.Delete(ctx, in.Body.IDs, "asset_ids")
		})
	rest.Handle(s.API, wire.Op("get-enumeration", "GET "+one, enumerationTag, "One enumeration or group", 404),
		func(ctx context.Context, in *wire.EnumerationPath) (*EnumerateOne, error) {
			found, err := s.Enumerations.FindListed(ctx, in.ID)
			return &EnumerateOne{"The enumeration.", enumerateDataOf(found)}, err
		})
	wire.Act(s.API, wire.Op("rename-enumeration", "PATCH "+one, enumerationTag, "Rename an enumeration", 404),
		"The enumeration is renamed.",
		func(ctx context.Context, in *struct {
			wire.EnumerationPath
			Body EnumerationName
		}) error {
			return s.Enumerations.Rename(ctx, in.ID, in.Body.Name)
		})
	wire.Act(s.API, wire.Op("delete-enumeration", "DELETE "+one, enumerationTag,
		"Delete an enumeration with its assets; a running one is stopped", 404), "The enumeration is deleted.",
		func(ctx context.Context, in *wire.EnumerationPath) error {
			return s.Enumerations.Delete(ctx, []string{in.ID}, "enumerate_id")
		})
	wire.Act(s.API, wire.Op("stop-enumeration", "POST "+one+"/stop", enumerationTag,
		"Stop a running enumeration; its assets are kept", 404, 409), "The enumeration is stopped.",
		func(ctx context.Context, in *wire.EnumerationPath) error { return s.Enumerations.Stop(ctx, in.ID) })
	rest.Handle(s.API, wire.Op("rescan-enumeration", "POST "+one+"/rescan", enumerationTag, "Run an enumeration again",
		404, 409),
		func(ctx context.Context, in *wire.EnumerationPath) (*EnumerateMade, error) {
			again, err := s.Enumerations.Rescan(ctx, in.ID)
			return &EnumerateMade{ID: again.ID}, err
		})
	s.enumerationConfigs()
	s.enumerationSchedules()
	s.enumerationHistory()
}

func (s area) listEnumerations(ctx context.Context, in *struct {
	Search    string     `query:"search" maxLength:"200" doc:"Part of the name, or an id."`
	Types     string     `query:"enum_type" maxLength:"200" doc:"Only of these types, separated by commas: discovery, cloud, group."`
	Statuses  string     `query:"status" maxLength:"200" doc:"Only those in these states, separated by commas."`
	SortAsc   string     `query:"sort_asc" doc:"Fields to sort by, ascending, separated by commas: created_at, updated_at, completed_at, name, status, id, enumeration_type, new_assets, rescan_count, enumeration_time_elapsed."`
	SortDesc  string     `query:"sort_desc" doc:"Descending sort fields, after those of sort_asc."`
	Time      string     `query:"time" enum:"last_day,last_week,last_month,last_3_months,last_6_months,last_12_months,all_time" default:"all_time" doc:"Created in this time."`
	StartDate string     `query:"start_date" format:"date" doc:"Created on this day or later."`
	EndDate   string     `query:"end_date" format:"date" doc:"Created on this day or earlier."`
	Internal  wire.Maybe `query:"is_internal" doc:"Whether all inputs are internal addresses."`
	Custom    string     `query:"custom_filter" maxLength:"6000" doc:"Only those with an asset that meets this condition, such as: tls = expired."`
	wire.Window
}) (*EnumerationList, error) {
	sorts, err := page.Sorts(in.SortAsc, in.SortDesc, enumeration.Sortable)
	if err != nil {
		return nil, err
	}
	f := enumeration.Filter{Search: in.Search, Internal: in.Internal.Ptr()}
	if f.Since, f.Until, err = (wire.HistoryRange{StartDate: in.StartDate,
		EndDate: in.EndDate}).Times(time.Now()); err != nil {
		return nil, err
	}
	if f.Since.IsZero() {
		f.Since = page.Since(in.Time, time.Now())
	}
	if in.Custom != "" {
		having, err := asset.Filters{CustomFilter: in.Custom}.Parse(time.Now())
		if err != nil {
			return nil, err
		}
		f.Having = &having
	}
	if f.Statuses, err = wire.OneOf("status", in.Statuses, enumeration.Statuses); err != nil {
		return nil, err
	}
	if f.Types, err = wire.OneOf("enum_type", in.Types, enumeration.Types); err != nil {
		return nil, err
	}
	found, total, err := s.Enumerations.FindAll(ctx, f, sorts, in.Page())
	if err != nil {
		return nil, err
	}
	w := in.Page()
	return &EnumerationList{
		CurrentPage: w.Page(), ResultCount: len(found), TotalResults: total, TotalPages: w.Pages(total),
		Data: rest.Each(found, enumerateDataOf),
	}, nil
}

func (s area) createEnumeration(ctx context.Context, in *struct{ Body EnumerateRequest }) (*EnumerateMade, error) {
	if _, err := account.Writer(ctx); err != nil {
		return nil, err
	}
	b := in.Body
	c := enumeration.Config{
		RootDomains: b.RootDomains, Inputs: b.Inputs, CloudConfigIDs: b.CloudConfigIDs, Steps: enumeration.Steps(b.Steps),
		Ports: b.Ports, FollowRedirect: b.Config.FollowRedirect,
		AlertConfigIDs: b.AlertConfigIDs, NoGlobalAlerts: b.NoGlobalAlerts,
		Exclusions: slices.Concat(b.ExcludeTargets, b.Exclusions), AutomaticScans: b.AutomaticScans,
		AgentID: b.AgentID, AgentTags: b.AgentTags, AgentNetworks: b.AgentNetworks, AgentBehavior: b.AgentBehavior,
		AgentDiscover: b.AgentDiscover,
	}
	if c.Ports == "" {
		c.Ports = wire.Value(b.Config.Ports)
	}
	if c.AgentBehavior == "" {
		c.AgentBehavior = "distribute"
	}
	if b.PerDomain && len(b.RootDomains) > 0 {
		return s.createEach(ctx, enumeration.NewEnumeration{Name: b.Name, Config: c, Proxy: b.Socks5Proxy})
	}
	made, err := s.Enumerations.Create(ctx, enumeration.NewEnumeration{Name: b.Name, Config: c, Proxy: b.Socks5Proxy})
	return &EnumerateMade{ID: made.ID}, err
}

// createEach creates an enumeration for each root domain; the first also gets all other inputs. Invalid
// domains are reported and left out.
func (s area) createEach(ctx context.Context, n enumeration.NewEnumeration) (*EnumerateMade, error) {
	out := EnumerateMade{BulkIDs: []string{}, FailedDomains: map[string]string{}}
	var first error
	for _, domain := range n.Config.RootDomains {
		one, title := n.Config, domain
		one.RootDomains = []string{domain}
		if n.Name != "" {
			title = n.Name + " " + domain
		}
		if len(out.BulkIDs) > 0 {
			one.Inputs, one.CloudConfigIDs = nil, nil
		}
		made, err := s.Enumerations.Create(ctx, enumeration.NewEnumeration{Name: title, Config: one, Proxy: n.Proxy})
		switch e := errs.From(err); {
		case err == nil:
			out.BulkIDs = append(out.BulkIDs, made.ID)
		case e.Kind != errs.Invalid || e.Param != "root_domains":
			return nil, err
		default:
			out.FailedDomains[domain] = e.Message
			if first == nil {
				first = err
			}
		}
	}
	if len(out.BulkIDs) == 0 {
		return nil, first
	}
	out.ID = out.BulkIDs[0]
	return &out, nil
}

func (s area) enumerationConfigs() {
	const path = enumerationPath + "/config"
	rest.Handle(s.API, wire.Op("get-enumeration-config", "GET "+path, enumerationTag,
		"The configuration of an enumeration", 404),
		func(ctx context.Context, in *wire.EnumerationPath) (*EnumerationConfig, error) {
			found, err := s.Enumerations.Find(ctx, in.ID)
			c := found.Config
			out := EnumerationConfig{
				Name: &found.Name, RootDomains: rest.OrEmpty(c.RootDomains), Inputs: rest.OrEmpty(c.Inputs), Ports: &c.Ports,
				Launch:         EnumerationLaunchOpts{new(c.FollowsRedirects()), &c.Ports},
				AlertConfigIDs: rest.OrEmpty(c.AlertConfigIDs), SubfinderConfigIDs: rest.OrEmpty(c.SubfinderConfigIDs),
				Exclusions: rest.OrEmpty(c.Exclusions), AutomaticScans: &c.AutomaticScans,
				Socks5Proxy: new(c.Proxy.String()),
			}
			out.Steps = c.StepNames()
			return &out, err
		})
	rest.Handle(s.API, wire.Op("update-enumeration-config", "PATCH "+path, enumerationTag,
		"Change the configuration of an enumeration, for its next run", 404),
		func(ctx context.Context, in *struct {
			wire.EnumerationPath
			Type string `query:"update_type" enum:"append,replace" default:"append" doc:"Whether lists are extended or replaced."`
			Body EnumerationConfig
		}) (*wire.Message, error) {
			b := in.Body
			ports, portsIn := b.Ports, "enum_ports"
			if ports == nil {
				ports, portsIn = b.Launch.Ports, "enumeration_config.ports"
			}
			err := s.Enumerations.UpdateConfig(ctx, in.ID, enumeration.ConfigUpdate{
				Name: b.Name, RootDomains: b.RootDomains, Inputs: b.Inputs, Steps: enumeration.Steps(b.Steps), Ports: ports,
				FollowRedirect: b.Launch.FollowRedirect, AlertConfigIDs: b.AlertConfigIDs,
				SubfinderConfigIDs: b.SubfinderConfigIDs, Exclusions: b.Exclusions, AutomaticScans: b.AutomaticScans,
				Proxy: b.Socks5Proxy,
			}, in.Type == "replace")
			return wire.Messagef("The configuration is changed."), portsNamed(err, portsIn)
		})
}

// portsNamed is err, naming the field in which the request had its ports.
func portsNamed(err error, field string) error {
	e := errs.From(err)
	if e == nil || e.Param != "enumeration_ports" { // the field of create-enumeration
		return err
	}
	renamed := *e
	renamed.Param = field
	return &renamed
}

func (s area) enumerationSchedules() {
	const path = "/v1/enumeration/schedule"
	rest.Handle(s.API, wire.Op("list-enumeration-schedules", "GET "+path, enumerationTag,
		"The schedules of your team's enumerations, by next run"),
		func(ctx context.Context, _ *struct{}) (*EnumerationScheduleList, error) {
			found, err := s.Enumerations.Schedules().FindAll(ctx)
			return &EnumerationScheduleList{"Schedules.", rest.Each(found, scheduleOf)}, err
		})
	rest.Handle(s.API, wire.Op("set-enumeration-schedule", "POST "+path, enumerationTag,
		"Set the schedule of an enumeration", 404),
		func(ctx context.Context, in *struct{ Body EnumerationScheduleRequest }) (*wire.Message, error) {
			set, err := s.Enumerations.Schedules().Set(ctx,
				schedule.Schedule{Subject: in.Body.EnumerationID, Rule: in.Body.Rule()})
			return wire.Messagef("The enumeration is launched next at %s.", set.NextRun.Format(time.RFC3339)), err
		})
	wire.Act(s.API, wire.Op("delete-enumeration-schedule", "DELETE "+path, enumerationTag,
		"Delete the schedule of an enumeration", 404), "The schedule is deleted.",
		func(ctx context.Context, in *struct {
			ID string `query:"enumeration_id" required:"true" doc:"The enumeration."`
		}) error {
			return s.Enumerations.Schedules().Drop(ctx, in.ID)
		})
}

// RunQuery picks a run of an enumeration.
type RunQuery struct {
	wire.EnumerationPath
	Run int64 `query:"run" minimum:"0" doc:"Run number, from 1; default the last."`
	wire.Window
}

func (s area) enumerationHistory() {
	rest.Handle(s.API, wire.Op("get-enumeration-history", "GET "+enumerationPath+"/history", enumerationTag,
		"The runs of an enumeration, newest first", 404),
		func(ctx context.Context, in *struct {
			wire.EnumerationPath
			wire.HistoryRange
			wire.Window
		}) (*EnumerationHistory, error) {
			since, until, err := in.Times(time.Now())
			if err != nil {
				return nil, err
			}
			h, err := s.Enumerations.FindHistory(ctx, in.ID, since, until, in.Page())
			if err != nil {
				return nil, err
			}
			w := in.Page()
			out := EnumerationHistory{
				CurrentPage: w.Page(), ResultCount: len(h.Launches), TotalPages: w.Pages(h.Total), TotalResults: h.Total,
				Total: int64(h.Total), Unique: int64(h.Unique), Data: rest.Each(h.Launches, enumerationRunOf),
			}
			return &out, nil
		})
	rest.Handle(s.API, wire.Op("list-enumeration-sources", "GET "+enumerationPath+"/sources", enumerationTag,
		"The sources of a run, with their states and counts", 404),
		func(ctx context.Context, in *RunQuery) (*EnumerationSources, error) {
			found, total, err := s.Enumerations.FindSources(ctx, in.ID, in.Run, in.Page())
			list := EnumerationSources{Listing: wire.ListOf(in.Window, len(found), total, "Sources."),
				Data: make([]EnumerationSource, len(found))}
			for i, r := range found {
				list.Data[i] = EnumerationSource{r.Run, r.Source, r.About, string(r.State), r.Count,
					r.Took.Round(time.Millisecond).String(), r.Detail, r.At}
			}
			return &list, err
		})
	rest.Handle(s.API, wire.Op("list-enumeration-events", "GET "+enumerationPath+"/events", enumerationTag,
		"Refused connections of a run, and sources that found far less than before", 404),
		func(ctx context.Context, in *RunQuery) (*EnumerationEvents, error) {
			found, total, err := s.Enumerations.FindEvents(ctx, in.ID, in.Run, in.Page())
			list := EnumerationEvents{Listing: wire.ListOf(in.Window, len(found), total, "Events."),
				Data: rest.Each(found, func(e enumeration.Event) EnumerationEvent { return EnumerationEvent(e) })}
			return &list, err
		})
}
