package skill

import (
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/sharing"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Update changes a skill of the caller's. Of one that comes with the server, an admin turns it on or off for the team,
// and nothing else can be changed.
func (ss *Skills) Update(ctx context.Context, id string, change Change) (s Skill, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return s, err
	}
	if strings.HasPrefix(id, shippedPrefix) {
		return ss.turn(ctx, c, id, change)
	}
	if _, err := creator(ctx, change.Shared != nil && *change.Shared); err != nil {
		return s, err
	}
	err = ss.db.Tx(ctx, func(tx *db.Tx) error {
		if s, err = ss.own(ctx, tx, c, id); err != nil {
			return err
		}
		for to, sent := range map[*string]*string{&s.Description: change.Description, &s.Instructions: change.Instructions,
			&s.License: change.License, &s.Compatibility: change.Compatibility} {
			if sent != nil {
				*to = *sent
			}
		}
		if change.Metadata != nil {
			s.Metadata = *change.Metadata
		}
		if change.Files != nil {
			s.Files = *change.Files
		}
		for to, sent := range map[*bool]*bool{&s.Shared: change.Shared, &s.Enabled: change.Enabled} {
			if sent != nil {
				*to = *sent
			}
		}
		return ss.store(ctx, tx, &s)
	})
	return s, err
}

// own reads a skill of the caller's with its files, locked until tx ends.
func (ss *Skills) own(ctx context.Context, tx *db.Tx, c account.Caller, id string) (s Skill, err error) {
	if _, err := tx.Exec(
		ctx,
		`UPDATE skill SET id = id WHERE id = ? AND team_id = ? AND user_id = ?`,
		db.Clean(id),
		c.TeamID,
		c.UserID,
	); err != nil {
		return s, err
	}
	if s, err = ss.find(ctx, tx, c.TeamID, c.UserID, id); err != nil {
		return s, err
	}
	if s.Origin != sharing.Own {
		return s, errs.New(errs.Forbidden, "not_the_owner", "Only its owner can change this skill.")
	}
	s.Files, err = db.Select(ctx, tx, func(r db.Row) (f File, err error) { return f, r.Scan(&f.Path, &f.Content) },
		`SELECT path, content FROM skill_file WHERE skill_id = ? AND team_id = ? ORDER BY path`, s.ID, s.TeamID)
	return s, err
}

// store checks a changed skill and writes it. A changed text is a new version.
func (ss *Skills) store(ctx context.Context, tx *db.Tx, s *Skill) error {
	if err := s.check(); err != nil {
		return err
	}
	s.UpdatedAt = db.At(ss.now()).Time
	if hash := hashOf(s.Text); hash != s.Hash {
		s.Hash, s.Version = hash, s.Version+1
		if err := writeFiles(ctx, tx, *s); err != nil {
			return err
		}
	}
	_, err := tx.Exec(
		ctx,
		`UPDATE skill SET description = ?, instructions = ?, license = ?, compatibility = ?, metadata = ?, shared = ?,
		enabled = ?, source = ?, revision = ?, version = ?, hash = ?, updated_at = ? WHERE id = ? AND team_id = ?`,
		s.Description,
		s.Instructions,
		s.License,
		s.Compatibility,
		db.Doc(s.Metadata),
		s.Shared,
		s.Enabled,
		s.Source,
		s.Revision,
		s.Version,
		s.Hash,
		db.At(s.UpdatedAt),
		s.ID,
		s.TeamID,
	)
	return err
}

// turn turns a shipped skill on or off for the caller's team.
func (ss *Skills) turn(ctx context.Context, c account.Caller, id string, change Change) (Skill, error) {
	s, err := ss.find(ctx, ss.db, c.TeamID, c.UserID, id)
	if err != nil {
		return s, err
	}
	if _, err := account.TeamAdmin(ctx); err != nil {
		return s, err
	}
	if change.Enabled == nil || change.Description != nil || change.Instructions != nil || change.License != nil ||
		change.Compatibility != nil || change.Metadata != nil || change.Files != nil || change.Shared != nil {
		return s, errs.Field("enabled", "enabled is all that can be changed of a skill that comes with the server.")
	}
	if *change.Enabled {
		_, err = ss.db.Exec(ctx, `DELETE FROM skill_switch WHERE team_id = ? AND name = ?`, c.TeamID, s.Name)
	} else {
		_, err = ss.db.Exec(
			ctx,
			`INSERT INTO skill_switch (team_id, name) VALUES (?, ?) ON CONFLICT (team_id, name) DO NOTHING`,
			c.TeamID,
			s.Name,
		)
	}
	s.Enabled = *change.Enabled
	return s, err
}

// Delete deletes a skill of the caller's or, for an admin, a shared one.
func (ss *Skills) Delete(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if strings.HasPrefix(id, shippedPrefix) {
		if _, err := ss.find(ctx, ss.db, c.TeamID, c.UserID, id); err != nil {
			return err
		}
		return errs.New(
			errs.Conflict,
			"skill_is_shipped",
			"A skill that comes with the server cannot be deleted; turn it off with enabled.",
		)
	}
	return db.ExecOr(
		ctx,
		ss.db,
		errs.Missing("skill"),
		`DELETE FROM skill WHERE id = ? AND team_id = ? AND (user_id = ? OR shared AND ?)`,
		db.Clean(id),
		c.TeamID,
		c.UserID,
		c.Role == account.Admin,
	)
}
