package run

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Elapsed is how long a run took, or has taken until now; zero times: not yet.
func Elapsed(started, ended, now time.Time) time.Duration {
	switch {
	case started.IsZero():
		return 0
	case ended.IsZero():
		return max(0, now.Sub(started))
	}
	return ended.Sub(started)
}

// NewID is an id for a scan or an enumeration: 20 of [0-9a-v], later ones sort later.
// Clients that upload results check for that form.
func NewID(now time.Time) string {
	var b [12]byte
	binary.BigEndian.PutUint32(b[:4], uint32(now.Unix()))
	rand.Read(b[4:]) // never fails since Go 1.24
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}

// MaxName is how many bytes the name of a scan or an enumeration has at most.
const MaxName = 200

// CheckName trims a name and refuses an empty or too long one.
func CheckName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > MaxName {
		return "", errs.Field("name", "name must have 1 to %d bytes.", MaxName)
	}
	return db.Clean(name), nil
}

// Update replaces a list of a configuration by another, or adds the missing values; nil leaves it as it is.
func Update[T comparable](list *[]T, by []T, replace bool) {
	if by != nil && replace {
		*list = by
		return
	}
	for _, value := range by {
		if !slices.Contains(*list, value) {
			*list = append(*list, value)
		}
	}
}

// MaxDelete is how many scans or enumerations one call deletes.
const MaxDelete = 1000

// Delete stops scans or enumerations of the caller's team and calls fn to delete them, in one transaction. It fails
// when the team does not have one of them; param is the field that names them.
func (rs Runs) Delete(
	ctx context.Context, ids []string, param string, fn func(tx *db.Tx, teamID string, ids []string) error,
) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 0 || len(ids) > MaxDelete {
		return errs.Field(param, "%s must name 1 to %d %ss.", param, MaxDelete, rs.Kind)
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids))) // every transaction locks in this order
	return rs.DB.Tx(ctx, func(tx *db.Tx) error {
		for _, id := range ids { // all of them: every transaction locks them before other rows
			if err := db.ExecOr(ctx, tx, errs.Missing(rs.Kind), rs.sql(`UPDATE KIND SET updated_at = updated_at
				WHERE id = ? AND team_id = ? AND status <> ?`), db.Clean(id), c.TeamID, Deleted); err != nil {
				return err
			}
		}
		for _, id := range ids {
			if err := IgnoreLate(rs.stop(ctx, tx, id)); err != nil {
				return err
			}
		}
		return fn(tx, c.TeamID, ids)
	})
}
