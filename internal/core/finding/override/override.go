// Package override keeps the severities that teams give findings in place of their templates' own.
package override

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/infra/cvss"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Override is the severity of a template's findings that a team wants in place of the template's own (platform, custom
// severity mapping).
type Override struct {
	ID         int64 // of the team
	TemplateID string
	FindingID  string // empty: all findings of the template; an override of one finding wins
	Original   string // the template's own, if known
	Custom     string // one of Severities
	Reason     string // why; empty: none was given
	Vector     string // of CVSS 3.0, 3.1 or 4.0, whose score says Custom; empty: none
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Max bounds those of a team: each upload reads them.
const Max = 10_000

// maxReason is how many characters a reason has.
const maxReason = 2000

// Check refuses what is no override. An override with a vector and without Custom gets the severity of its score.
func (o *Override) Check() error {
	if err := o.CheckRating(); err != nil {
		return err
	}
	switch {
	case o.TemplateID == "":
		return errs.Field("template_id", "template_id is required.")
	case len(o.TemplateID) > 256:
		return errs.Field("template_id", "template_id has more than 256 bytes.")
	}
	return nil
}

// CheckRating is Check of what an override says, whatever it is about.
func (o *Override) CheckRating() error {
	if o.Vector != "" {
		v, err := cvss.Parse(o.Vector)
		if err != nil {
			return errs.Field("cvss_vector", "cvss_vector must be a vector of CVSS 3.0, 3.1 or 4.0 with every base metric, such as "+
				"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H.")
		}
		said := severityOf(v)
		if o.Custom = cmp.Or(o.Custom, said); o.Custom != said {
			return errs.Field("custom_severity", "custom_severity is %s, but the score of cvss_vector is %.1f, which is %s; leave one out.",
				o.Custom, v.Score, said)
		}
	}
	switch {
	case utf8.RuneCountInString(o.Reason) > maxReason:
		return errs.Field("reason", "reason has more than %d characters.", maxReason)
	case !slices.Contains(listing.Severities, o.Custom):
		return errs.Field("custom_severity", "custom_severity must be one of %s.", strings.Join(listing.Severities, ", "))
	}
	return nil
}

// severityOf is the severity that a vector's score says.
func severityOf(v cvss.Vector) string {
	if rating := cvss.Rating(v.Score); rating != "none" {
		return rating
	}
	return "info"
}

// List has the overrides of a team, the oldest first.
func List(ctx context.Context, q db.Querier, teamID string) ([]Override, error) {
	return db.Select(ctx, q, func(r db.Row) (o Override, err error) {
		return o, r.Scan(&o.ID, &o.TemplateID, &o.FindingID, &o.Original, &o.Custom, &o.Reason, &o.Vector,
			db.Into(&o.CreatedAt), db.Into(&o.UpdatedAt))
	}, `SELECT id, template_id, finding_id, original, custom, reason, vector, created_at, updated_at
		FROM finding_severity WHERE team_id = ? ORDER BY id`, teamID)
}

// Set is severities by template and finding.
type Set map[[2]string]string

// Severity is the severity of a finding; own is the template's. An override of one finding is about its hash: that of
// the finding that it names, in whichever scan.
func (set Set) Severity(templateID, findingID, own string) string {
	return cmp.Or(set[[2]string{templateID, ofHash(findingID)}], set[[2]string{templateID, ""}], own)
}

// ofHash is the part of a finding's id that its hash decides.
func ofHash(findingID string) string { return findingID[:min(hashLetters, len(findingID))] }

// hashLetters is how many letters of the id of a finding its hash decides.
const hashLetters = 16

// Find reads a team's overrides for some templates.
func Find(ctx context.Context, q db.Querier, teamID string, templates []string) (Set, error) {
	out := Set{}
	for part := range slices.Chunk(templates, chunk) {
		w := db.InTeam(teamID, "template_id", part)
		err := db.Each(ctx, q, func(r db.Row) error {
			var template, finding, custom string
			err := r.Scan(&template, &finding, &custom)
			out[[2]string{template, ofHash(finding)}] = custom
			return err
		}, `SELECT template_id, finding_id, custom FROM finding_severity`+w.String()+` ORDER BY +id`, w.Args...)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
