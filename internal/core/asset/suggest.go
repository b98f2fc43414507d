package asset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
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
	size, _, err := as.count(ctx, c.TeamID, base, 1)
	if err != nil {
		return nil, 0, err
	}
	repeated, err := as.repeated(ctx, c.TeamID, base)
	if err != nil {
		return nil, 0, err
	}
	var shown [][]int64
	for _, p := range append(repeated, patterns[:]...) {
		f, err := p.filters.Parse(as.now())
		if err != nil { // a title too long to be a condition
			continue
		}
		f.And = append(f.And, base)
		n, first, err := as.count(ctx, c.TeamID, f, samples)
		if err != nil {
			return nil, 0, err
		}
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
		shown = append(shown, first)
	}
	for i := range found {
		if found[i].Sample, err = as.load(ctx, c.TeamID, shown[i]); err != nil {
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
func (as *Assets) repeated(ctx context.Context, teamID string, base Filter) (out []pattern, err error) {
	for _, kind := range []struct {
		column  string
		pattern func(value string) pattern
	}{
		{"title", func(v string) pattern {
			return pattern{"repeated_title", "The title " + v, "have the same title", "info", SetLabelPolicy, "repeated title", Filters{CustomFilter: "title = " + strconv.Quote(v)}}
		}},
		{"ip", func(v string) pattern {
			return pattern{"ip_concentration", "Many assets at " + strings.ReplaceAll(v, "\n", ", "), "are at the same address", "info", SetLabelPolicy, "shared address", Filters{IP: strings.Split(v, "\n")[0]}}
		}},
	} {
		counts, err := as.valuesOf(ctx, teamID, base, kind.column)
		if err != nil {
			return nil, err
		}
		values := make([]string, 0, len(counts))
		for value, n := range counts {
			if n > 1 {
				values = append(values, value)
			}
		}
		slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b)) })
		for _, value := range values[:min(mostRepeated, len(values))] {
			out = append(out, kind.pattern(value))
		}
	}
	return out, nil
}

// valuesOf counts the values of a column that more than one asset has, of those that a filter picks.
func (as *Assets) valuesOf(ctx context.Context, teamID string, f Filter, column string) (map[string]int, error) {
	counts := map[string]int{}
	add := func(text string, args ...any) error {
		rows, err := as.db.Query(ctx, text, args...)
		_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
			var value string
			var n int
			err := r.Scan(&value, &n)
			counts[value] += n
			return struct{}{}, err
		})
		return err
	}
	text := `SELECT ` + column + `, count(*) FROM asset a WHERE a.team_id = ? AND ` + column + ` <> ''`
	most := fmt.Sprintf(` GROUP BY %s HAVING count(*) > 1 ORDER BY 2 DESC, 1 LIMIT %d`, column, mostRepeated)
	if len(f.And) == 0 { // of one enumeration, or all: the database counts
		args := []any{teamID}
		for _, id := range f.Enumerations {
			text, args = text+` AND a.enumeration_id = ?`, append(args, id)
		}
		return counts, add(text+enrolled+most, args...)
	}
	numbers, err := as.numbers(ctx, teamID, f)
	for part := range slices.Chunk(numbers, batch) {
		if err == nil {
			err = add(text+` AND a.no IN (`+marks(len(part))+`) GROUP BY `+column, append([]any{teamID}, anys(part)...)...)
		}
	}
	return counts, err
}
