package assets

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/core/enumeration"

	"github.com/vedette-sec/vedette/internal/api/rest"
)

// RunQuery picks a run of an enumeration.
type RunQuery struct {
	wire.EnumerationPath
	Run int64 `query:"run" minimum:"0" doc:"Run number, from 1; default the last."`
	wire.Window
}

func (s area) enumerationHistory() {
	rest.Handle(s.API, wire.Op("get-enumeration-history", "GET "+enumerationPath+"/history", enumerationTag, "The runs of an enumeration, newest first", 404),
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
				Total: int64(h.Total), Unique: int64(h.Unique), Data: make([]EnumerationRun, len(h.Launches)),
			}
			for i, l := range h.Launches {
				out.Data[i] = enumerationRunOf(l, time.Now())
			}
			return &out, nil
		})
	rest.Handle(s.API, wire.Op("list-enumeration-sources", "GET "+enumerationPath+"/sources", enumerationTag, "The sources of a run, with their states and counts", 404),
		func(ctx context.Context, in *RunQuery) (*EnumerationSources, error) {
			found, total, err := s.Enumerations.FindSources(ctx, in.ID, in.Run, in.Page())
			list := EnumerationSources{Listing: wire.ListOf(in.Window, len(found), total, "Sources."), Data: make([]EnumerationSource, len(found))}
			for i, r := range found {
				list.Data[i] = EnumerationSource{r.Run, r.Source, r.About, string(r.State), r.Count, r.Took.Round(time.Millisecond).String(), r.Detail, r.At}
			}
			return &list, err
		})
	rest.Handle(s.API, wire.Op("list-enumeration-events", "GET "+enumerationPath+"/events", enumerationTag, "Refused connections of a run, and sources that found far less than before", 404),
		func(ctx context.Context, in *RunQuery) (*EnumerationEvents, error) {
			found, total, err := s.Enumerations.FindEvents(ctx, in.ID, in.Run, in.Page())
			list := EnumerationEvents{Listing: wire.ListOf(in.Window, len(found), total, "Events."), Data: rest.Each(found, func(e enumeration.Event) EnumerationEvent { return EnumerationEvent(e) })}
			return &list, err
		})
}
