// Package leaks has the operations of the platform API about leaked credentials: what the breach lists that an operator
// loaded have of a team's domains and of the caller's own address.
package leaks

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/leak"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const tag = "Leaks"

type area struct {
	*rest.API
	leaks *leak.Leaks
}

// Register adds the operations to the API.
func Register(api *rest.API, service *leak.Leaks) {
	s := area{api, service}
	const path = "/v1/leaks"
	list := wire.Op("list-leaks", "GET "+path, tag, "Leaked credentials of your address and of your team's domains", 403)
	list.Description = "What the breach lists have that an operator of this server loaded; nobody else is asked. Everybody sees what " +
		"is about their own address; admins of a team also what is about the domains that it has proved to own."
	rest.Handle(api, list, s.list)
	ofDomain := wire.Op("get-leak-stats-of-domain", "GET "+path+"/stats/domain", tag,
		"Counts of the leaks of a domain", 403)
	rest.Handle(api, ofDomain,
		func(ctx context.Context, in *struct {
			Domain string `query:"domain" required:"true" minLength:"1" maxLength:"255" doc:"A domain that your team has proved to own, or a name in it."`
			UnmaskQuery
		}) (*LeakStats, error) {
			return s.stats(ctx, in.Domain, "", in.UnmaskEmail)
		})
	ofEmail := wire.Op("get-leak-stats-of-email", "GET "+path+"/stats/email", tag,
		"Counts of the leaks of an address", 403)
	rest.Handle(api, ofEmail,
		func(ctx context.Context, in *struct {
			Email string `query:"email" required:"true" minLength:"1" maxLength:"320" doc:"Your own address, or one of a domain that your team has proved to own."`
			UnmaskQuery
		}) (*LeakStats, error) {
			return s.stats(ctx, "", in.Email, in.UnmaskEmail)
		})
	file := wire.Op("export-leaks", "POST "+path+"/export", tag, "Leaked credentials as a file", 403)
	file.Responses = map[string]*huma.Response{"200": {Description: "The file.", Content: map[string]*huma.MediaType{
		"application/json": {Schema: &huma.Schema{Type: huma.TypeString}}, "text/csv": {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	rest.Register(api, file, s.export)
	rest.Handle(api, wire.Op("set-leak-status", "POST "+path+"/status", tag,
		"Say that leaks are fixed, or open again", 403, 404), s.setStatus)
	rest.Handle(api, wire.Op("get-leak", "POST "+path+"/info", tag, "One leaked credential", 404),
		func(ctx context.Context, in *struct{ Body LeakInfoRequest }) (*LeakInfo, error) {
			l, err := s.leaks.Find(ctx, in.Body.ID)
			return &LeakInfo{err == nil, itemOf(l)}, err
		})
}

// UnmaskQuery says how samples are shown.
type UnmaskQuery struct {
	UnmaskEmail bool `query:"unmask_email" doc:"Show the addresses of samples whole."`
}

const cutWarning = "There are more than 100,000 leaks; these are the latest. Name a domain, or an address."

func (s area) list(ctx context.Context, in *LeakFilter) (*LeakList, error) {
	q, err := in.query(time.Now())
	if err != nil {
		return nil, err
	}
	found, err := s.leaks.FindAll(ctx, q)
	if found.Cut {
		rest.Warnf(ctx, cutWarning)
	}
	return new(listOf(found, q.Window)), err
}

func (s area) export(ctx context.Context, in *struct {
	Format string `query:"format" enum:"json,csv" default:"json" doc:"The kind of file."`
	Body   LeakExportRequest
}) (*huma.StreamResponse, error) {
	f := LeakFilter(in.Body)
	if f.PageNumber > 0 && f.Limit == 0 {
		return nil, errs.Field("page_number", "page_number needs a limit.")
	}
	if f.Limit == 0 {
		f.Limit = 100_000
	}
	q, err := f.query(time.Now())
	if err != nil {
		return nil, err
	}
	found, err := s.leaks.FindAll(ctx, q)
	if err != nil {
		return nil, err
	}
	if found.Cut {
		rest.Warnf(ctx, cutWarning)
	}
	out := listOf(found, q.Window)
	if in.Format == "csv" {
		return s.File(ctx, "text/csv; charset=utf-8", "leaks.csv", func(w io.Writer) error { return writeCSV(w, out.Data) }), nil
	}
	return s.File(ctx, "application/json", "leaks.json", func(w io.Writer) error {
		return json.NewEncoder(w).Encode(rest.Warned(ctx, out))
	}), nil
}

// writeCSV writes leaks as records of RFC 4180. Cells are made safe for spreadsheets.
func writeCSV(w io.Writer, items []LeakItem) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	row := []string{"id", "url", "username", "password", "device_ip", "host_username", "hostname", "os", "malware_path",
		"country", "log_date", "hardware_id", "domain", "email_domain", "url_domain", "fetched_at", "status", "user_type"}
	_ = out.Write(row) // Flush keeps the error
	for _, l := range items {
		row = []string{l.ID, l.URL, l.Username, l.Password, l.DeviceIP, l.HostUsername, l.Hostname, l.OS, l.MalwarePath,
			l.Country, l.LogDate, l.HardwareID, l.Domain, l.EmailDomain, l.URLDomain, l.FetchedAt, l.Status, l.UserType}
		for i := range row {
			row[i] = export.Cell(row[i])
		}
		_ = out.Write(row)
	}
	out.Flush()
	return out.Error()
}

func (s area) setStatus(ctx context.Context, in *struct{ Body LeakStatusRequest }) (*LeakStatus, error) {
	all, one := in.Body.IDs, in.Body.ID
	if one != "" && len(all) > 0 {
		return nil, errs.Field("leakid", "Give leakid, or leakids.")
	}
	if one != "" {
		all = []string{one}
	}
	err := s.leaks.SetStatus(ctx, all, leak.Status(in.Body.Status))
	if one == "" && errs.Is(err, errs.NotFound) { // as the public service answers
		err = errs.New(errs.Forbidden, "leak_not_yours", "One of the leaks is not there, or not yours. Nothing was changed.").At("leakids")
	}
	return &LeakStatus{"success", "The status is set.", one, in.Body.Status, len(all)}, err
}
