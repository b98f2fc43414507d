package catalog

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// ShareType says who may read a shared template, besides the team that shares it.
type ShareType string

// The types.
const (
	Unlisted     ShareType = "unlisted"     // all who have the link
	Organization ShareType = "organization" // the organizations that are named: a team by its id, or an e-mail domain
	Users        ShareType = "users"        // the users whose e-mail addresses are named
)

// ShareTypes are all types.
var ShareTypes = []ShareType{Unlisted, Organization, Users}

// Share is a template under a link.
type Share struct {
	ID            string // the link; the id under which strangers know the template
	TemplateID    string // the team's own id of it
	Type          ShareType
	TTL           string // as it was given, such as 1d; empty: for ever
	Emails        []string
	Organizations []string
	ExpiresAt     time.Time // zero: never
	CreatedAt     time.Time
	UpdatedAt     time.Time

	teamID string
}

// ShareUpdate is what to change; nil leaves a field as it is.
type ShareUpdate struct {
	Type          *ShareType
	TTL           *string // counted from now
	Emails        []string
	Organizations []string
}

const maxShared = 100 // addresses, and organizations, of one share

var ttlShape = regexp.MustCompile(`^(\d{1,6})(s|min|h|d|w|m|y)$`)

// Expiry is when a link made now ends. ttl is a number of s, min, h, d, w, m (months) or y, such as 1d; for empty,
// 0 and never the time is zero: no end.
func Expiry(ttl string, now time.Time) (time.Time, error) {
	if ttl == "" || ttl == "0" || ttl == "never" {
		return time.Time{}, nil
	}
	m := ttlShape.FindStringSubmatch(ttl)
	if m == nil {
		return time.Time{}, errs.Field("ttl",
			"ttl must be a number of s, min, h, d, w, m (months) or y, such as 1d or 1m; or never.")
	}
	n, _ := strconv.Atoi(m[1]) // six digits
	if n == 0 {
		return time.Time{}, errs.Field("ttl", "ttl must be above 0.")
	}
	var end time.Time
	switch unit := m[2]; unit {
	case "d":
		end = now.AddDate(0, 0, n)
	case "w":
		end = now.AddDate(0, 0, 7*n)
	case "m":
		end = now.AddDate(0, n, 0)
	case "y":
		end = now.AddDate(n, 0, 0)
	default:
		end = now.Add(time.Duration(n) * map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}[unit])
	}
	if end.Year() > 9000 {
		return time.Time{}, errs.Field("ttl", "ttl must end before the year 9000.")
	}
	return end, nil
}

// apply changes a share; the error names the field that is wrong.
func (s *Share) apply(up ShareUpdate, now time.Time) (err error) {
	if up.Type != nil {
		s.Type = *up.Type
	}
	if !slices.Contains(ShareTypes, s.Type) {
		return errs.Field("share_type", "share_type must be unlisted, organization or users.")
	}
	if up.TTL != nil {
		if s.ExpiresAt, err = Expiry(*up.TTL, now); err != nil {
			return err
		}
		s.TTL = *up.TTL
	}
	if up.Emails != nil {
		s.Emails = []string{}
		for _, text := range up.Emails {
			email, err := account.ParseEmail(text)
			if err != nil {
				return errs.Field("emails", "emails: %.80q is no e-mail address.", text)
			}
			if !slices.Contains(s.Emails, email) {
				s.Emails = append(s.Emails, email)
			}
		}
	}
	if up.Organizations != nil {
		s.Organizations = []string{}
		for _, text := range up.Organizations {
			text = strings.TrimSpace(text)
			if text == "" || len(text) > 253 || db.Clean(text) != text {
				return errs.Field("organizations", "organizations: %.80q is neither the id of a team nor an e-mail domain.", text)
			}
			if !slices.Contains(s.Organizations, text) {
				s.Organizations = append(s.Organizations, text)
			}
		}
	}
	switch {
	case len(s.Emails) > maxShared:
		return errs.Field("emails", "emails must be at most %d.", maxShared)
	case len(s.Organizations) > maxShared:
		return errs.Field("organizations", "organizations must be at most %d.", maxShared)
	case s.Type == Users && len(s.Emails) == 0:
		return errs.Field("emails", "emails is required: share_type users needs somebody to share with.")
	}
	return nil
}

// allows reports whether a member of a team with these addresses may read a share; without a team, anybody.
func (s Share) allows(teamID string, emails []string, now time.Time) bool {
	if !s.ExpiresAt.IsZero() && !now.Before(s.ExpiresAt) {
		return false
	}
	switch {
	case s.Type == Unlisted || teamID == s.teamID && teamID != "":
		return true
	case s.Type == Users:
		return slices.ContainsFunc(emails, func(e string) bool { return slices.Contains(s.Emails, e) })
	}
	return slices.ContainsFunc(s.Organizations, func(o string) bool {
		return teamID != "" && o == teamID || slices.ContainsFunc(emails, func(e string) bool {
			_, domain, ok := strings.Cut(e, "@")
			return ok && strings.EqualFold(domain, strings.TrimPrefix(o, "@"))
		})
	})
}

// ShareTemplate puts a template of the caller's team under a link; Conflict when it has one that has not ended.
func (c *Catalog) ShareTemplate(ctx context.Context, templateID string, up ShareUpdate) (Share, error) {
	caller, err := account.Writer(ctx)
	if err != nil {
		return Share{}, err
	}
	now := db.At(c.Now())
	s := Share{
		ID: ids.New(), TemplateID: db.Clean(templateID), Emails: []string{}, Organizations: []string{}, CreatedAt: now.Time,
		UpdatedAt: now.Time, teamID: caller.TeamID,
	}
	if err := s.apply(up, now.Time); err != nil {
		return Share{}, err
	}
	return s, c.db.Tx(ctx, func(tx *db.Tx) error {
		_, err := db.Value[int](ctx, tx, `SELECT 1 FROM template WHERE scope = ? AND id = ?`+tx.Dialect().ForUpdate(),
			caller.TeamID, s.TemplateID)
		if err != nil {
			return db.OrMissing(err, "template")
		}
		// An ended link is replaced by a new one.
		if _, err := tx.Exec(ctx, `DELETE FROM template_share WHERE team_id = ? AND template_id = ? AND expires_at <= ?`,
			caller.TeamID, s.TemplateID, now); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO template_share (id, team_id, template_id, user_id, share_type, ttl, emails, organizations, expires_at, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			s.ID, caller.TeamID, s.TemplateID, caller.UserID, s.Type, s.TTL, db.Doc(s.Emails), db.Doc(s.Organizations),
			db.At(s.ExpiresAt), now, now)
		if db.IsDuplicate(err) {
			return errs.New(errs.Conflict, "template_is_shared",
				"The template is shared already: change how, or end it first.").At("template_id")
		}
		return err
	})
}

const shareColumns = `h.id, h.team_id, h.template_id, h.share_type, h.ttl, h.emails, h.organizations, h.expires_at, h.created_at, h.updated_at`

func scanShare(r db.Row) (s Share, err error) {
	err = r.Scan(&s.ID, &s.teamID, &s.TemplateID, &s.Type, &s.TTL, db.Into(&s.Emails), db.Into(&s.Organizations),
		db.Into(&s.ExpiresAt), db.Into(&s.CreatedAt), db.Into(&s.UpdatedAt))
	return s, err
}

// share finds a share that has not ended.
func (c *Catalog) share(ctx context.Context, q db.Querier, cond string, args ...any) (s Share, err error) {
	s, err = scanShare(q.QueryRow(ctx, `SELECT `+shareColumns+` FROM template_share h
		WHERE (h.expires_at IS NULL OR h.expires_at > ?) AND `+cond, append([]any{db.At(c.Now())}, args...)...))
	return s, db.OrMissing(err, "template")
}

// ownShare is a share of the caller's team, by its link or by the id of its template.
func (c *Catalog) ownShare(ctx context.Context, q db.Querier, id string) (Share, error) {
	caller, err := account.Writer(ctx)
	if err != nil {
		return Share{}, err
	}
	id = db.Clean(id)
	return c.share(ctx, q, `h.team_id = ? AND (h.id = ? OR h.template_id = ?)`+q.Dialect().ForUpdate(), caller.TeamID, id,
		id)
}

// UpdateShare changes how a template of the caller's team is shared.
func (c *Catalog) UpdateShare(ctx context.Context, id string, up ShareUpdate) (s Share, err error) {
	return s, c.db.Tx(ctx, func(tx *db.Tx) error {
		if s, err = c.ownShare(ctx, tx, id); err != nil {
			return err
		}
		now := db.At(c.Now())
		if err := s.apply(up, now.Time); err != nil {
			return err
		}
		s.UpdatedAt = now.Time
		_, err = tx.Exec(ctx, `UPDATE template_share SET share_type = ?, ttl = ?, emails = ?, organizations = ?, expires_at = ?, updated_at = ? WHERE id = ?`,
			s.Type, s.TTL, db.Doc(s.Emails), db.Doc(s.Organizations), db.At(s.ExpiresAt), now, s.ID)
		return err
	})
}

// Unshare ends a link of the caller's team; shared again, the template gets another one.
func (c *Catalog) Unshare(ctx context.Context, id string) error {
	return c.db.Tx(ctx, func(tx *db.Tx) error {
		s, err := c.ownShare(ctx, tx, id)
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM template_share WHERE id = ?`, s.ID)
		}
		return err
	})
}

// Shared is a template that is shared with the caller, by its link or, unless unlisted, by its own id. Without a
// caller in the context only unlisted templates are found. NotFound for all else.
func (c *Catalog) Shared(ctx context.Context, id string) (Share, Template, error) {
	caller, _ := account.From(ctx) // without one, the empty caller
	var emails []string
	if caller.Email != "" {
		emails = []string{caller.Email}
	}
	return c.sharedWith(ctx, id, caller.TeamID, emails)
}

func (c *Catalog) sharedWith(ctx context.Context, id, teamID string, emails []string) (Share, Template, error) {
	id = db.Clean(id)
	s, err := c.share(ctx, c.db, `(h.id = ? OR h.template_id = ?)`, id, id)
	if err != nil {
		return s, Template{}, err
	}
	if byLink := s.ID == id; !s.allows(teamID, emails, c.Now()) || !byLink && s.Type == Unlisted && teamID != s.teamID {
		return Share{}, Template{}, missing()
	}
	t, err := c.find(ctx, c.db, "t.scope = ? AND t.id = ?", s.teamID, s.TemplateID)
	return s, t, err
}

// SharedTemplate is a share and what it shares.
type SharedTemplate struct {
	Share
	Template Template
}

// Shares is a page of what the caller's team shares, by sorts and then the newest link first, and the total.
func (c *Catalog) Shares(
	ctx context.Context, sorts []page.Sort, w page.Window, raw bool,
) ([]SharedTemplate, int, error) {
	caller, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	const link = `SELECT h.id FROM template_share h WHERE h.team_id = e.scope AND h.template_id = e.id`
	where := inScopes(caller.TeamID)
	where.And(`EXISTS (`+link+` AND (h.expires_at IS NULL OR h.expires_at > ?))`, db.At(c.Now()))
	templates, total, err := c.list(ctx, where, c.sorted(sorts, `(`+link+`) DESC`), w, raw)
	if err != nil {
		return nil, 0, err
	}
	out := make([]SharedTemplate, len(templates))
	at := make(map[string]int, len(templates))
	for i, t := range templates {
		out[i].Template, at[t.ID] = t, i
	}
	var of db.Where
	of.And("h.team_id = ?", caller.TeamID)
	db.In(&of, "h.template_id", slices.Collect(maps.Keys(at)))
	shares, err := db.Select(ctx, c.db, scanShare, `SELECT `+shareColumns+` FROM template_share h`+of.String(), of.Args...)
	for _, s := range shares {
		out[at[s.TemplateID]].Share = s
	}
	return out, total, err
}
