package finding

import (
	"context"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Selection is the findings that a filter picked at one moment, the newest first. It is
// made without the index: an export of everything need not bring everything to memory.
type Selection struct {
	fs     *Findings
	teamID string
	picked *roaring.Bitmap // their numbers: a million in a row takes some bytes
	brief  bool            // Encode leaves the exchange out
}

// Select picks findings of the caller's team as FindAll does.
func (fs *Findings) Select(ctx context.Context, f Filter) (*Selection, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	s := &Selection{fs: fs, teamID: c.TeamID, picked: roaring.New()}
	if len(f.IDs) == 0 {
		err = s.add(ctx, f, nil)
	}
	for part := range slices.Chunk(f.IDs, batch) {
		if err == nil {
			err = s.add(ctx, f, part)
		}
	}
	s.picked.RunOptimize()
	return s, err
}

// Len is how many findings there are, unless some are deleted meanwhile.
func (s *Selection) Len() int { return int(s.picked.GetCardinality()) }

// First is the first n findings of it.
func (s *Selection) First(n int) *Selection {
	first := &Selection{fs: s.fs, teamID: s.teamID, picked: s.picked.Clone(), brief: s.brief}
	if more := s.Len() - n; more > 0 {
		least, _ := s.picked.Select(uint32(more)) // there are more than that
		first.picked.RemoveRange(0, uint64(least))
	}
	return first
}

// Brief is the same findings, whose documents have no Request, Response and TemplateEncoded:
// half of what is stored of most, which who does not show it need not read.
func (s *Selection) Brief() *Selection {
	brief := *s
	brief.brief = true
	return &brief
}

// add picks among all findings, or among those with these ids. Columns that hold one word
// are compared by the database; what needs a look at words is compared here, by the rules
// of the index.
func (s *Selection) add(ctx context.Context, f Filter, ids []string) error {
	w := f.where(s.teamID)
	if ids != nil {
		db.In(&w, "id", ids)
	}
	columns, looks := "no", len(f.Domains)+len(f.Categories)+len(f.Tags)+len(f.Labels)+len(f.Search) > 0
	if looks {
		columns = "no, host, template_id, name, categories, tags, labels"
	}
	rows, err := s.fs.db.Query(ctx, `SELECT `+columns+` FROM finding`+w.String()+` ORDER BY no`, w.Args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	m := f.matcher()
	for rows.Next() {
		var no uint32
		if !looks {
			err = rows.Scan(&no)
		} else {
			var l labelled
			if err = rows.Scan(&no, &l.host, &l.template, &l.name, &l.categories, &l.tags, &l.labels); err == nil && !m.picks(l) {
				continue
			}
		}
		if err != nil {
			return err
		}
		s.picked.Add(no)
	}
	return rows.Err()
}

// where is the part of a filter that the database answers.
func (f Filter) where(teamID string) (w db.Where) {
	w.And("team_id = ?", teamID)
	for column, values := range map[string][]string{
		"severity": f.someSeverities(), "status": words(f.Statuses), "scan_id": f.ScanIDs, "host": lower(f.Hosts), "template_id": f.Templates,
	} {
		if len(values) > 0 {
			for i := range values {
				values[i] = db.Clean(values[i])
			}
			db.In(&w, column, values)
		}
	}
	if len(f.Ports) > 0 {
		db.In(&w, "port", f.Ports)
	}
	for column, want := range map[string]*bool{"is_internal": f.Internal, "is_regression": f.Regression, "is_ticket": f.Ticket} {
		if want != nil {
			w.And(column+" = ?", *want)
		}
	}
	if !f.Since.IsZero() {
		w.And("created_at >= ?", db.At(f.Since))
	}
	if !f.Until.IsZero() {
		w.And("created_at < ?", db.At(f.Until))
	}
	if f.Before > 0 {
		w.And("no < ?", f.Before)
	}
	return w
}

// someSeverities are those that a filter names; none where it names all, so that the
// database need not look at each finding for them.
func (f Filter) someSeverities() []string {
	named := lower(f.Severities)
	for _, severity := range Severities {
		if !slices.Contains(named, severity) {
			return named
		}
	}
	return nil
}

// labelled is what a matcher looks at.
type labelled struct{ host, template, name, categories, tags, labels string }

// matcher is the part of a filter that needs a look at words.
type matcher struct {
	domains                  []string
	categories, tags, labels []string
	search                   string
}

func (f Filter) matcher() matcher {
	m := matcher{categories: lower(f.Categories), tags: lower(f.Tags), labels: lower(f.Labels), search: strings.ToLower(f.Search)}
	for _, domain := range lower(f.Domains) {
		m.domains = append(m.domains, strings.Trim(domain, ".*"))
	}
	return m
}

func (m matcher) picks(l labelled) bool {
	if m.search != "" && !strings.Contains(l.host, m.search) && !strings.Contains(strings.ToLower(l.template), m.search) && !strings.Contains(strings.ToLower(l.name), m.search) {
		return false
	}
	return one(m.domains, []string{l.host}, below) && one(m.categories, split(l.categories), strings.EqualFold) &&
		one(m.tags, split(l.tags), strings.EqualFold) && one(m.labels, split(l.labels), strings.EqualFold)
}

// one reports whether one of the wanted words goes with one of those that are there.
func one(wanted, there []string, goes func(wanted, there string) bool) bool {
	return len(wanted) == 0 || slices.ContainsFunc(there, func(word string) bool {
		return slices.ContainsFunc(wanted, func(want string) bool { return goes(want, word) })
	})
}

// below reports whether a host is at or below a domain.
func below(domain, host string) bool {
	rest, ok := strings.CutSuffix(host, domain)
	return ok && domain != "" && (rest == "" || strings.HasSuffix(rest, "."))
}
