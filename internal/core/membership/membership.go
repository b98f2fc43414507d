// Package membership is who is in a team and on what terms, as the agent-task API shows it: invitations with a link and
// with terms, members with their caps, teams that people with an address of a verified domain join by themselves, and
// how many members a team may have. Package account keeps users, teams and roles; what changes them goes through it.
package membership

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Members is the service.
type Members struct {
	db        *db.DB
	accounts  *account.Accounts
	log       *audit.Log
	publicURL string
	now       func() time.Time
}

// New makes the service. publicURL is where links of invitations begin; empty: they are paths.
func New(d *db.DB, accounts *account.Accounts, log *audit.Log, publicURL string) *Members {
	return &Members{d, accounts, log, strings.TrimRight(publicURL, "/"), time.Now}
}

// Status is whether a member is in the team.
type Status string

// The states.
const (
	Pending Status = "pending" // invited, and has not accepted
	Active  Status = "active"
)

// Member is a member of a team, or somebody who was invited.
type Member struct {
	ID          string // the user's, or the invitation's; empty: it was made without one
	Email       string
	Role        account.Role
	Owner       bool
	Status      Status
	InvitedBy   string     // an address; empty: nobody, or it is not known
	InvitedAt   time.Time  // when they joined, if nobody invited them
	AcceptedAt  *time.Time // nil: not yet
	Billable    bool       // may use the server's models, which the operator pays
	Restricted  bool       // sees only projects to which they were invited
	AutoJoined  bool
	CapCents    *int64 // their own, or the team's default; nil: none
	SpentMicros int64  // millionths of a US dollar
}

const columnsOfMember = `u.id, u.email, m.role, t.owner_id = m.user_id AND m.role = 'admin', m.invited_by,
	coalesce(m.invited_at, m.created_at), m.created_at, m.billable, m.restricted, m.auto_joined,
	coalesce(m.spending_cap_cents, t.default_spending_cap_cents), m.spent_cents`

func scanMember(r db.Row) (m Member, err error) {
	var spent int64
	var joined time.Time
	err = r.Scan(&m.ID, &m.Email, &m.Role, &m.Owner, &m.InvitedBy, db.Into(&m.InvitedAt), db.Into(&joined), &m.Billable,
		&m.Restricted, &m.AutoJoined, &m.CapCents, &spent)
	m.Status, m.AcceptedAt, m.SpentMicros = Active, &joined, spent*microsPerCent
	return m, err
}

const microsPerCent = 10_000

const columnsOfInvited = `i.id, i.email, i.role, i.invited_by, i.created_at, i.billable, i.restricted, i.spending_cap_cents`

func scanInvited(r db.Row) (m Member, err error) {
	m.Status = Pending
	return m, r.Scan(&m.ID, &m.Email, &m.Role, &m.InvitedBy, db.Into(&m.InvitedAt), &m.Billable, &m.Restricted,
		&m.CapCents)
}

// FindAll are the members of the caller's team in the order of joining, and then the invited, in that of inviting. A
// guest may not see them. A team has at most as many as its plan allows.
func (s *Members) FindAll(ctx context.Context) ([]Member, error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return nil, err
	}
	members, err := db.Select(ctx, s.db, scanMember, `SELECT `+columnsOfMember+` FROM member m
		JOIN user_account u ON u.id = m.user_id JOIN team t ON t.id = m.team_id WHERE m.team_id = ?
		ORDER BY m.created_at, u.email`, c.TeamID)
	if err != nil {
		return nil, err
	}
	invited, err := db.Select(ctx, s.db, scanInvited, `SELECT `+columnsOfInvited+` FROM invitation i WHERE i.team_id = ?
		ORDER BY i.created_at, i.email`, c.TeamID)
	return append(members, invited...), err
}

// find is a member of a team, or somebody invited to it.
func (s *Members) find(ctx context.Context, teamID, email string) (m Member, err error) {
	email = strings.ToLower(email)
	m, err = scanMember(s.db.QueryRow(ctx, `SELECT `+columnsOfMember+` FROM member m JOIN user_account u ON u.id = m.user_id
		JOIN team t ON t.id = m.team_id WHERE m.team_id = ? AND u.email = ?`, teamID, email))
	if db.IsNoRows(err) {
		m, err = scanInvited(s.db.QueryRow(ctx, `SELECT `+columnsOfInvited+` FROM invitation i WHERE i.team_id = ? AND i.email = ?`,
			teamID, email))
	}
	return m, db.OrMissing(err, "member")
}

// One is a member of the caller's team, or somebody invited to it. A guest may not see them.
func (s *Members) One(ctx context.Context, email string) (Member, error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return Member{}, err
	}
	return s.find(ctx, c.TeamID, email)
}

// Me is the caller as a member of the team that they act in.
func (s *Members) Me(ctx context.Context) (Member, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Member{}, err
	}
	return s.find(ctx, c.TeamID, c.Email)
}

// Terms are what somebody is invited to.
type Terms struct {
	Email      string
	Role       account.Role
	Billable   bool
	Restricted bool
	CapCents   *int64 // nil: the team's default
}

// Invited is an invitation with its secret part, which is not shown again.
type Invited struct {
	Member

	Token string
	Link  string // where the invited person signs in and accepts
}

const tokenLength = 40 // characters: 238 random bits

// hash is what is stored of a token. A token is random, and so its hash needs no salt.
func hash(token string) string {
	sum := sha256.Sum256([]byte("invitation " + token))
	return hex.EncodeToString(sum[:])
}

// Invite invites a person to the caller's team, in place of an earlier invitation, whose link ends to work. Only admins
// may. It fails as account.Invite does.
func (s *Members) Invite(ctx context.Context, t Terms) (Invited, error) {
	c, err := account.TeamAdmin(ctx)
	if err != nil {
		return Invited{}, err
	}
	token := ids.Random(tokenLength)
	err = s.accounts.Invite(ctx, t.Email, t.Role, func(tx *db.Tx, email string) error {
		return db.ExecOr(ctx, tx, errs.Missing("invitation"), `UPDATE invitation SET id = ?, token_hash = ?, invited_by = ?,
			restricted = ?, billable = ?, spending_cap_cents = ? WHERE team_id = ? AND email = ?`, ids.New(), hash(token),
			c.Email, t.Restricted, t.Billable, t.CapCents, c.TeamID, email)
	})
	if err != nil {
		return Invited{}, err
	}
	m, err := s.find(ctx, c.TeamID, t.Email)
	return Invited{m, token, s.publicURL + "/settings/account?invitation=" + token}, err
}

// Accept makes the caller a member of the team whose invitation has this token. It fails with NotFound for a token that
// is of nobody or of somebody else, whichever it is.
func (s *Members) Accept(ctx context.Context, token string) (m Member, teamID string, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return m, "", err
	}
	if len(token) != tokenLength {
		return m, "", errs.Missing("invitation")
	}
	teamID, err = db.Value[string](ctx, s.db, `SELECT team_id FROM invitation WHERE token_hash = ? AND email = ?`, hash(token),
		c.Email)
	if err != nil {
		return m, "", db.OrMissing(err, "invitation")
	}
	if err := s.accounts.AcceptInvitation(ctx, teamID); err != nil {
		return m, "", err
	}
	m, err = s.find(ctx, teamID, c.Email)
	return m, teamID, err
}

// SetRole changes a role, as account.SetRole does, and gives the member as they are now.
func (s *Members) SetRole(ctx context.Context, email string, role account.Role) (m Member, err error) {
	c, err := account.TeamAdmin(ctx)
	if err != nil {
		return m, err
	}
	if err := s.accounts.SetRole(ctx, email, role); err != nil {
		return m, err
	}
	return s.find(ctx, c.TeamID, email)
}

// Leave ends the caller's membership in the team that they act in. It fails with Forbidden for its owner, and for who
// would have no team left.
func (s *Members) Leave(ctx context.Context) error {
	c, err := account.From(ctx)
	if err != nil {
		return err
	}
	return s.accounts.RemoveMember(ctx, c.Email)
}

// Access changes on what terms a member, or somebody invited, is in the team; nil leaves a field as it is.
type Access struct {
	Restricted *bool
	Billable   *bool
}

// SetAccess changes the terms of a member of the caller's team. Only admins may.
func (s *Members) SetAccess(ctx context.Context, email string, a Access) (m Member, err error) {
	c, err := account.TeamAdmin(ctx)
	if err != nil {
		return m, err
	}
	if email, err = account.ParseEmail(email); err != nil {
		return m, err
	}
	err = s.db.Tx(ctx, func(tx *db.Tx) error {
		changed := int64(0)
		for _, table := range []string{
			`member SET $ WHERE team_id = ? AND user_id = (SELECT id FROM user_account WHERE email = ?)`,
			`invitation SET $ WHERE team_id = ? AND email = ?`,
		} {
			n, err := tx.Exec(ctx, `UPDATE `+strings.Replace(table, "$",
				`restricted = coalesce(?, restricted), billable = coalesce(?, billable)`, 1), a.Restricted, a.Billable, c.TeamID, email)
			if err != nil {
				return err
			}
			changed += n
		}
		if changed == 0 {
			return errs.Missing("member")
		}
		return nil
	})
	if err != nil {
		return m, err
	}
	return s.find(ctx, c.TeamID, email)
}

// CodeNotBillable refuses a call of the server's models for a member who may not use them.
const CodeNotBillable = "member_not_billable"

// CheckBillable fails with Forbidden for a member of a team for whom the server's models are not to be paid. Who left
// is as they were not: their work ends elsewhere.
func CheckBillable(ctx context.Context, q db.Querier, teamID, userID string) error {
	barred, err := db.Value[int](ctx, q, `SELECT count(*) FROM member WHERE team_id = ? AND user_id = ? AND NOT billable`, teamID,
		userID)
	if err == nil && barred > 0 {
		err = errs.New(errs.Forbidden, CodeNotBillable, "An admin of the team has said that the server's models are not paid for this member.")
	}
	return err
}

// Mine is a team as one of its members sees it.
type Mine struct {
	ID, Name   string
	Role       account.Role // the caller's
	AutoJoined bool
	Members    int
}

// Mine are the caller's teams, the default one first.
func (s *Members) Mine(ctx context.Context) ([]Mine, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, s.db, func(r db.Row) (m Mine, err error) {
		return m, r.Scan(&m.ID, &m.Name, &m.Role, &m.AutoJoined, &m.Members)
	}, `SELECT t.id, t.name, m.role, m.auto_joined, (SELECT count(*) FROM member n WHERE n.team_id = t.id)
		FROM member m JOIN team t ON t.id = m.team_id WHERE m.user_id = ? ORDER BY m.created_at, m.team_id`, c.UserID)
}
