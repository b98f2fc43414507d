package policy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Suggestion is a policy that a team could make of a pattern in its inventory.
type Suggestion struct {
	ID         string // of the pattern: stays the same
	Category   string
	Title      string // also the policy's name
	Reason     string
	Severity   string // high, medium, low or info
	Type       Type
	Filters    asset.Filters
	Labels     []string
	Affected   int
	Percentage float64 // of the assets that were examined
	Sample     []asset.Asset
}

// pattern is a property that assets can have in common.
type pattern struct {
	category, title, reason, severity string
	kind                              Type
	label                             string
	filters                           asset.Filters
}

// patterns are the same for every team.
var patterns = [...]pattern{
	{"error_status", "Answers that are errors of the server", "answer with a status of 500 or more", "low",
		SetLabel, "server error", asset.Filters{CustomFilter: "status_code >= 500"}},
	{"empty_content", "Empty answers", "answer with nothing", "info",
		SetLabel, "empty", asset.Filters{CustomFilter: "status_code >= 200 && content_length = 0"}},
	{"tls_problem", "Certificates that cannot be trusted",
		"have a certificate that is expired, revoked, self-signed or of another name",
		"medium", Alert, "tls problem",
		asset.Filters{CustomFilter: "tls = expired || tls = revoked || tls = self_signed || tls = mismatched"}},
	{"sensitive_port", "Services that should not be public",
		"have a port open that databases and remote desktops listen at", "high",
		Alert, "sensitive port",
		asset.Filters{Port: "21,23,445,1433,1521,2375,3306,3389,5432,5900,5984,6379,9200,11211,27017"}},
	{"sensitive_technology", "Tools that are worth watching", "run a tool that is often a way in", "medium",
		SetLabel, "sensitive technology",
		asset.Filters{Technologies: "jenkins,gitlab,grafana,kibana,phpmyadmin,elasticsearch,apache tomcat,kubernetes,docker"}},
	{"admin_panel", "Administration panels", "look like panels of administrators", "medium",
		SetLabel, "admin panel", asset.Filters{Title: "admin,dashboard,control panel"}},
	{"login_page", "Login pages", "ask for a password", "info", SetLabel, "login page",
		asset.Filters{Title: "login,log in,sign in"}},
	{"non_production", "Names of development and staging", "have the name of a development or staging system", "low",
		SetLabel, "staging", asset.Filters{CustomFilter: `host = "dev.*" || host = "*-dev.*" || host = "*.dev.*" || ` +
			`host = "stag*" || host = "*.stag*" || host = "*-stag*" || host = "test.*" || host = "*.test.*" || host = "uat*"`}},
}

const (
	maxSample   = 3 // assets that a suggestion shows
	maxRepeated = 5 // values of one column that are suggested
)

// Suggest looks for patterns that at least threshold percent of the assets have, of the caller's
// team or of one of its enumerations or groups. It returns the most severe first, and their total.
func (ps *Policies) Suggest(
	ctx context.Context, enumerationID string, threshold float64, limit int,
) (found []Suggestion, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	if threshold < 0 || threshold > 100 {
		return nil, 0, errs.Field("threshold", "threshold must be a percentage between 0 and 100.")
	}
	base := asset.Filter{}
	if enumerationID != "" {
		narrow, err := ps.assets.NarrowTo(ctx, enumerationID)
		if err != nil {
			return nil, 0, err
		}
		base = narrow(base)
	}
	size, _, err := ps.assets.Sample(ctx, c.TeamID, base, 1)
	if err != nil {
		return nil, 0, err
	}
	repeated, err := ps.repeated(ctx, c.TeamID, base)
	if err != nil {
		return nil, 0, err
	}
	for _, p := range append(repeated, patterns[:]...) {
		f, err := p.filters.Parse(ps.now())
		if err != nil { // the title is too long for a condition
			continue
		}
		f.And = append(f.And, base)
		n, sample, err := ps.assets.Sample(ctx, c.TeamID, f, maxSample)
		if err != nil {
			return nil, 0, err
		}
		if n == 0 || float64(n)*100 < threshold*float64(size) {
			continue
		}
		if enumerationID != "" {
			p.filters.EnumerationIDs = []string{enumerationID}
		}
		doc, err := json.Marshal(p.filters)
		if err != nil {
			return nil, 0, err
		}
		id := sha256.Sum256([]byte(p.category + "\n" + string(doc)))
		percent := float64(n) * 100 / float64(size)
		found = append(found, Suggestion{
			ID: hex.EncodeToString(id[:16]), Category: p.category, Title: p.title, Severity: p.severity,
			Reason: fmt.Sprintf("%d assets (%.1f %%) %s.", n, percent, p.reason),
			Type:   p.kind, Filters: p.filters, Labels: []string{p.label}, Affected: n, Percentage: percent, Sample: sample,
		})
	}
	worst := []string{"high", "medium", "low", "info"}
	slices.SortStableFunc(found, func(a, b Suggestion) int {
		return cmp.Or(slices.Index(worst, a.Severity)-slices.Index(worst, b.Severity), b.Affected-a.Affected)
	})
	return found[:min(limit, len(found))], len(found), nil
}

// repeated are patterns of the titles and addresses that several of some assets share.
func (ps *Policies) repeated(ctx context.Context, teamID string, base asset.Filter) (out []pattern, err error) {
	titles, err := ps.common(ctx, teamID, base, "title")
	if err != nil {
		return nil, err
	}
	for _, v := range titles {
		out = append(out, pattern{"repeated_title", "The title " + v, "have the same title", "info", SetLabel,
			"repeated title",
			asset.Filters{CustomFilter: "title = " + strconv.Quote(v)}})
	}
	ips, err := ps.common(ctx, teamID, base, "ip")
	for _, v := range ips {
		out = append(out, pattern{"ip_concentration", "Many assets at " + strings.ReplaceAll(v, "\n", ", "),
			"are at the same address",
			"info", SetLabel, "shared address", asset.Filters{IP: strings.Split(v, "\n")[0]}})
	}
	return out, err
}

// common is the most common values of a column of the asset table that several matching assets share.
func (ps *Policies) common(ctx context.Context, teamID string, f asset.Filter, column string) ([]string, error) {
	counts := map[string]int{}
	add := func(where *db.Where, rest string) error {
		where.And("a.team_id = ?", teamID)
		where.And(column + " <> ''")
		return db.Each(ctx, ps.db, func(r db.Row) error {
			var value string
			var n int
			err := r.Scan(&value, &n)
			counts[value] += n
			return err
		}, `SELECT `+column+`, count(*) FROM asset a`+where.String()+` GROUP BY `+column+rest, where.Args...)
	}
	var where db.Where
	var err error
	if len(f.And) == 0 { // all assets or those of an enumeration: the database finds the most common
		if f.Enumerations != nil {
			db.In(&where, "a.enumeration_id", f.Enumerations)
		}
		where.And("EXISTS (SELECT 1 FROM asset_enumeration e WHERE e.id = a.enumeration_id)")
		err = add(&where, fmt.Sprintf(` HAVING count(*) > 1 ORDER BY 2 DESC, 1 LIMIT %d`, maxRepeated))
	} else {
		var numbers []int64
		numbers, err = ps.assets.Numbers(ctx, teamID, f)
		for part := range slices.Chunk(numbers, batchSize) {
			where = db.Where{}
			db.In(&where, "a.no", part)
			if err == nil {
				err = add(&where, "")
			}
		}
	}
	maps.DeleteFunc(counts, func(_ string, n int) bool { return n < 2 })
	values := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	return values[:min(maxRepeated, len(values))], err
}
