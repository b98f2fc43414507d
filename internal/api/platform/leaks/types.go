package leaks

import (
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/core/leak"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// LeakFilter selects leaks, in a query.
type LeakFilter struct {
	Type       string `query:"type" enum:"all,personal,employee,customer,external_vendor_leaks,organization_leaks" default:"all" doc:"Whose they are: of your own address; logins of the domains that your team has proved to own, at other domains or at their own; logins of others to sites of these domains."`
	Domain     string `query:"domain" maxLength:"255" doc:"Only of this domain, which your team has proved to own, and of what is below it."`
	Email      string `query:"email" maxLength:"320" doc:"Only of this address: your own, or one of a domain that your team has proved to own."`
	Search     string `query:"search" maxLength:"200" doc:"A part of the URL, the login, or the names and the address of the device."`
	Limit      int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Leaks on a page."`
	PageNumber int    `query:"page_number" minimum:"1" maximum:"100000" default:"1" doc:"The page, from 1."`
	StartDate  string `query:"start_date" format:"date" doc:"Taken on this day or later."`
	TimeRange  string `query:"time_range" enum:"current_month,last_month,last_3_months,last_6_months,last_12_months,all_time" default:"all_time" doc:"Taken in this time. Those without a date are in all_time alone."`
	EndDate    string `query:"end_date" format:"date" doc:"Taken on this day or before."`
	SortBy     string `query:"sort_by" enum:"url,username,log_date,country,device_ip,host_username,hostname,os,hardware_id,malware_path" doc:"The order; without it, the latest first."`
	SortOrder  string `query:"sort_order" enum:"asc,desc" default:"asc" doc:"The direction of sort_by."`
	Status     string `query:"status" enum:"fixed,open" doc:"Only those in this state."`
	GroupBy    string `query:"group_by" enum:"url,country,device_ip,hostname,email,hardware_id" doc:"Also count what was found by this field, in group_summary."`
	URL        string `query:"url" maxLength:"500" doc:"A part of the URL."`
	Country    string `query:"country" maxLength:"100" doc:"The country, as the list writes it."`
	DeviceIP   string `query:"device_ip" maxLength:"100" doc:"The address of the device."`
	Hostname   string `query:"hostname" maxLength:"255" doc:"The name of the device."`
	HardwareID string `query:"hardware_id" maxLength:"255" doc:"The hardware id of the device."`
}

// LeakExportRequest selects leaks, in a body.
type LeakExportRequest struct {
	Type       string `json:"type,omitempty" enum:"all,personal,employee,customer,external_vendor_leaks,organization_leaks" default:"all" doc:"Whose they are: of your own address; logins of the domains that your team has proved to own, at other domains or at their own; logins of others to sites of these domains."`
	Domain     string `json:"domain,omitempty" maxLength:"255" doc:"Only of this domain, which your team has proved to own, and of what is below it."`
	Email      string `json:"email,omitempty" maxLength:"320" doc:"Only of this address: your own, or one of a domain that your team has proved to own."`
	Search     string `json:"search,omitempty" maxLength:"200" doc:"A part of the URL, the login, or the names and the address of the device."`
	Limit      int    `json:"limit,omitempty" minimum:"1" maximum:"100000" doc:"Leaks in the file; without it, all, at most 100,000."`
	PageNumber int    `json:"page_number,omitempty" minimum:"1" maximum:"100000" doc:"The page, from 1; with limit."`
	StartDate  string `json:"start_date,omitempty" format:"date" doc:"Taken on this day or later."`
	TimeRange  string `json:"time_range,omitempty" enum:"current_month,last_month,last_3_months,last_6_months,last_12_months,all_time" default:"all_time" doc:"Taken in this time. Those without a date are in all_time alone."`
	EndDate    string `json:"end_date,omitempty" format:"date" doc:"Taken on this day or before."`
	SortBy     string `json:"sort_by,omitempty" enum:"url,username,log_date,country,device_ip,host_username,hostname,os,hardware_id,malware_path" doc:"The order; without it, the latest first."`
	SortOrder  string `json:"sort_order,omitempty" enum:"asc,desc" default:"asc" doc:"The direction of sort_by."`
	Status     string `json:"status,omitempty" enum:"fixed,open" doc:"Only those in this state."`
	GroupBy    string `json:"group_by,omitempty" enum:"url,country,device_ip,hostname,email,hardware_id" doc:"Also count what was found by this field, in group_summary."`
	URL        string `json:"url,omitempty" maxLength:"500" doc:"A part of the URL."`
	Country    string `json:"country,omitempty" maxLength:"100" doc:"The country, as the list writes it."`
	DeviceIP   string `json:"device_ip,omitempty" maxLength:"100" doc:"The address of the device."`
	Hostname   string `json:"hostname,omitempty" maxLength:"255" doc:"The name of the device."`
	HardwareID string `json:"hardware_id,omitempty" maxLength:"255" doc:"The hardware id of the device."`
}

// query is the filter as the service knows it.
func (f LeakFilter) query(now time.Time) (q leak.Query, err error) {
	q = leak.Query{
		Type: leak.Type(f.Type), Domain: f.Domain, Email: f.Email, Search: f.Search, URL: f.URL, Country: f.Country,
		DeviceIP: f.DeviceIP, Hostname: f.Hostname, HardwareID: f.HardwareID, Status: leak.Status(f.Status), SortBy: f.SortBy,
		Descending: f.SortOrder == "desc", GroupBy: f.GroupBy,
		Window: page.Window{Offset: max(f.PageNumber-1, 0) * f.Limit, Limit: f.Limit},
	}
	q.Since, q.Until, err = wire.HistoryRange{StartDate: f.StartDate, EndDate: f.EndDate, Range: f.TimeRange}.Times(now)
	return q, err
}

// LeakItem is a leaked credential (reference, LeaksEntity).
type LeakItem struct {
	ID           string `json:"id" doc:"32 hexadecimal digits."`
	URL          string `json:"url" doc:"Where the login was used; empty in lists of logins alone."`
	Username     string `json:"username" doc:"The login."`
	Password     string `json:"password" doc:"The password."`
	DeviceIP     string `json:"device_ip" doc:"The address of the device that it was taken from."`
	HostUsername string `json:"host_username" doc:"The user of the device."`
	Hostname     string `json:"hostname" doc:"The name of the device."`
	OS           string `json:"os" doc:"Its operating system."`
	MalwarePath  string `json:"malware_path" doc:"Where what took it was."`
	Country      string `json:"country" doc:"The country, as the list writes it."`
	LogDate      string `json:"log_date" doc:"When it was taken; empty: the list does not say."`
	HardwareID   string `json:"hardware_id" doc:"The hardware id of the device."`
	Domain       string `json:"domain" doc:"The domain of your team that it is about."`
	EmailDomain  string `json:"email_domain" doc:"The domain of the login, if that is an address."`
	URLDomain    string `json:"url_domain" doc:"The host of the URL."`
	FetchedAt    string `json:"fetched_at" doc:"When the list was loaded."`
	Status       string `json:"status" enum:"open,fixed"`
	UserType     string `json:"user_type" enum:"personal,employee,customer" doc:"Whose it is."`
}

func itemOf(l leak.Leak) LeakItem {
	out := LeakItem{
		ID: l.ID, URL: l.URL, Username: l.Username, Password: l.Password, DeviceIP: l.DeviceIP, HostUsername: l.HostUsername,
		Hostname: l.Hostname, OS: l.OS, MalwarePath: l.MalwarePath, Country: l.Country, LogDate: timeOf(l.LogDate),
		HardwareID: l.HardwareID, Domain: l.Domain, EmailDomain: l.EmailDomain(), URLDomain: l.URLDomain(),
		FetchedAt: timeOf(l.FetchedAt), Status: string(l.Status), UserType: string(l.Type),
	}
	return out
}

func timeOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// LeakSummary counts what was found by type.
type LeakSummary struct {
	Total        int `json:"total_leaks" doc:"All."`
	Personal     int `json:"personal_leaks" doc:"Of your own address."`
	Employee     int `json:"employee_leaks" doc:"Logins with an address of your domains."`
	Customer     int `json:"customer_leaks" doc:"Logins of others to sites of your domains."`
	Vendor       int `json:"external_vendor_leaks" doc:"Of the employees' leaks, those at other domains."`
	Organization int `json:"organization_leaks" doc:"Of the employees' leaks, those at their own domain."`
}

// LeakGroup counts the leaks with a value of group_by.
type LeakGroup struct {
	Value string `json:"value" doc:"The value of the field."`
	Count int    `json:"count"`
}

// LeakList is a page of leaks.
type LeakList struct {
	Data    []LeakItem  `json:"data"`
	Total   int         `json:"total_leaks" doc:"On all pages."`
	Pages   int         `json:"total_pages"`
	Count   int         `json:"total_count" doc:"On all pages."`
	Summary LeakSummary `json:"summary" doc:"What was found, by type, on all pages."`
	Groups  []LeakGroup `json:"group_summary" doc:"With group_by: the largest groups first, at most 1,000."`
}

func listOf(found leak.Found, w page.Window) LeakList {
	out := LeakList{
		Data: make([]LeakItem, 0, len(found.Leaks)), Total: found.Total, Count: found.Total, Pages: w.Pages(found.Total),
		Summary: LeakSummary{found.Total, found.Summary[leak.Personal], found.Summary[leak.Employee],
			found.Summary[leak.Customer], found.Summary[leak.Vendor], found.Summary[leak.Organization]},
		Groups: make([]LeakGroup, 0, len(found.Groups)),
	}
	for _, l := range found.Leaks {
		out.Data = append(out.Data, itemOf(l))
	}
	for _, g := range found.Groups {
		out.Groups = append(out.Groups, LeakGroup(g))
	}
	return out
}

// LeakStatusRequest says what was done about leaks.
type LeakStatusRequest struct {
	ID     string   `json:"leakid,omitempty" maxLength:"64" doc:"The leak; or leakids."`
	IDs    []string `json:"leakids,omitempty" maxItems:"1000" doc:"Several leaks: all are changed, or none."`
	Status string   `json:"status" enum:"open,fixed" doc:"fixed: it is of no use any more, such as after another password."`
}

// LeakStatus is the answer to a change.
type LeakStatus struct {
	Status  string `json:"status" doc:"success."`
	Message string `json:"message"`
	ID      string `json:"leak_id,omitempty" doc:"With leakid."`
	New     string `json:"new_status" doc:"What the leaks are now."`
	Updated int    `json:"updated_count" doc:"How many leaks have the status now."`
}

// LeakInfoRequest names a leak.
type LeakInfoRequest struct {
	ID string `json:"leakid" pattern:"^[a-fA-F0-9]{32}$" maxLength:"32" doc:"The leak."`
}

// LeakInfo is one leak.
type LeakInfo struct {
	Success bool     `json:"success" doc:"true."`
	Data    LeakItem `json:"data"`
}
