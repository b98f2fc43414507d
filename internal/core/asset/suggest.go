package asset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Suggestion is a policy that could be made of a pattern in the inventory.
type Suggestion struct {
	ID         string // of the pattern: the same tomorrow
	Category   string
	Title      string
	Reason     string
	Severity   string // high, medium, low or info
	Name       string // of the policy
	Type       PolicyType
	Filters    Filters
	Labels     []string
	Affected   int
	Percentage float64 // of the assets that were looked at
	Sample     []Asset
}

// pattern is something that assets can have in common.
type pattern struct {
	category, title, reason, severity string
	kind                              PolicyType
	label                             string
	filters                           Filters
}

// patterns are those that do not depend on what is there.
var patterns = [...]pattern{
	{"error_status", "Answers that are errors of the server", "answer with a status of 500 or more", "low", SetLabelPolicy, "server error", Filters{CustomFilter: "status_code >= 500"}},
	{"empty_content", "Empty answers", "answer with nothing", "info", SetLabelPolicy, "empty", Filters{CustomFilter: "status_code >= 200 && content_length = 0"}},
	{"tls_problem", "Certificates that nobody should trust", "have a certificate that is expired, revoked, self-signed or of another name", "medium", AlertPolicy, "tls problem",
		Filters{CustomFilter: "tls = expired || tls = revoked || tls = self_signed || tls = mismatched"}},
	{"sensitive_port", "Services that should not be public", "have a port open that databases and remote desktops listen at", "high", AlertPolicy, "sensitive port",
		Filters{Port: "21,23,445,1433,1521,2375,3306,3389,5432,5900,5984,6379,9200,11211,27017"}},
	{"sensitive_technology", "Tools that are worth watching", "run a tool that is often a way in", "medium", SetLabelPolicy, "sensitive technology",
		Filters{Technologies: "jenkins,gitlab,grafana,kibana,phpmyadmin,elasticsearch,apache tomcat,kubernetes,docker"}},
	{"admin_panel", "Administration panels", "look like panels of administrators", "medium", SetLabelPolicy, "admin panel", Filters{Title: "admin,dashboard,control panel"}},
	{"login_page", "Login pages", "ask for a password", "info", SetLabelPolicy, "login page", Filters{Title: "login,log in,sign in"}},
	{"non_production", "Names of development and staging", "are named like what is not production", "low", SetLabelPolicy, "staging",
		Filters{CustomFilter: `host = "dev.*" || host = "*-dev.*" || host = "*.dev.*" || host = "stag*" || host = "*.stag*" || host = "*-stag*" || host = "test.*" || host = "*.test.*" || host = "uat*"`}},
}

// samples is how many assets a suggestion shows.
const samples = 3

// Suggest looks for patterns in what the caller's team has, or in one of its
// enumerations, that hold for at least threshold percent of the assets; the worst first,
// and how many there are.
func (as *Assets) Suggest(ctx context.Context, enumerationID string, threshold float64, limit int) (found []Suggestion, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	if threshold < 0 || threshold > 100 {
		return nil, 0, errs.Field("threshold", "threshold must be a percentage between 0 and 100.")
	}
	base := Filter{}
	if enumerationID != "" {
		narrow, err := as.Of(ctx, enumerationID)
		if err != nil {
			return nil, 0, err
		}
		base = narrow(base)
	}
	g, err := as.current(ctx, c.TeamID)
	if err != nil {
		return nil, 0, err
	}
	all := g.picked(base)
	size := all.count()
	var shown [][]uint32
	for _, p := range append(g.repeated(all), patterns[:]...) {
		f, err := p.filters.Parse(as.now())
		if err != nil { // a title too long to be a condition
			continue
		}
		s := g.pick(f)
		s.and(all)
		n := s.count()
		if n == 0 || float64(n)*100 < threshold*float64(size) {
			continue
		}
		percent := float64(n) * 100 / float64(size)
		if enumerationID != "" {
			p.filters.EnumerationIDs = []string{enumerationID}
		}
		found = append(found, Suggestion{
			ID: digest([]byte(p.category + "\n" + string(raw(p.filters)))), Category: p.category, Title: p.title, Reason: fmt.Sprintf("%d assets (%.1f %%) %s.", n, percent, p.reason), Severity: p.severity,
			Name: p.title, Type: p.kind, Filters: p.filters, Labels: []string{p.label}, Affected: n, Percentage: percent,
		})
		shown = append(shown, g.window(s, n, nil, page.Window{Limit: samples}))
	}
	g.RUnlock()
	for i := range found {
		if found[i].Sample, err = as.load(ctx, g, c.TeamID, shown[i]); err != nil {
			return nil, 0, err
		}
	}
	worst := []string{"high", "medium", "low", "info"}
	slices.SortStableFunc(found, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(slices.Index(worst, a.Severity), slices.Index(worst, b.Severity)), cmp.Compare(b.Affected, a.Affected))
	})
	return found[:min(limit, len(found))], len(found), nil
}

// mostRepeated is how many values of one kind are suggested.
const mostRepeated = 5

// repeated are the titles and addresses that many of some assets share.
func (x *index) repeated(all set) (out []pattern) {
	for _, kind := range []struct {
		of      *facet
		pattern func(value string) pattern
	}{
		{x.title, func(v string) pattern {
			return pattern{"repeated_title", "The title " + v, "have the same title", "info", SetLabelPolicy, "repeated title", Filters{CustomFilter: "title = " + strconv.Quote(v)}}
		}},
		{x.ip, func(v string) pattern {
			return pattern{"ip_concentration", "Many assets at " + strings.ReplaceAll(v, "\n", ", "), "are at the same address", "info", SetLabelPolicy, "shared address", Filters{IP: strings.Split(v, "\n")[0]}}
		}},
	} {
		counts := map[uint32]int{}
		all.each(func(no uint32) bool { counts[kind.of.of[no]]++; return true })
		ids := make([]uint32, 0, len(counts))
		for id, n := range counts {
			if n > 1 && kind.of.values[id] != "" {
				ids = append(ids, id)
			}
		}
		slices.SortFunc(ids, func(a, b uint32) int {
			return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(kind.of.values[a], kind.of.values[b]))
		})
		for _, id := range ids[:min(mostRepeated, len(ids))] {
			out = append(out, kind.pattern(kind.of.values[id]))
		}
	}
	return out
}
