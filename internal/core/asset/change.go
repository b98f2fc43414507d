package asset

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/asset/observation"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// ChangeType is a kind of recorded change.
type ChangeType string

// The kinds.
const (
	Changed       ChangeType = "changed"
	NotSeen       ChangeType = "not_seen"       // by a run that covered everything
	SeenAgain     ChangeType = "seen_again"     // after NotSeen
	LabelsChanged ChangeType = "labels_changed" // by a person or a policy
)

// ChangeTypes are all kinds.
var ChangeTypes = []ChangeType{Changed, NotSeen, SeenAgain, LabelsChanged}

// event is a change as it is stored; package report reads it.
type event struct {
	kind   ChangeType
	at     db.Time
	actor  string
	fields []observation.Field
}

func changed(name string, from, to any) observation.Field {
	raw := func(v any) json.RawMessage {
		doc, _ := json.Marshal(v) //nolint:errchkjson // a boolean, a text or texts
		return doc
	}
	return observation.Field{Name: name, From: raw(from), To: raw(to)}
}

// record stores the same change of some assets.
func record(ctx context.Context, tx *db.Tx, teamID string, numbers []int64, rev int64, e event) error {
	fields, err := json.Marshal(e.fields)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(numbers, batch) {
		w := db.InTeam(teamID, "no", part)
		if _, err := tx.Exec(ctx, `INSERT INTO asset_change (team_id, rev, no, type, at, actor, fields)
			SELECT team_id, ?, no, ?, ?, ?, ? FROM asset`+w.String(),
			append([]any{rev, e.kind, e.at, e.actor, fields}, w.Args...)...); err != nil {
			return err
		}
	}
	return nil
}
