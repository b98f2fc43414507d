package account

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// MasterRegion is the only region whose deployment answers the master lookup.
const MasterRegion = "us"

// RegionLookupPath is where a deployment answers another region about its own users.
const RegionLookupPath = "/api/internal/user/lookup"

// InternalKeyHeader carries the service key of the internal endpoints.
const InternalKeyHeader = "X-Internal-API-Key"

// RegionService is another region's deployment.
type RegionService struct {
	Name string
	URL  string // its base
	Key  string // its service key; ours when empty
}

// LookupResult is the specification's MasterLookupResult.
type LookupResult struct {
	Exists     bool        `json:"exists"`
	UserRegion *string     `json:"user_region"`
	Team       *LookupTeam `json:"team"`
}

// LookupTeam is the specification's MasterTeam.
type LookupTeam struct {
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	OwnerEmail string         `json:"owner_email"`
	UserRole   string         `json:"user_role"`
	Members    []LookupMember `json:"members"`
}

// LookupMember is the specification's MasterMember.
type LookupMember struct {
	Email string `json:"email"`
	Role  string `json:"role"`
}

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
	answers := make([]LookupResult, len(a.RegionServices))
	failures := make([]error, len(a.RegionServices))
	var group sync.WaitGroup
	for i, service := range a.RegionServices {
		group.Go(func() {
			answers[i], failures[i] = a.askRegion(ctx, service, email)
			if answers[i].Exists {
				cancel() // the other answers are not needed
			}
		})
	}
	group.Wait()
	for _, answer := range answers {
		if answer.Exists {
			return answer, nil
		}
	}
	for i, err := range failures {
		if err != nil {
			return LookupResult{}, errs.New(errs.Unavailable, "region_service_unavailable",
				"The service of region %s does not answer.", a.RegionServices[i].Name).Because(err)
		}
	}
	return LookupResult{}, nil
}

const maxRegionAnswer = 1 << 20 // bytes

func (a *Accounts) askRegion(ctx context.Context, s RegionService, email string) (LookupResult, error) {
	var result LookupResult
	body, err := json.Marshal(map[string]string{"email": email})
	if err != nil {
		return result, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(s.URL, "/")+RegionLookupPath,
		bytes.NewReader(body))
	if err != nil {
		return result, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(InternalKeyHeader, cmp.Or(s.Key, a.InternalKey))
	resp, err := a.HTTP.Do(req)
	if err != nil {
		return result, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return result, fmt.Errorf("region %s answered %d", s.Name, resp.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxRegionAnswer)).Decode(&result); err != nil {
		return LookupResult{}, fmt.Errorf("region %s: %w", s.Name, err)
	}
	if result.Exists && result.UserRegion == nil {
		result.UserRegion = &s.Name
	}
	return result, nil
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
