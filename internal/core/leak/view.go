package leak

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Query selects leaks. Empty fields select all.
type Query struct {
	Type         Type
	Domain       string // one that the team has proved to own, or a name in it
	Email        string
	Search       string // in the URL, the login and the names of the device
	URL          string // part of the URL
	Country      string
	DeviceIP     string
	Hostname     string
	HardwareID   string
	Status       Status
	Since, Until time.Time // of the log; those without a date are in no range
	SortBy       string    // one of SortKeys; empty: the latest first
	Descending   bool
	GroupBy      string // one of GroupKeys; empty: no groups
	Window       page.Window
}

// Found is a page of leaks.
type Found struct {
	Leaks   []Leak
	Total   int
	Summary map[Type]int // of all that were found, by type
	Groups  []Group      // the largest first, at most 1,000
	Cut     bool         // there are more leaks than were read
}

// Group is how many leaks have a value.
type Group struct {
	Value string
	Count int
}

const (
	maxRead   = 100_000
	maxGroups = 1000
	hashesPer = 500 // in one statement
)

// fields are what leaks are sorted and grouped by.
var fields = map[string]func(*Leak) string{
	"url":           func(l *Leak) string { return l.URL },
	"username":      func(l *Leak) string { return l.Username },
	"country":       func(l *Leak) string { return l.Country },
	"device_ip":     func(l *Leak) string { return l.DeviceIP },
	"host_username": func(l *Leak) string { return l.HostUsername },
	"hostname":      func(l *Leak) string { return l.Hostname },
	"os":            func(l *Leak) string { return l.OS },
	"hardware_id":   func(l *Leak) string { return l.HardwareID },
	"malware_path":  func(l *Leak) string { return l.MalwarePath },
	"email":         func(l *Leak) string { return l.address() },
}

// FindAll are the leaks that the caller may see and that match. Forbidden (domain_not_verified, team_admin_required)
// for a domain or an address that is not theirs.
func (ls *Leaks) FindAll(ctx context.Context, q Query) (out Found, err error) {
	if err := q.clean(); err != nil {
		return out, err
	}
	v, err := ls.viewer(ctx, q)
	if err != nil {
		return out, err
	}
	out.Summary = map[Type]int{}
	var all []Leak
	out.Cut, err = ls.read(ctx, v, q.Email, func(l *Leak) {
		if !q.matches(l) {
			return
		}
		for _, t := range []Type{Personal, Employee, Customer, Vendor, Organization} {
			if l.is(t) {
				out.Summary[t]++
			}
		}
		all = append(all, *l)
	})
	if err != nil {
		return out, err
	}
	q.sort(all)
	out.Total, out.Groups, out.Leaks = len(all), groups(all, q.GroupBy), page.Cut(all, q.Window)
	return out, nil
}

// clean checks what is only checked here, and brings names into the form in which they are compared.
func (q *Query) clean() error {
	q.Type = cmp.Or(q.Type, All)
	q.Email = strings.ToLower(strings.TrimSpace(q.Email))
	if q.Email != "" && (Line{Username: q.Email}).address() != q.Email {
		return errs.Field("email", "email must be an email address.")
	}
	if q.Domain == "" {
		return nil
	}
	q.Domain = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(q.Domain)), ".")
	if _, ok := discover.RegisteredOf(q.Domain); !ok {
		return errs.Field("domain", "domain must be a domain name, such as example.com.")
	}
	return nil
}

// read hands each leak that a viewer may see to do, the latest first. cut: there are more than are read.
func (ls *Leaks) read(ctx context.Context, v viewer, email string, do func(*Leak)) (cut bool, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return false, err
	}
	key, err := ls.hashKey(ctx)
	if err != nil {
		return false, err
	}
	seen, left := map[string]bool{}, maxRead
	for part := range slices.Chunk(v.hashes(key, email), hashesPer) {
		w := db.Where{}
		db.In(&w, "n.hash", part)
		args := append([]any{c.TeamID}, append(w.Args, left+1)...)
		err = db.Each(ctx, ls.db, func(row db.Row) error {
			l, err := ls.scan(row)
			if err != nil || seen[l.ID] {
				return err
			}
			if left--; left < 0 {
				cut = true
				return nil
			}
			seen[l.ID] = true
			if v.classify(&l) {
				do(&l)
			}
			return nil
		}, `SELECT `+columns+` FROM leak l LEFT JOIN leak_status s ON s.leak_id = l.id AND s.team_id = ?
			WHERE l.id IN (SELECT n.leak_id FROM leak_name n`+w.String()+`) ORDER BY l.log_date DESC, l.id LIMIT ?`, args...)
		if err != nil || cut {
			return cut, err
		}
	}
	return false, nil
}

// hashes are what the leaks of a viewer are looked up by: of one address alone, if it is given.
func (v viewer) hashes(key []byte, email string) (found []string) {
	if email != "" {
		return []string{addressHash(key, email)}
	}
	if v.address != "" {
		found = append(found, addressHash(key, v.address))
	}
	for _, domain := range v.domains {
		if registered, ok := discover.RegisteredOf(domain); ok {
			found = append(found, domainHash(key, registered))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (q *Query) matches(l *Leak) bool {
	is := func(want, got string) bool { return want == "" || strings.EqualFold(want, got) }
	has := func(want string, texts ...string) bool {
		return want == "" || slices.ContainsFunc(texts, func(text string) bool {
			return strings.Contains(strings.ToLower(text), strings.ToLower(want))
		})
	}
	dated := q.Since.IsZero() && q.Until.IsZero() || !l.LogDate.IsZero() && !l.LogDate.Before(q.Since) &&
		(q.Until.IsZero() || l.LogDate.Before(q.Until))
	return dated && l.is(q.Type) && (q.Status == "" || q.Status == l.Status) && is(q.Country, l.Country) &&
		is(q.DeviceIP, l.DeviceIP) && is(q.Hostname, l.Hostname) && is(q.HardwareID, l.HardwareID) && has(q.URL, l.URL) &&
		has(q.Search, l.URL, l.Username, l.Hostname, l.HostUsername, l.DeviceIP)
}

func (q *Query) sort(all []Leak) {
	field := fields[q.SortBy]
	order := 1
	if q.Descending || q.SortBy == "" {
		order = -1
	}
	slices.SortFunc(all, func(a, b Leak) int {
		by := a.LogDate.Compare(b.LogDate)
		if field != nil {
			by = strings.Compare(field(&a), field(&b))
		}
		return cmp.Or(order*by, strings.Compare(a.ID, b.ID))
	})
}

// groups counts leaks by a field; those without it are left out.
func groups(all []Leak, by string) []Group {
	field := fields[by]
	if field == nil {
		return []Group{}
	}
	counts := map[string]int{}
	for i := range all {
		if value := field(&all[i]); value != "" {
			counts[value]++
		}
	}
	return largest(counts, maxGroups)
}

// largest are the values that occur most often.
func largest(counts map[string]int, most int) []Group {
	out := make([]Group, 0, len(counts))
	for value, n := range counts {
		out = append(out, Group{value, n})
	}
	slices.SortFunc(out, func(a, b Group) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Value, b.Value)) })
	return out[:min(most, len(out))]
}
