package findings

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/due"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// SLAPolicy says when a team wants its findings to be fixed.
type SLAPolicy struct {
	CountFrom string         `json:"count_from,omitempty" enum:"first_seen,reopened" doc:"What days are counted from: when a finding was seen first (default), or when it came back last."`
	WarnDays  int            `json:"warn_days,omitempty" minimum:"0" maximum:"3650" doc:"So many days before a finding is overdue people are told; 0: they are not."`
	Days      map[string]int `json:"days,omitempty" doc:"By severity (critical, high, medium, low, info, unknown), after how many days a finding is overdue. 0, or left out: never."`
	Labels    []SLALabel     `json:"labels,omitempty" maxItems:"100" doc:"Other days for findings at assets with a label. Of several labels the shortest time counts."`
}

// SLALabel is the days of findings at assets with a label.
type SLALabel struct {
	Label string         `json:"label" minLength:"1" maxLength:"64" doc:"A label of assets, in any case."`
	Days  map[string]int `json:"days" doc:"As in the policy; severities that are left out have the days of all."`
}

func policyOf(p due.Policy) *SLAPolicy {
	out := &SLAPolicy{CountFrom: string(cmp.Or(p.From, due.FirstSeen)), WarnDays: p.Warn, Days: p.Days}
	for _, l := range p.Labels {
		out.Labels = append(out.Labels, SLALabel{l.Label, l.Days})
	}
	return out
}

func (s area) due() {
	rest.Handle(s.API, wire.Op("get-sla-policy", "GET /v1/team/sla", teamTag,
		"When your team wants its findings to be fixed"),
		func(ctx context.Context, _ *struct{}) (*SLAPolicy, error) {
			p, err := s.Upkeep.Policy(ctx)
			return policyOf(p), err
		})
	set := wire.Op("set-sla-policy", "PUT /v1/team/sla", teamTag, "Set when your team wants its findings to be fixed")
	set.Description = "All findings get their dates within moments. People are told when one is due soon, and when it is overdue, once each."
	rest.Handle(s.API, set, func(ctx context.Context, in *struct{ Body SLAPolicy }) (*SLAPolicy, error) {
		p := due.Policy{From: due.From(in.Body.CountFrom), Warn: in.Body.WarnDays, Days: in.Body.Days}
		for _, l := range in.Body.Labels {
			p.Labels = append(p.Labels, due.Label{Label: l.Label, Days: l.Days})
		}
		if err := s.Upkeep.SetPolicy(ctx, &p); err != nil {
			return nil, err
		}
		return policyOf(p), nil
	})
	rest.Handle(s.API, wire.Op("delete-sla-policy", "DELETE /v1/team/sla", teamTag,
		"Take the dates by which findings are to be fixed away"),
		func(ctx context.Context, _ *struct{}) (*wire.Message, error) {
			return wire.Messagef("Findings are not due any more."), s.Upkeep.SetPolicy(ctx, nil)
		})
}

// FollowsQuery has the parameters that select findings by what follows from policies and feeds.
type FollowsQuery struct {
	Due     string     `query:"due" doc:"How late findings are, comma-separated: due (in time), soon, overdue."`
	KEV     wire.Maybe `query:"is_kev" doc:"Whether it is known to be exploited, by the feed that the operator has loaded."`
	EPSSMin string     `query:"epss_min" doc:"Its probability of EPSS, by the feed that the operator has loaded, is at least this: 0.001 to 1, in thousandths."`
}

func (q FollowsQuery) add(f *finding.Filter) error {
	states, err := wire.Known("due", wire.Commas(q.Due), due.States)
	if err != nil {
		return err
	}
	f.Due, f.KEV = listing.Words(states), q.KEV.Ptr()
	if q.EPSSMin == "" {
		return nil
	}
	if f.MinEPSS, err = strconv.ParseFloat(q.EPSSMin, 64); err != nil || !(f.MinEPSS >= 0.001 && f.MinEPSS <= 1) {
		return errs.Field("epss_min", "epss_min must be a number from 0.001 to 1.")
	}
	return nil
}

// isSet names a parameter that selects by what follows; empty: none does.
func (q FollowsQuery) isSet() string {
	switch {
	case q.Due != "":
		return "due"
	case q.KEV.Ptr() != nil:
		return "is_kev"
	case q.EPSSMin != "":
		return "epss_min"
	}
	return ""
}

// follow sets what follows from policies and feeds.
func (v *Vulnerability) follow(f finding.Follows) {
	if f.DueAt != listing.NoDate {
		at := time.UnixMicro(f.DueAt).UTC()
		v.DueAt, v.DueState = &at, f.DueState
	}
	if v.IsKEV = f.IsKEV; f.EPSS >= 0 {
		score := float64(f.EPSS) / listing.PerOne
		v.EPSSScore = &score
	}
}

// CVEFeeds is what the feeds of the operator know of a CVE.
type CVEFeeds struct {
	CVE            string  `json:"cve" doc:"The CVE."`
	EPSSScore      float64 `json:"epss_score" doc:"How likely it is to be exploited in the next 30 days, 0 to 1; 0: unknown."`
	EPSSPercentile float64 `json:"epss_percentile" doc:"The part of all CVEs that is at most as likely."`
	KEVSince       string  `json:"kev_since,omitempty" doc:"Since this date it is in the catalogue of known exploited vulnerabilities; absent: it is not."`
	KEVDue         string  `json:"kev_due,omitempty" doc:"The date by which authorities have to mend it."`
	Ransomware     bool    `json:"ransomware,omitempty" doc:"It is known to be used by ransomware."`
}

// feeds is what feeds know of the CVEs of findings, by the order of those.
func (s area) feeds(ctx context.Context, found []finding.Finding) ([][]CVEFeeds, error) {
	out, ids := make([][]CVEFeeds, len(found)), make([][]string, len(found))
	var all []string
	for i, f := range found {
		if c := f.Event.Info.Classification; c != nil {
			ids[i] = slices.Clone(c.CVEID)
		}
		ids[i] = append(ids[i], f.TemplateID)
		for k, id := range ids[i] {
			ids[i][k] = strings.ToUpper(strings.TrimSpace(id))
		}
		ids[i] = slices.DeleteFunc(ids[i], func(id string) bool { return !strings.HasPrefix(id, "CVE-") })
		slices.Sort(ids[i])
		ids[i] = slices.Compact(ids[i])
		all = append(all, ids[i]...)
	}
	slices.Sort(all)
	known, err := s.Feeds.Of(ctx, slices.Compact(all))
	if err != nil {
		return out, err
	}
	for i := range found {
		for _, id := range ids[i] {
			if e, is := known[id]; is {
				out[i] = append(out[i], CVEFeeds{id, e.Score.Score, e.Percentile, e.Added, e.Due, e.IsRansomware})
			}
		}
	}
	return out, nil
}
