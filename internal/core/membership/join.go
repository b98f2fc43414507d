package membership

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Team is the terms of a team that are kept beside those of package account.
type Team struct {
	AutoJoin   bool
	Domains    []string // that the team has proved to own, in their order; at most shownDomains
	MaxMembers int      // with those invited
}

const shownDomains = 100

// Team is what there is to say about the team that the caller acts in.
func (s *Members) Team(ctx context.Context) (t Team, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return t, err
	}
	var most *int
	if err := s.db.QueryRow(ctx, `SELECT auto_join, max_members FROM team WHERE id = ?`, c.TeamID).Scan(&t.AutoJoin, &most); err != nil {
		return t, db.OrMissing(err, "team")
	}
	t.MaxMembers = c.Plan.MaxMembers()
	if most != nil {
		t.MaxMembers = *most
	}
	t.Domains, err = db.Values[string](ctx, s.db, `SELECT domain FROM domain WHERE team_id = ? AND status = 'verified'
		ORDER BY domain LIMIT ?`, c.TeamID, shownDomains)
	return t, err
}

// SetAutoJoin has people with an address of a domain that the caller's team has proved to own join it when they sign
// in, or ends that. Only admins may. It fails with Conflict while the team has no such domain.
func (s *Members) SetAutoJoin(ctx context.Context, on bool) error {
	c, err := account.TeamAdmin(ctx)
	if err != nil {
		return err
	}
	t, err := s.Team(ctx)
	if err != nil {
		return err
	}
	if on && len(t.Domains) == 0 {
		return errs.New(errs.Conflict, "domain_not_verified",
			"auto_join_enabled needs a domain that the team has proved to own: POST /v1/domain.").At("auto_join_enabled")
	}
	_, err = s.db.Exec(ctx, `UPDATE team SET auto_join = ? WHERE id = ?`, on, c.TeamID)
	return err
}

// JoinByDomain makes a user a member of the teams that take whoever has an address of their domain, and gives the ids
// of those that they joined. The domain is the whole part after the @: a subdomain is another one. Who was in the team
// before does not come back, a full team takes nobody, and a program joins none. Their account vouches for the
// address: operators make accounts, or an issuer has verified it.
func (s *Members) JoinByDomain(ctx context.Context, c account.Caller, ip string) (joined []string, err error) {
	_, domain, _ := strings.Cut(c.Email, "@")
	teams, err := db.Values[string](ctx, s.db, `SELECT t.id FROM team t WHERE t.auto_join
		AND EXISTS (SELECT 1 FROM domain d WHERE d.team_id = t.id AND d.domain = ? AND d.status = 'verified')
		AND NOT EXISTS (SELECT 1 FROM member m WHERE m.team_id = t.id AND m.user_id = ?)
		AND NOT EXISTS (SELECT 1 FROM former_member f WHERE f.team_id = t.id AND f.user_id = ?)
		AND NOT EXISTS (SELECT 1 FROM user_account u WHERE u.id = ? AND u.service) ORDER BY t.id LIMIT ?`, domain, c.UserID,
		c.UserID, c.UserID, maxJoined)
	for _, team := range teams {
		is, err := s.join(ctx, team, domain, c)
		if err != nil {
			return joined, err
		}
		if !is {
			continue
		}
		joined = append(joined, team)
		if err := s.log.Add(ctx, audit.Entry{ID: ids.New(), TeamID: team, UserID: c.UserID, Email: c.Email,
			Action: "join-team-by-domain",
			Object: c.UserID, Method: "POST", Path: "/api/v1/teams", Status: 200, IP: ip, Source: audit.Platform}); err != nil {
			return joined, err
		}
	}
	return joined, err
}

const maxJoined = 20 // teams that one sign-in joins

// join makes a user a member, if the team still takes them.
func (s *Members) join(ctx context.Context, teamID, domain string, c account.Caller) (is bool, err error) {
	return is, s.db.Tx(ctx, func(tx *db.Tx) error {
		var plan account.Plan
		var most *int
		if err := tx.QueryRow(ctx, `SELECT plan, max_members FROM team WHERE id = ? AND auto_join`+tx.Dialect().ForUpdate(), teamID).
			Scan(&plan, &most); db.IsNoRows(err) {
			return nil
		} else if err != nil {
			return err
		}
		limit := plan.MaxMembers()
		if most != nil {
			limit = *most
		}
		n, err := tx.Exec(ctx, `INSERT INTO member (team_id, user_id, role, created_at, auto_joined) SELECT ?, ?, ?, ?, ?
			WHERE (SELECT count(*) FROM member WHERE team_id = ?) + (SELECT count(*) FROM invitation WHERE team_id = ? AND
			email <> ?) < ?
			AND EXISTS (SELECT 1 FROM domain WHERE team_id = ? AND domain = ? AND status = 'verified')
			ON CONFLICT (team_id, user_id) DO NOTHING`, teamID, c.UserID, account.Member, db.At(s.now()), true, teamID, teamID, c.Email,
			limit, teamID, domain)
		if err != nil || n == 0 {
			return err
		}
		is = true
		_, err = tx.Exec(ctx, `DELETE FROM invitation WHERE team_id = ? AND email = ?`, teamID, c.Email)
		return err
	})
}

// Limits are what an operator sets for a team.
type Limits struct {
	TeamID     string `json:"team_id"`
	Name       string `json:"name"`
	Plan       string `json:"plan"`
	MaxMembers *int   `json:"max_members"` // nil: the plan's
}

// MostMembers is the largest limit that an operator can set: lists of members have no pages.
const MostMembers = 10_000

// Change is what an operator changes.
type Change struct {
	Set        bool
	MaxMembers *int // nil: as many as the plan says
}

// SetLimits sets how many members a team, given by name or id, may have with those invited, if the change says so. It
// checks no Caller: operators use it. Who is in the team stays.
func (s *Members) SetLimits(ctx context.Context, team string, c Change) (l Limits, err error) {
	if most := c.MaxMembers; most != nil && (*most < 1 || *most > MostMembers) {
		return l, errs.Field("max_members", "max_members must be between 1 and %d.", MostMembers)
	}
	id, err := Named(ctx, s.db, team)
	if err != nil {
		return l, err
	}
	if c.Set {
		if _, err := s.db.Exec(ctx, `UPDATE team SET max_members = ?, updated_at = ? WHERE id = ?`, c.MaxMembers, db.At(s.now()),
			id); err != nil {
			return l, err
		}
	}
	return l, s.db.QueryRow(ctx, `SELECT id, name, plan, max_members FROM team WHERE id = ?`, id).Scan(&l.TeamID, &l.Name, &l.Plan,
		&l.MaxMembers)
}

// Named is the id of a team that an operator names by its id, or by its name where no other team has it.
func Named(ctx context.Context, q db.Querier, team string) (id string, err error) {
	team = db.Clean(team)
	found, err := db.Values[string](ctx, q, `SELECT id FROM team WHERE name = ? OR id = ? ORDER BY id LIMIT 2`, team, team)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", errs.Missing("team").At("team")
	case slices.Contains(found, team):
		return team, nil
	case len(found) > 1:
		return "", errs.Field("team", "There is more than one team of this name: give the team's id.")
	}
	return found[0], nil
}
