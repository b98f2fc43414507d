// Package roster finds the members of teams by their addresses, for services in which people name each other.
package roster

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Member is a member of a team who has joined.
type Member struct {
	UserID, Email string
	Role          account.Role
}

// MaxNamed is how many addresses Find takes.
const MaxNamed = 1000

// Find finds members of a team, by their addresses in lower case. Who is not in the team, was only invited, or cannot
// sign in as a program cannot, is left out.
func Find(ctx context.Context, q db.Querier, teamID string, emails []string) (map[string]Member, error) {
	named := make([]string, 0, len(emails))
	for _, email := range emails {
		named = append(named, strings.ToLower(db.Clean(email)))
	}
	slices.Sort(named)
	named = slices.Compact(named)
	out := map[string]Member{}
	var w db.Where
	w.And("m.team_id = ?", teamID)
	db.In(&w, "u.email", named[:min(len(named), MaxNamed)])
	return out, db.Each(ctx, q, func(r db.Row) error {
		var m Member
		err := r.Scan(&m.UserID, &m.Email, &m.Role)
		out[m.Email] = m
		return err
	}, `SELECT u.id, u.email, m.role FROM member m JOIN user_account u ON u.id = m.user_id`+
		w.String()+` AND NOT u.service`, w.Args...)
}

// Worker is the member of a team with an address, who may be given work: no guest. Any other is refused by name, as the
// field says.
func Worker(ctx context.Context, q db.Querier, teamID, field, email string) (Member, error) {
	found, err := Find(ctx, q, teamID, []string{email})
	if err != nil {
		return Member{}, err
	}
	m, is := found[strings.ToLower(email)]
	switch {
	case !is:
		return m, errs.Field(field, "%s: %.254q is no member of the team.", field, email)
	case m.Role == account.Guest:
		return m, errs.Field(field, "%s: %.254q is a guest of the team.", field, email)
	}
	return m, nil
}
