package exports

import (
	"context"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/reportschedule"
	"github.com/vedette-sec/vedette/internal/core/schedule"
)

// ReportSchedulePath names a schedule of reports.
type ReportSchedulePath struct {
	ID string `path:"report_schedule_id" maxLength:"100" doc:"The schedule's id."`
}

// ReportScheduleRequest says what a schedule makes, and when.
type ReportScheduleRequest struct {
	Name   string `json:"name" minLength:"1" maxLength:"100" doc:"What the report is called."`
	Active *bool  `json:"is_active,omitempty" doc:"Whether reports are made; default true."`
	Format string `json:"type,omitempty" enum:"json,csv,pdf,docx,html,sarif,cyclonedx,csaf,openvex,defectdojo,ocsf" default:"pdf" doc:"The kind of file."`

	Frequency string `json:"frequency" enum:"weekly,monthly" doc:"How often it is made."`
	Weekday   int    `json:"weekday,omitempty" minimum:"0" maximum:"6" doc:"Of a weekly report: 0 is Sunday, the default."`
	Day       int    `json:"day,omitempty" minimum:"1" maximum:"28" default:"1" doc:"Of a monthly report: the day of the month."`
	StartTime string `json:"start_time" maxLength:"8" doc:"The time of day, HH:MM, in time_zone."`
	TimeZone  string `json:"time_zone,omitempty" maxLength:"100" doc:"A zone of the IANA database; default UTC."`
	KeepDays  int    `json:"keep_days,omitempty" minimum:"1" maximum:"400" default:"90" doc:"For how many days each report is kept."`

	ConfigIDs []string `json:"alert_config_ids,omitempty" maxItems:"20" doc:"Alerting configurations whose channels are told that a report is ready; channels that name their events need report among them."`

	ScanExportRequest
	ScanIDs []string     `json:"scan_ids,omitempty" maxItems:"1000" doc:"Of these scans; default: of all."`
	Found   string       `json:"time,omitempty" enum:"last_day,last_week,last_month,last_3_months,last_6_months,last_12_months,all_time" doc:"First found in this time before the report."`
	Report  report.Style `json:"report,omitzero" doc:"How a report (pdf, docx, html) looks; what is left out is that of your team (PUT /v1/team/report)."`
}

func (r ReportScheduleRequest) spec() (out reportschedule.Spec, err error) {
	f, err := r.filter()
	f.ScanIDs = r.ScanIDs
	return reportschedule.Spec{
		Format: export.Format(r.Format), Filter: f, Found: r.Found, Style: r.Report, ConfigIDs: r.ConfigIDs,
		KeepDays: r.KeepDays,
		Rule: reportschedule.Rule{Frequency: schedule.Frequency(r.Frequency), Weekday: r.Weekday, Day: r.Day,
			StartTime: r.StartTime, TimeZone: r.TimeZone},
	}, err
}

func (r ReportScheduleRequest) active() bool { return r.Active == nil || *r.Active }

// ReportSchedule makes reports again and again.
type ReportSchedule struct {
	ReportScheduleRequest
	ID        string     `json:"id"`
	Owner     string     `json:"owner" doc:"Who set it last: reports are made with their rights. Empty: the account is gone."`
	Runs      int64      `json:"runs" doc:"How often it came due, or was run."`
	LastRun   *time.Time `json:"last_run,omitempty" doc:"When it came due last, or was run; absent: never."`
	ExportID  string     `json:"last_export_id,omitempty" doc:"The last report, for /v1/export; absent when the last time made none, which last_error explains."`
	State     string     `json:"last_export_status,omitempty" enum:"queued,running,finished,failed" doc:"Its state; absent when it was deleted, or has expired."`
	Error     string     `json:"last_error,omitempty" doc:"Why the last time made no report."`
	NextRun   *time.Time `json:"next_run,omitempty" doc:"Absent when it is off."`
	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt time.Time  `json:"updated_at"`
}

func reportScheduleOf(s reportschedule.Schedule) ReportSchedule {
	f := s.Filter
	return ReportSchedule{
		ReportScheduleRequest: ReportScheduleRequest{
			Name: s.Name, Active: &s.Active, Format: string(s.Format), Frequency: string(s.Rule.Frequency),
			Weekday: s.Rule.Weekday, Day: s.Rule.Day, StartTime: s.Rule.StartTime, TimeZone: s.Rule.TimeZone,
			KeepDays: s.KeepDays, ConfigIDs: s.ConfigIDs, ScanIDs: f.ScanIDs, Found: s.Found, Report: s.Style,
			ScanExportRequest: ScanExportRequest{
				IDs: f.IDs, Status: strings.Join(listing.Words(f.Statuses), ","), Severity: f.Severities, Host: f.Hosts,
				Domain: f.Domains, Port: f.Ports, Template: f.Templates, Search: f.Search, Category: f.Categories,
				Internal: f.Internal,
			},
		},
		ID: s.ID, Owner: s.Owner, Runs: s.Runs, LastRun: rest.OrNull(s.LastRun), ExportID: s.ExportID,
		State: string(s.State), Error: s.Note, NextRun: rest.OrNull(s.NextRun), CreatedAt: s.CreatedAt,
		UpdatedAt: s.UpdatedAt,
	}
}

// ReportScheduleList is the schedules of a team.
type ReportScheduleList struct {
	Data []ReportSchedule `json:"data" doc:"The schedules, the oldest first."`
}

func (s area) schedules() {
	const path, one = "/v1/export/schedule", "/v1/export/schedule/{report_schedule_id}"
	rest.Handle(s.API, wire.Op("list-report-schedules", "GET "+path, exportTag,
		"Schedules of reports: files of findings that are made weekly or monthly"),
		func(ctx context.Context, _ *struct{}) (*ReportScheduleList, error) {
			found, err := s.Reports.FindAll(ctx)
			return &ReportScheduleList{rest.Each(found, reportScheduleOf)}, err
		})
	rest.Handle(s.API, wire.Op("create-report-schedule", "POST "+path, exportTag, "Make a report again and again", 409),
		func(ctx context.Context, in *struct{ Body ReportScheduleRequest }) (*ReportSchedule, error) {
			spec, err := in.Body.spec()
			if err != nil {
				return nil, err
			}
			made, err := s.Reports.Create(ctx, in.Body.Name, in.Body.active(), spec)
			return new(reportScheduleOf(made)), err
		})
	rest.Handle(s.API, wire.Op("get-report-schedule", "GET "+one, exportTag, "One schedule of reports", 404),
		func(ctx context.Context, in *ReportSchedulePath) (*ReportSchedule, error) {
			found, err := s.Reports.Find(ctx, in.ID)
			return new(reportScheduleOf(found)), err
		})
	set := wire.Op("set-report-schedule", "PUT "+one, exportTag, "Set a schedule of reports anew", 404)
	set.Description = "What is left out has its default again. Reports are made with your rights from then on."
	rest.Handle(s.API, set, func(ctx context.Context, in *struct {
		ReportSchedulePath
		Body ReportScheduleRequest
	}) (*ReportSchedule, error) {
		spec, err := in.Body.spec()
		if err != nil {
			return nil, err
		}
		changed, err := s.Reports.Replace(ctx, in.ID, in.Body.Name, in.Body.active(), spec)
		return new(reportScheduleOf(changed)), err
	})
	wire.Act(s.API, wire.Op("delete-report-schedule", "DELETE "+one, exportTag,
		"Delete a schedule of reports; its reports stay until they expire", 404), "The schedule is deleted.",
		func(ctx context.Context, in *ReportSchedulePath) error { return s.Reports.Delete(ctx, in.ID) })
	run := wire.Op("run-report-schedule", "POST "+one+"/run", exportTag, "Make a report of a schedule now", 404, 409)
	run.Description = "Its next time stays as it is. 409: none is made; the message says why."
	rest.Handle(s.API, run, func(ctx context.Context, in *ReportSchedulePath) (*ExportStarted, error) {
		e, err := s.Reports.RunNow(ctx, in.ID)
		return &ExportStarted{e.ID}, err
	})
}
