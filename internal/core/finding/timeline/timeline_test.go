package timeline

import (
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// What is forgotten is an entry without its values; others, and those of other teams, stay as they are.
func TestForget(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		at := db.At(time.Unix(1000, 0))
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			for i, e := range []Entry{
				{No: 1, Kind: Commented, To: "secret", Actor: "a@example.com", At: at, Operation: "one"},
				{No: 1, Kind: CommentEdited, From: "secret", To: "less", Actor: "a@example.com", At: at, Operation: "one"},
				{No: 1, Kind: Commented, To: "old", Actor: "a@example.com", At: at},
				{No: 1, Kind: Commented, To: "theirs", Actor: "b@example.com", At: at},
			} {
				e.Seq = int64(i + 1)
				if err := Record(t.Context(), tx, "team", e); err != nil {
					return err
				}
				if err := Record(t.Context(), tx, "other", e); err != nil {
					return err
				}
			}
			if err := ForgetOperation(t.Context(), tx, "team", "one"); err != nil {
				return err
			}
			return Forget(t.Context(), tx, "team", []int64{1, 2}, Commented, "a@example.com", at)
		})
		if err != nil {
			t.Fatal(err)
		}
		for team, want := range map[string][]string{"team": {"", "", "", "theirs"}, "other": {"secret", "less", "old", "theirs"}} {
			entries, err := Read(t.Context(), d, db.InTeam(team, "no", []int64{1}), ` ORDER BY +seq`)
			if err != nil || len(entries) != len(want) {
				t.Fatalf("%s: %+v, %v", team, entries, err)
			}
			for i, e := range entries {
				if e.To != want[i] || e.At != at || team == "team" && i < 3 && e.From != "" {
					t.Errorf("%s: %+v, want %q", team, e, want[i])
				}
			}
		}
	})
}
