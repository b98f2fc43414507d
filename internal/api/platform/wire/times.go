package wire

import (
	"time"

	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// HistoryRange is the time range of a history.
type HistoryRange struct {
	StartDate string `query:"start_date" format:"date" doc:"First day."`
	EndDate   string `query:"end_date" format:"date" doc:"Last day."`
	Range     string `query:"time_range" enum:"current_month,last_month,last_3_months,last_6_months,last_12_months,all_time" default:"all_time" doc:"Named range."`
}

// Times is the range as instants: from since on, before until; zero is open.
func (h HistoryRange) Times(now time.Time) (since, until time.Time, err error) {
	now = now.UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	switch h.Range {
	case "current_month":
		since = month
	case "last_month":
		since, until = month.AddDate(0, -1, 0), month
	case "last_3_months":
		since = now.AddDate(0, -3, 0)
	case "last_6_months":
		since = now.AddDate(0, -6, 0)
	case "last_12_months":
		since = now.AddDate(-1, 0, 0)
	}
	if h.StartDate != "" {
		if since, err = time.Parse(time.DateOnly, h.StartDate); err != nil {
			return since, until, errs.Field("start_date", "start_date must be YYYY-MM-DD.")
		}
	}
	if h.EndDate != "" {
		if until, err = time.Parse(time.DateOnly, h.EndDate); err != nil {
			return since, until, errs.Field("end_date", "end_date must be YYYY-MM-DD.")
		}
		until = until.AddDate(0, 0, 1)
	}
	return since, until, nil
}

// Times says when a schedule launches.
type Times struct {
	Frequency string `json:"scan_frequency" enum:"hourly,daily,weekly,monthly,custom"`
	LastRun   string `json:"schedule_last_run" doc:"Last launch; empty: never."`
	NextRun   string `json:"schedule_next_run" doc:"Next launch."`
	StartTime string `json:"start_time,omitempty" doc:"Time of day in its zone."`
	Hours     int    `json:"hourly_frequency,omitempty"`
	Weekdays  []int  `json:"custom_weekdays" doc:"Days of the week; 0 is Sunday."`
	Cron      string `json:"cron,omitempty"`
	TimeZone  string `json:"time_zone,omitempty"`
}

// TimesOf is a schedule as answers show it.
func TimesOf(s schedule.Schedule) Times {
	out := Times{
		Frequency: string(s.Frequency), NextRun: s.NextRun.Format(time.RFC3339), StartTime: s.StartTime, Hours: s.Hours,
		Weekdays: s.Weekdays, Cron: s.Cron, TimeZone: s.TimeZone,
	}
	if out.Weekdays == nil {
		out.Weekdays = []int{}
	}
	if !s.LastRun.IsZero() {
		out.LastRun = s.LastRun.Format(time.RFC3339)
	}
	return out
}

// TimesRequest says when a schedule is to launch.
type TimesRequest struct {
	Frequency string `json:"scan_frequency" enum:"hourly,daily,weekly,monthly,custom"`
	StartTime string `json:"start_time,omitempty" maxLength:"9" doc:"HH:MM or HH:MM:SS in the zone, or HH:MM:SSZ; default: now."`
	Hours     int    `json:"hourly_frequency,omitempty" minimum:"1" maximum:"24"`
	Weekdays  []int  `json:"custom_weekdays,omitempty" maxItems:"7" doc:"Days, 0 is Sunday; for custom, and the first for weekly."`
	Cron      string `json:"cron,omitempty" maxLength:"100"`
	TimeZone  string `json:"time_zone,omitempty" maxLength:"60"`
}

// Rule is the rule that a request describes.
func (r TimesRequest) Rule() schedule.Rule {
	return schedule.Rule{
		Frequency: schedule.Frequency(r.Frequency), StartTime: r.StartTime, Hours: max(1, r.Hours), Weekdays: r.Weekdays,
		Cron: r.Cron, TimeZone: r.TimeZone,
	}
}
