package asset

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Filters selects assets for lists, groups, policies and bulk changes (AssetFilters of the platform's
// API). All fields must match; an empty field matches everything. A field with several values,
// separated by commas, matches if one of them does.
type Filters struct {
	IsTech         *bool    `json:"is_tech,omitempty" doc:"Whether technologies are known."`
	IsFavicon      *bool    `json:"is_favicon,omitempty" doc:"Whether it has a favicon."`
	IsScreenshot   *bool    `json:"is_screenshot,omitempty" doc:"Whether it has a screenshot."`
	IsNew          *bool    `json:"is_new,omitempty" doc:"Whether the latest run saw it first."`
	IsInternal     *bool    `json:"is_internal,omitempty" doc:"Whether its address is internal."`
	OnlyDNS        *bool    `json:"only_dns,omitempty" doc:"true: only hosts that are names."`
	OnlyIP         *bool    `json:"only_ip,omitempty" doc:"true: only hosts that are addresses."`
	Search         string   `json:"search,omitempty" maxLength:"200" doc:"Part of the host, title, an address, technology or label."`
	Labels         string   `json:"labels,omitempty" doc:"Labels, comma-separated."`
	Host           string   `json:"host,omitempty" doc:"Hosts, comma-separated; * is a wildcard."`
	Port           string   `json:"port,omitempty" doc:"Ports, comma-separated."`
	StatusCode     string   `json:"status_code,omitempty" doc:"HTTP statuses, comma-separated."`
	ContentLength  string   `json:"content_length,omitempty" doc:"Body lengths in bytes, comma-separated."`
	Title          string   `json:"title,omitempty" doc:"Parts of titles, comma-separated."`
	Domain         []string `json:"domain,omitempty" maxItems:"1000" doc:"Domains, with their subdomains."`
	CNAME          string   `json:"cname,omitempty" doc:"Canonical names, comma-separated; * is a wildcard."`
	Technologies   string   `json:"technologies,omitempty" doc:"Technologies, comma-separated, with or without version."`
	IP             string   `json:"ip,omitempty" doc:"Addresses and CIDR networks, comma-separated."`
	Favicon        string   `json:"favicon,omitempty" doc:"Favicon hashes, comma-separated."`
	Time           string   `json:"time,omitempty" enum:"last_day,last_week,last_month,last_3_months,last_6_months,last_12_months,all_time" doc:"First seen in this time."`
	StartDate      string   `json:"start_date,omitempty" doc:"First seen on or after this day (2006-01-02) or time (RFC 3339)."`
	EndDate        string   `json:"end_date,omitempty" doc:"First seen on this day or earlier, or before this time."`
	CustomFilter   string   `json:"custom_filter,omitempty" maxLength:"2000" doc:"Condition, such as: status_code >= 400 && !(host ~ \"test\")."`
	NotSeenForDays int      `json:"not_seen_for_days,omitempty" minimum:"1" maximum:"36500" doc:"Not seen for this many days, although a run of its enumeration covered everything since."`
	EnumerationIDs []string `json:"enumeration_ids,omitempty" maxItems:"1000" doc:"Of these enumerations."`

	// A misspelt field must not select all assets.
	_ struct{} `additionalProperties:"false"`
}

// Filter is Filters, parsed.
type Filter struct {
	Enumerations                                              []string
	IDs                                                       []int64
	Tech, Favicon, Screenshot, New, Internal, OnlyDNS, OnlyIP *bool

	Search                                             string
	Labels, Hosts, Titles, Domains, CNAMEs, Techs, IPs []string
	Favicons                                           []string
	Ports, Statuses, Lengths                           []int64
	Since, Until                                       time.Time // created
	Unseen                                             time.Time // not seen since; zero: all
	Custom                                             *Condition
	// of Enumerations, seen first in this run of theirs; 0: any
	FirstRun int64
	Before   int64    // numbers below; 0: all
	And      []Filter // and what these pick
}

// maxWords bounds how many words one field may have.
const maxWords = 1000

// Parse parses filters; time ranges such as last_day count back from now. An error names the
// parameter.
func (q Filters) Parse(now time.Time) (f Filter, err error) {
	f = Filter{
		Enumerations: q.EnumerationIDs, Tech: q.IsTech, Favicon: q.IsFavicon, Screenshot: q.IsScreenshot, New: q.IsNew,
		Internal: q.IsInternal,
		OnlyDNS:  q.OnlyDNS, OnlyIP: q.OnlyIP, Search: strings.ToLower(strings.TrimSpace(q.Search)),
		Domains: domains(q.Domain),
	}
	for _, list := range []struct {
		param, text string
		to          *[]string
	}{
		{"labels", q.Labels, &f.Labels}, {"host", q.Host, &f.Hosts}, {"title", q.Title, &f.Titles},
		{"cname", q.CNAME, &f.CNAMEs},
		{"technologies", q.Technologies, &f.Techs}, {"ip", q.IP, &f.IPs}, {"favicon", q.Favicon, &f.Favicons},
	} {
		if *list.to, err = commas(list.param, list.text); err != nil {
			return f, err
		}
	}
	for _, list := range []struct {
		param, text string
		most        int64
		to          *[]int64
	}{{"port", q.Port, 65535, &f.Ports}, {"status_code", q.StatusCode, 999, &f.Statuses},
		{"content_length", q.ContentLength, 1 << 62, &f.Lengths}} {
		if *list.to, err = integers(list.param, list.text, list.most); err != nil {
			return f, err
		}
	}
	for _, text := range f.IPs {
		if _, err := network(text); err != nil {
			return f, errs.Field("ip", "ip must be addresses or networks, as 192.0.2.1 or 192.0.2.0/24, and %.40q is neither.",
				text)
		}
	}
	if len(f.Domains) > maxWords {
		return f, errs.Field("domain", "domain must name at most %d domains.", maxWords)
	}
	if len(q.Search) > 200 {
		return f, errs.Field("search", "search must have at most 200 bytes.")
	}
	if q.NotSeenForDays < 0 || q.NotSeenForDays > 36500 {
		return f, errs.Field("not_seen_for_days", "not_seen_for_days must be between 1 and 36500.")
	}
	if q.NotSeenForDays > 0 {
		f.Unseen = now.AddDate(0, 0, -q.NotSeenForDays)
	}
	if err := f.readTimes(q, now); err != nil {
		return f, err
	}
	f.Custom, err = ParseCondition(q.CustomFilter)
	return f, err
}

func (f *Filter) readTimes(q Filters, now time.Time) (err error) {
	if q.Time != "" && !slices.Contains(page.TimeRanges, q.Time) {
		return errs.Field("time", "time must be one of %s.", strings.Join(page.TimeRanges, ", "))
	}
	f.Since = page.Since(q.Time, now)
	start, err := page.Moment("start_date", q.StartDate, false)
	if err != nil {
		return err
	}
	if start.After(f.Since) {
		f.Since = start
	}
	if f.Until, err = page.Moment("end_date", q.EndDate, true); err != nil {
		return err
	}
	if !start.IsZero() && !f.Until.IsZero() && !start.Before(f.Until) {
		return errs.Field("end_date", "end_date must not be before start_date.")
	}
	return nil
}

// Check rejects filters that match every asset, or that are not valid.
func (q Filters) Check(param string, now time.Time) error {
	all := q
	if all.Time == "all_time" {
		all.Time = ""
	}
	if doc, err := json.Marshal(all); err != nil || string(doc) == "{}" {
		return errs.Field(param, "%s is required, and must say which assets are meant.", param)
	}
	_, err := q.Parse(now)
	return err
}

// commas splits a text at commas into words in lower case, without empty ones.
func commas(param, text string) (out []string, err error) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.ToLower(strings.TrimSpace(item)); item != "" {
			out = append(out, item)
		}
		if len(out) > maxWords {
			return nil, errs.Field(param, "%s must have at most %d values.", param, maxWords)
		}
	}
	return out, nil
}

func integers(param, text string, most int64) (out []int64, err error) {
	texts, err := commas(param, text)
	for _, item := range texts {
		n, err := strconv.ParseInt(item, 10, 64)
		if err != nil || n < 0 || n > most {
			return nil, errs.Field(param, "%s must be whole numbers between 0 and %d, separated by commas, and %.40q is not.",
				param, most, item)
		}
		out = append(out, n)
	}
	return out, err
}

func domains(names []string) (out []string) {
	for _, name := range names {
		if name = strings.Trim(strings.ToLower(strings.TrimSpace(name)), ".*"); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// network reads an address, or a network in CIDR notation.
func network(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		return p.Masked(), err
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	a = a.Unmap()
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// With combines filters: values of lists are added, other fields of up replace those of q.
func (q Filters) With(up Filters) Filters {
	for _, flag := range []struct{ old, up **bool }{
		{&q.IsTech, &up.IsTech}, {&q.IsFavicon, &up.IsFavicon}, {&q.IsScreenshot, &up.IsScreenshot}, {&q.IsNew, &up.IsNew},
		{&q.IsInternal, &up.IsInternal}, {&q.OnlyDNS, &up.OnlyDNS}, {&q.OnlyIP, &up.OnlyIP},
	} {
		if *flag.up != nil {
			*flag.old = *flag.up
		}
	}
	for _, list := range []struct{ old, up *string }{
		{&q.Labels, &up.Labels}, {&q.Host, &up.Host}, {&q.Port, &up.Port}, {&q.StatusCode, &up.StatusCode},
		{&q.ContentLength, &up.ContentLength}, {&q.Title, &up.Title},
		{&q.CNAME, &up.CNAME}, {&q.Technologies, &up.Technologies}, {&q.IP, &up.IP}, {&q.Favicon, &up.Favicon},
	} {
		if *list.old != "" && *list.up != "" {
			*list.old += ","
		}
		*list.old += *list.up
	}
	for _, text := range []struct{ old, up *string }{
		{&q.Search, &up.Search}, {&q.Time, &up.Time}, {&q.StartDate, &up.StartDate}, {&q.EndDate, &up.EndDate},
		{&q.CustomFilter, &up.CustomFilter},
	} {
		if *text.up != "" {
			*text.old = *text.up
		}
	}
	q.Domain, q.EnumerationIDs = Union(q.Domain, up.Domain), Union(q.EnumerationIDs, up.EnumerationIDs)
	if up.NotSeenForDays > 0 {
		q.NotSeenForDays = up.NotSeenForDays
	}
	return q
}

// Union is the values of both lists, each once.
func Union(a, b []string) []string {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
