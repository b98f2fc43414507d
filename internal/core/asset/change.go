package asset

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// ChangeType is a kind of event in the life of an asset.
type ChangeType string

// The kinds.
const (
	Changed       ChangeType = "changed"        // something of it is not as it was
	NotSeen       ChangeType = "not_seen"       // a run that looked at everything did not see it
	SeenAgain     ChangeType = "seen_again"     // it was not seen, and is again
	LabelsChanged ChangeType = "labels_changed" // by people or policies
)

// ChangeTypes are all kinds.
var ChangeTypes = []ChangeType{Changed, NotSeen, SeenAgain, LabelsChanged}

// event is a change as it is written.
type event struct {
	kind   ChangeType
	at     db.Time
	actor  string
	fields []Field
}

// changedField is a field with what it was and what it is.
func changedField(name string, from, to any) Field {
	return Field{name, raw(from), raw(to)}
}

// raw is the JSON of a text, a number or a list of texts, which always has one.
func raw(v any) json.RawMessage {
	doc, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return doc
}

// record writes that the same happened to some assets.
func record(ctx context.Context, tx *db.Tx, teamID string, numbers []int64, rev int64, e event) error {
	fields, err := json.Marshal(e.fields)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(numbers, batch) {
		_, err := tx.Exec(ctx, `INSERT INTO asset_change (team_id, rev, no, type, at, actor, fields) SELECT team_id, ?, no, ?, ?, ?, ? FROM asset WHERE team_id = ? AND no IN (`+marks(len(part))+`)`,
			append([]any{rev, e.kind, e.at, e.actor, fields, teamID}, anys(part)...)...)
		if err != nil {
			return err
		}
	}
	return nil
}
