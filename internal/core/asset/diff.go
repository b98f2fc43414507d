package asset

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Diff is what is different between two moments of an enumeration. Each list has the
// first MaxDiff entries, by host and port; Count says how many there are.
type Diff struct {
	From, To     time.Time
	Assets       Delta[Place]    // that came, and that are not there any more
	Ports        Delta[Place]    // the same, of hosts that are there at both moments
	Technologies Delta[Product]  // of assets that are there at both
	Certificates Delta[Identity] // of assets that are there at both
}

// MaxDiff is how many entries each list of a Diff has at most.
const MaxDiff = 1000

// Delta is what was added and what was removed.
type Delta[T any] struct{ Added, Removed Some[T] }

// Some is the first of some things, and how many there are.
type Some[T any] struct {
	Count int
	First []T
}

func (s *Some[T]) add(v T) {
	if s.Count++; s.Count <= MaxDiff {
		s.First = append(s.First, v)
	}
}

// Place names an asset.
type Place struct {
	ID       int64
	Host     string
	Port     int
	Protocol string
}

// Product is a technology of an asset.
type Product struct {
	Place
	Technology string
}

// Identity is the certificate of an asset, by its serial number.
type Identity struct {
	Place
	Serial string
}

// state is what a diff compares of an asset at a moment.
type state struct {
	there                     bool
	technologies, certificate string
}

// spell is a version of an asset: as it was from a moment until another.
type spell struct {
	no                        int64
	host, protocol            string
	port                      int
	since, until              db.Time // until is zero while it lasts
	missing                   bool
	technologies, certificate string
}

func (v spell) at(t time.Time) (state, bool) {
	if v.since.After(t) || !v.until.IsZero() && !v.until.After(t) {
		return state{}, false
	}
	return state{!v.missing, v.technologies, v.certificate}, true
}

// Diff tells what changed of an enumeration of the caller's team between two moments. It
// reads the versions that began or ended between them, and no others.
func (as *Assets) Diff(ctx context.Context, enumerationID string, from, to time.Time) (d Diff, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return d, err
	}
	if !from.Before(to) {
		return d, errs.Field("from", "from must be before to.")
	}
	known, err := as.Known(ctx, c.TeamID, enumerationID)
	if err == nil && !known {
		err = errs.Missing("enumeration")
	}
	if err != nil {
		return d, err
	}
	d.From, d.To = from.UTC(), to.UTC()
	var teamNo int64
	if err := as.db.QueryRow(ctx, `SELECT team_no FROM asset_log WHERE team_id = ?`, c.TeamID).Scan(&teamNo); err != nil {
		return d, err
	}
	kept, err := as.hostsKept(ctx, c.TeamID, enumerationID, from, to)
	if err != nil {
		return d, err
	}
	const columns = `no, host, port, protocol, since, is_missing, technologies, certificate`
	low, high := db.At(from), db.At(to)
	rows, err := as.db.Query(ctx, `SELECT `+columns+`, NULL AS until FROM asset WHERE team_id = ? AND enumeration_id = ? AND since > ? AND since <= ?
		UNION ALL SELECT `+columns+`, until FROM asset_past WHERE team_id = ? AND enumeration_id = ? AND until > ? AND (since <= ? AND until <= ? OR since > ? AND since <= ?)
		ORDER BY host, port, protocol, no, since`,
		c.TeamID, enumerationID, low, high, c.TeamID, enumerationID, low, low, high, low, high)
	if err != nil {
		return d, err
	}
	defer rows.Close()
	var before, after state
	var last spell
	for rows.Next() {
		var v spell
		if err := rows.Scan(&v.no, &v.host, &v.port, &v.protocol, &v.since, &v.missing, &v.technologies, &v.certificate, &v.until); err != nil {
			return d, err
		}
		if v.no != last.no {
			d.compare(last, teamNo, before, after, kept)
			before, after = state{}, state{}
		}
		if s, ok := v.at(from); ok {
			before = s
		}
		if s, ok := v.at(to); ok {
			after = s
		}
		last = v
	}
	d.compare(last, teamNo, before, after, kept)
	return d, rows.Err()
}

// compare adds what became of one asset.
func (d *Diff) compare(v spell, teamNo int64, before, after state, kept map[string]bool) {
	place := Place{idOf(teamNo, v.no), v.host, v.port, v.protocol}
	switch {
	case !before.there && after.there:
		d.Assets.Added.add(place)
		if v.port > 0 && kept[v.host] {
			d.Ports.Added.add(place)
		}
	case before.there && !after.there:
		d.Assets.Removed.add(place)
		if v.port > 0 && kept[v.host] {
			d.Ports.Removed.add(place)
		}
	case before.there:
		old, now := words(before.technologies), words(after.technologies)
		for _, t := range now {
			if !slices.Contains(old, t) {
				d.Technologies.Added.add(Product{place, t})
			}
		}
		for _, t := range old {
			if !slices.Contains(now, t) {
				d.Technologies.Removed.add(Product{place, t})
			}
		}
		if before.certificate != after.certificate {
			if after.certificate != "" {
				d.Certificates.Added.add(Identity{place, after.certificate})
			}
			if before.certificate != "" {
				d.Certificates.Removed.add(Identity{place, before.certificate})
			}
		}
	}
}

// hostsKept are the hosts, of those that something changed about, that have an asset at
// both moments.
func (as *Assets) hostsKept(ctx context.Context, teamID, enumerationID string, from, to time.Time) (map[string]bool, error) {
	hosts := func(at time.Time) (map[string]bool, error) {
		t := db.At(at)
		rows, err := as.db.Query(ctx, `SELECT DISTINCT host FROM asset WHERE team_id = ? AND enumeration_id = ? AND since <= ? AND NOT is_missing
			UNION SELECT DISTINCT host FROM asset_past WHERE team_id = ? AND enumeration_id = ? AND since <= ? AND until > ? AND NOT is_missing`,
			teamID, enumerationID, t, teamID, enumerationID, t, t)
		out := map[string]bool{}
		_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
			var host string
			err := r.Scan(&host)
			out[host] = true
			return struct{}{}, err
		})
		return out, err
	}
	old, err := hosts(from)
	if err != nil {
		return nil, err
	}
	now, err := hosts(to)
	for host := range old {
		if !now[host] {
			delete(old, host)
		}
	}
	return old, err
}
