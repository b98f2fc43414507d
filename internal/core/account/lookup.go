package account

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/account/region"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// MasterRegion is the only region whose deployment answers the master lookup.
const MasterRegion = "us"

// RegionLookupPath is where a deployment answers another region about its own users, and InternalKeyHeader carries the
// service key of the internal endpoints.
const (
	RegionLookupPath  = region.LookupPath
	InternalKeyHeader = region.KeyHeader
)

type (
	// RegionService is another region's service, which this deployment asks about users.
	RegionService = region.Service
	// LookupResult is what a region knows about an address.
	LookupResult = region.Result
	// LookupTeam is one of that user's teams.
	LookupTeam = region.Team
	// LookupMember is the user's membership in it.
	LookupMember = region.Member
)

// CheckInternalKey fails with Unauthenticated unless key is the configured service key.
func (a *Accounts) CheckInternalKey(key string) error {
	if a.InternalKey == "" || !ids.Equal(key, a.InternalKey) {
		return errs.New(errs.Unauthenticated, "invalid_service_key", "The service key is not valid.").At(InternalKeyHeader)
	}
	return nil
}

// IsMaster fails with NotFound unless this is the US deployment.
func (a *Accounts) IsMaster() error {
	if a.Region != MasterRegion {
		return errs.New(errs.NotFound, "not_in_this_region", "This endpoint is available only in the US.")
	}
	return nil
}

// MasterLookup finds a user in this region, or else in the others at once. It fails with NotFound outside the
// US, and with Unavailable when the user was not found and a region did not answer.
func (a *Accounts) MasterLookup(ctx context.Context, email string) (LookupResult, error) {
	if err := a.IsMaster(); err != nil {
		return LookupResult{}, err
	}
	email, err := ParseEmail(email)
	if err != nil {
		return LookupResult{}, err
	}
	here, err := a.LocalLookup(ctx, email)
	if err != nil || here.Exists || len(a.RegionServices) == 0 {
		return here, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.RegionTimeout)
	defer cancel()
	return region.Ask(ctx, a.HTTP, a.RegionServices, a.InternalKey, email)
}

// LocalLookup finds a user among this deployment's own.
func (a *Accounts) LocalLookup(ctx context.Context, email string) (LookupResult, error) {
	email, err := ParseEmail(email)
	if err != nil {
		return LookupResult{}, err
	}
	c, err := a.caller(ctx, "u.email = ?", email)
	if db.IsNoRows(err) {
		return LookupResult{}, nil
	}
	if err != nil {
		return LookupResult{}, err
	}
	t, err := a.teamByID(ctx, a.db, c.TeamID)
	if err != nil {
		return LookupResult{}, err
	}
	scan := func(r db.Row) (m LookupMember, err error) { return m, r.Scan(&m.Email, &m.Role) }
	members, err := db.Select(ctx, a.db, scan, `SELECT u.email, m.role FROM member m
		JOIN user_account u ON u.id = m.user_id WHERE m.team_id = ? ORDER BY m.created_at, u.email`, c.TeamID)
	if err != nil {
		return LookupResult{}, err
	}
	return LookupResult{Exists: true, UserRegion: &a.Region, Team: &LookupTeam{
		ID: t.ID, Name: t.Name, OwnerEmail: t.OwnerEmail, UserRole: string(c.Role), Members: members,
	}}, nil
}
