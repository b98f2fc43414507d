package leak

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// List is a breach list that was loaded.
type List struct {
	Name     string    `json:"name"`
	Leaks    int       `json:"leaks"`
	LoadedAt time.Time `json:"loaded_at"` // the last time
}

// Loaded says what became of the lines of a list.
type Loaded struct {
	Lines    int      `json:"lines"`    // that are leaks
	New      int      `json:"new"`      // of them, not known before
	Rejected int      `json:"rejected"` // that are none
	Reasons  []string `json:"reasons"`  // of the first 20 that were rejected
}

const (
	loadAtOnce = 1000
	maxReasons = 20
	maxName    = 200
)

// Load adds the lines of a breach list, for an operator. What was loaded before, from this list or another, is not
// added twice; what was read before an error stays, and loading the list again goes on from there. progress, if it is
// not nil, is told what was done so far. It needs memory for 1,000 lines.
func (ls *Leaks) Load(ctx context.Context, name string, in io.Reader, progress func(Loaded)) (done Loaded, err error) {
	done.Reasons = []string{}
	if name = db.Clean(name); name == "" || len(name) > maxName {
		return done, errs.Field("name", "The name of a list has 1 to %d bytes.", maxName)
	}
	key, err := ls.hashKey(ctx)
	if err != nil {
		return done, err
	}
	r, err := newReader(in)
	if err != nil {
		return done, err
	}
	list, err := ls.list(ctx, name)
	if err != nil {
		return done, err
	}
	batch := make([]record, 0, loadAtOnce)
	for ended := false; !ended; {
		rec, err := r.next()
		if err == nil {
			if rec.hashes = rec.names(key); len(rec.hashes) == 0 {
				err = rejected{r.number, errLogin}
			}
		}
		switch bad := (rejected{}); {
		case errors.Is(err, io.EOF):
			ended = true
		case errors.As(err, &bad):
			if done.Rejected++; len(done.Reasons) < maxReasons {
				done.Reasons = append(done.Reasons, err.Error())
			}
			continue
		case err != nil:
			return done, err
		default:
			batch = append(batch, rec)
		}
		if len(batch) < loadAtOnce && !ended {
			continue
		}
		added, err := ls.add(ctx, key, list, batch)
		if err != nil {
			return done, err
		}
		done.Lines, done.New = done.Lines+len(batch), done.New+added
		batch = batch[:0]
		if progress != nil {
			progress(done)
		}
	}
	return done, nil
}

// list is the id of a list, which is made when there is none of the name.
func (ls *Leaks) list(ctx context.Context, name string) (id string, err error) {
	err = ls.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO leak_list (id, name, loaded_at) VALUES (?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET loaded_at = excluded.loaded_at`, ids.New(), name, db.At(ls.now())); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT id FROM leak_list WHERE name = ?`, name).Scan(&id)
	})
	return id, err
}

// add stores records, and returns how many were new.
func (ls *Leaks) add(ctx context.Context, key []byte, list string, records []record) (added int, err error) {
	now := db.At(ls.now())
	var leaks, names, in [][]any
	known := map[string]bool{}
	for _, r := range records {
		plain, err := json.Marshal(r.Line)
		if err != nil {
			return 0, err
		}
		id := hash(key, "line", string(plain), r.date.UTC().Format(time.RFC3339))
		if known[id] {
			continue
		}
		known[id] = true
		sealed, err := ls.box.Seal(plain, lineContext(id))
		if err != nil {
			return 0, err
		}
		leaks = append(leaks, []any{id, sealed, r.at(), now})
		in = append(in, []any{list, id})
		for _, name := range r.hashes {
			names = append(names, []any{name, id})
		}
	}
	err = ls.db.Tx(ctx, func(tx *db.Tx) error {
		before, err := countOf(ctx, tx, known)
		if err != nil {
			return err
		}
		if _, err = tx.InsertNew(ctx, "leak (id, sealed, log_date, fetched_at)", "id", leaks); err != nil {
			return err
		}
		added = len(known) - before
		if _, err = tx.InsertNew(ctx, "leak_name (hash, leak_id)", "hash, leak_id", names); err != nil {
			return err
		}
		_, err = tx.InsertNew(ctx, "leak_in_list (list_id, leak_id)", "leak_id, list_id", in)
		return err
	})
	return added, err
}

// at is the column value of the record's date: 0 where there is none.
func (r record) at() int64 {
	if r.date.IsZero() {
		return 0
	}
	return r.date.UnixMicro()
}

// countOf is how many of some ids there are.
func countOf(ctx context.Context, q db.Querier, ids map[string]bool) (int, error) {
	all := make([]string, 0, len(ids))
	for id := range ids {
		all = append(all, id)
	}
	var w db.Where
	db.In(&w, "id", all)
	return db.Value[int](ctx, q, `SELECT count(*) FROM leak`+w.String(), w.Args...)
}

// Lists are the lists that were loaded, by name.
func (ls *Leaks) Lists(ctx context.Context) ([]List, error) {
	return db.Select(ctx, ls.db, func(r db.Row) (l List, err error) {
		return l, r.Scan(&l.Name, db.Into(&l.LoadedAt), &l.Leaks)
	}, `SELECT name, loaded_at, (SELECT count(*) FROM leak_in_list i WHERE i.list_id = leak_list.id) FROM leak_list ORDER BY name`)
}

// Remove deletes a list, and the leaks that are in no other. NotFound when there is none of the name.
func (ls *Leaks) Remove(ctx context.Context, name string) error {
	return ls.db.Tx(ctx, func(tx *db.Tx) error {
		if err := db.ExecOr(ctx, tx, errs.New(errs.NotFound, "list_not_found", "There is no breach list of this name."),
			`DELETE FROM leak_list WHERE name = ?`, db.Clean(name)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM leak WHERE NOT EXISTS (SELECT 1 FROM leak_in_list i WHERE i.leak_id = leak.id)`)
		return err
	})
}
