package report

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Diff is what differs between two moments of an enumeration. Each list has the first MaxDiff
// entries, by host and port, and the count of all.
type Diff struct {
	From, To     time.Time
	Assets       Delta[AssetRef]
	Ports        Delta[AssetRef]    // of hosts that exist at both moments
	Technologies Delta[Technology]  // of assets that exist at both
	Certificates Delta[Certificate] // of assets that exist at both
}

// MaxDiff is how many entries each list of a Diff has at most.
const MaxDiff = 1000

// Delta is what was added and what was removed.
type Delta[T any] struct{ Added, Removed Some[T] }

// Some is the first entries of a list, and the count of all.
type Some[T any] struct {
	Count int
	First []T
}

func (s *Some[T]) add(v T) {
	if s.Count++; s.Count <= MaxDiff {
		s.First = append(s.First, v)
	}
}

// AssetRef names an asset.
type AssetRef struct {
	ID       int64
	Host     string
	Port     int
	Protocol string
}

// Technology is a technology of an asset.
type Technology struct {
	AssetRef
	Technology string
}

// Certificate is the certificate of an asset, by its serial number.
type Certificate struct {
	AssetRef
	Serial string
}

// version is an asset as it was from one moment until another.
type version struct {
	no                        int64
	host, protocol            string
	port                      int
	since, until              db.Time // until is zero for the present version
	missing                   bool
	technologies, certificate string
}

func (v version) validAt(t time.Time) bool {
	return !v.since.After(t) && (v.until.IsZero() || v.until.After(t))
}

func (v *version) exists() bool { return v != nil && !v.missing }

// Diff compares an enumeration of the caller's team at two moments. It reads only the versions that
// began or ended between them.
func (rs *Reports) Diff(ctx context.Context, enumerationID string, from, to time.Time) (d Diff, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return d, err
	}
	if !from.Before(to) {
		return d, errs.Field("from", "from must be before to.")
	}
	known, err := rs.assets.HasEnumeration(ctx, c.TeamID, enumerationID)
	if err == nil && !known {
		err = errs.Missing("enumeration")
	}
	if err != nil {
		return d, err
	}
	d.From, d.To = from.UTC(), to.UTC()
	var teamNo int64
	if err := rs.db.QueryRow(ctx, `SELECT team_no FROM asset_log WHERE team_id = ?`, c.TeamID).Scan(&teamNo); err != nil {
		return d, err
	}
	atBoth, err := rs.hostsAtBoth(ctx, c.TeamID, enumerationID, from, to)
	if err != nil {
		return d, err
	}
	const columns = `no, host, port, protocol, since, is_missing, technologies, certificate`
	low, high := db.At(from), db.At(to)
	rows, err := rs.db.Query(ctx, `SELECT `+columns+`, NULL AS until FROM asset
		WHERE team_id = ? AND enumeration_id = ? AND since > ? AND since <= ?
		UNION ALL SELECT `+columns+`, until FROM asset_past
		WHERE team_id = ? AND enumeration_id = ? AND until > ? AND (since <= ? AND until <= ? OR since > ? AND since <= ?)
		ORDER BY host, port, protocol, no, since`,
		c.TeamID, enumerationID, low, high, c.TeamID, enumerationID, low, low, high, low, high)
	if err != nil {
		return d, err
	}
	defer rows.Close()
	var last version
	var before, after *version
	for rows.Next() {
		var v version
		err := rows.Scan(&v.no, &v.host, &v.port, &v.protocol, &v.since, &v.missing, &v.technologies, &v.certificate,
			&v.until)
		if err != nil {
			return d, err
		}
		if v.no != last.no {
			d.compare(AssetRef{asset.IDOf(teamNo, last.no), last.host, last.port, last.protocol}, before, after, atBoth)
			before, after = nil, nil
		}
		if v.validAt(from) {
			before = &v
		}
		if v.validAt(to) {
			after = &v
		}
		last = v
	}
	d.compare(AssetRef{asset.IDOf(teamNo, last.no), last.host, last.port, last.protocol}, before, after, atBoth)
	return d, rows.Err()
}

// compare adds the differences of one asset.
func (d *Diff) compare(p AssetRef, before, after *version, atBoth map[string]bool) {
	switch {
	case !before.exists() && after.exists():
		d.Assets.Added.add(p)
		if p.Port > 0 && atBoth[p.Host] {
			d.Ports.Added.add(p)
		}
	case before.exists() && !after.exists():
		d.Assets.Removed.add(p)
		if p.Port > 0 && atBoth[p.Host] {
			d.Ports.Removed.add(p)
		}
	case before.exists():
		old, now := words(before.technologies), words(after.technologies)
		for _, t := range now {
			if !slices.Contains(old, t) {
				d.Technologies.Added.add(Technology{p, t})
			}
		}
		for _, t := range old {
			if !slices.Contains(now, t) {
				d.Technologies.Removed.add(Technology{p, t})
			}
		}
		if before.certificate != after.certificate {
			if after.certificate != "" {
				d.Certificates.Added.add(Certificate{p, after.certificate})
			}
			if before.certificate != "" {
				d.Certificates.Removed.add(Certificate{p, before.certificate})
			}
		}
	}
}

func words(column string) []string {
	return strings.FieldsFunc(column, func(c rune) bool { return c == '\n' })
}

// hostsAtBoth are the hosts that have an asset at both moments.
func (rs *Reports) hostsAtBoth(
	ctx context.Context, teamID, enumerationID string, from, to time.Time,
) (map[string]bool, error) {
	kept := map[string]bool{}
	hosts, err := db.Values[string](ctx, rs.db, hostsAt+` INTERSECT `+hostsAt, slices.Concat(
		hostsArgs(teamID, enumerationID, from), hostsArgs(teamID, enumerationID, to))...)
	for _, host := range hosts {
		kept[host] = true
	}
	return kept, err
}

// hostsAt are the hosts that had an asset at a moment; its arguments are hostsArgs.
const hostsAt = `SELECT host FROM (
	SELECT host FROM asset WHERE team_id = ? AND enumeration_id = ? AND since <= ? AND NOT is_missing
	UNION SELECT host FROM asset_past WHERE team_id = ? AND enumeration_id = ? AND since <= ? AND until > ? AND NOT is_missing) h`

func hostsArgs(teamID, enumerationID string, at time.Time) []any {
	t := db.At(at)
	return []any{teamID, enumerationID, t, teamID, enumerationID, t, t}
}
