package findings

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// ResultSeries is what was open, new, fixed and back in each period.
type ResultSeries struct {
	From   time.Time            `json:"from" doc:"The beginning of the first period."`
	To     time.Time            `json:"to" doc:"The end of the last one."`
	Points []ResultPoint        `json:"points" doc:"The periods, the oldest first."`
	Fix    map[string]TimeToFix `json:"time_to_fix" doc:"Of what was fixed in this time, by severity; all: of every severity."`
}

// ResultPoint is a period.
type ResultPoint struct {
	From      time.Time      `json:"from" doc:"When the period begins."`
	To        time.Time      `json:"to" doc:"Its end; that of the last period is the end of the series."`
	Open      map[string]int `json:"open" doc:"Open weaknesses at its end, by severity."`
	New       int            `json:"new" doc:"Weaknesses that were first seen in it."`
	Fixed     int            `json:"fixed" doc:"How often one became fixed in it."`
	Regressed int            `json:"regressed" doc:"How often one that was fixed came back in it."`
}

// TimeToFix is how long weaknesses had been there when they were fixed.
type TimeToFix struct {
	Fixed int   `json:"fixed" doc:"How many were fixed."`
	Half  int64 `json:"p50_seconds" doc:"Half of them within this time."`
	Most  int64 `json:"p90_seconds" doc:"Nine of ten of them within this time."`
}

// ResultSeriesQuery picks the time of a series.
type ResultSeriesQuery struct {
	From string `query:"from" required:"true" doc:"The beginning: a time (RFC 3339) or a day."`
	To   string `query:"to" doc:"The end: a time or the end of this day; default now."`
	Step string `query:"step" enum:"day,week" default:"day" doc:"The length of a period: 24 hours or seven times as long. There are at most 400."`
}

func (s area) series(ctx context.Context, in *ResultSeriesQuery) (*ResultSeries, error) {
	from, err := page.Moment("from", in.From, false)
	if err != nil {
		return nil, err
	}
	to, err := endOf(in.To)
	if err != nil {
		return nil, err
	}
	step := 24 * time.Hour
	if in.Step == "week" {
		step *= 7
	}
	found, err := s.Moments.Series(ctx, from, to, step)
	if err != nil {
		return nil, err
	}
	out := ResultSeries{From: from, To: to, Points: make([]ResultPoint, len(found.Points)), Fix: map[string]TimeToFix{}}
	for i, p := range found.Points {
		out.Points[i] = ResultPoint{p.From, p.To, map[string]int{}, p.New, p.Fixed, p.Regressed}
		for _, severity := range finding.Severities {
			out.Points[i].Open[severity] = p.Open[severity]
		}
	}
	for severity, f := range found.Fix {
		out.Fix[severity] = TimeToFix{len(f), int64(f.Within(0.5).Seconds()), int64(f.Within(0.9).Seconds())}
	}
	return &out, nil
}
