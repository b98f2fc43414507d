package audit

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/auditfile"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// sealing is a log whose chains are sealed.
func sealing(t *testing.T, d *db.DB, keep time.Duration) (*Log, *clock) {
	t.Helper()
	l, c := open(d, keep)
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	l.box = box
	return l, c
}

func verify(t *testing.T, l *Log, team string) Verification {
	t.Helper()
	v, err := l.Verify(as(t.Context(), team, account.Viewer), 0, Earlier{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func exec(t *testing.T, d *db.DB, query string, args ...any) {
	t.Helper()
	if _, err := d.Exec(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// TestTamperingIsFound changes one thing in the chain of a team, each time of another one, in all the ways that the
// database allows. What else is in the database stays intact.
func TestTamperingIsFound(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, _ := sealing(t, d, 0)
		add(t, l, Entry{TeamID: "other"})
		changes := [][]string{
			{`DELETE FROM audit_entry WHERE team_id = ? AND seq = 1`},
			{`DELETE FROM audit_entry WHERE team_id = ? AND seq = 3`},
			{`DELETE FROM audit_entry WHERE team_id = ? AND seq = 5`},
			{`DELETE FROM audit_entry WHERE team_id = ?`},
			{`DELETE FROM audit_chain WHERE team_id = ?`},
			{`UPDATE audit_entry SET seq = seq + 10 WHERE team_id = ? AND seq IN (2, 3)`,
				`UPDATE audit_entry SET seq = 15 - seq WHERE team_id = ? AND seq > 10`},
			{`UPDATE audit_entry SET seq = 0 WHERE team_id = ? AND seq = 5`},
			{`UPDATE audit_entry SET seq = seq + 1 WHERE team_id = ? AND seq = 5`},
			{`UPDATE audit_entry SET team_id = 'other' || team_id WHERE team_id = ? AND seq = 2`},
			{`UPDATE audit_chain SET seq = seq - 1 WHERE team_id = ?`},
			{`UPDATE audit_chain SET floor_seq = 2, floor_hash = (SELECT hash FROM audit_entry e WHERE e.seq = 2
				AND e.team_id = audit_chain.team_id) WHERE team_id = ?`},
			{`INSERT INTO audit_entry (id, team_id, user_id, email, action, object_id, method, path, status, ip, source, created_at)
				SELECT 'forged', team_id, user_id, email, action, object_id, method, path, status, ip, source, created_at
				FROM audit_entry WHERE team_id = ? AND seq = 4`},
		}
		for _, column := range []string{"id", "user_id", "email", "action", "object_id", "method", "path", "ip", "source", "hash"} {
			changes = append(changes, []string{`UPDATE audit_entry SET ` + column + ` = 'x' || ` + column + ` WHERE team_id = ? AND seq = 2`})
		}
		for _, column := range []string{"status", "created_at"} {
			changes = append(changes, []string{`UPDATE audit_entry SET ` + column + ` = ` + column + ` + 1 WHERE team_id = ? AND seq = 5`})
		}
		for i, statements := range changes {
			team := fmt.Sprint("team", i)
			for n := range 5 {
				add(t, l, Entry{TeamID: team, UserID: "u", Email: "ada@example.com", Action: "a", Object: fmt.Sprint(n), Method: "POST",
					Path: "/v1/x", Status: 200, IP: "::1", Source: API})
			}
			if v := verify(t, l, team); !v.IsIntact() || v.Entries != 5 || v.LastSeq != 5 || v.Next != 0 {
				t.Fatalf("before: %+v", v)
			}
			for _, statement := range statements {
				exec(t, d, statement, team)
			}
			if v := verify(t, l, team); v.IsIntact() {
				t.Errorf("%q is not found", statements)
			}
			add(t, l, Entry{TeamID: team}) // goes on, and does not hide it
			if v := verify(t, l, team); v.IsIntact() {
				t.Errorf("%q is not found after another entry", statements)
			}
		}
		if v := verify(t, l, "other"); !v.IsIntact() {
			t.Errorf("%+v", v)
		}
	})
}

// TestChainWrittenAnewIsFound: who has the database, but not the server's key, writes a chain that fits in itself.
func TestChainWrittenAnewIsFound(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, _ := sealing(t, d, 0)
		for range 3 {
			add(t, l, Entry{TeamID: "blue", Email: "eve@example.com"})
		}
		noted := verify(t, l, "blue")
		forger := New(d, nil, 0, l.now, slog.New(slog.DiscardHandler))
		exec(t, d, `UPDATE audit_entry SET email = 'ada@example.com', seq = 0`)
		exec(t, d, `DELETE FROM audit_chain`)
		if err := forger.Adopt(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v := verify(t, forger, "blue"); !v.IsIntact() || v.Entries != 3 {
			t.Fatalf("the forged chain does not even fit: %+v", v)
		}
		if v := verify(t, l, "blue"); v.IsIntact() {
			t.Error("a forged chain is not found")
		}
		add(t, l, Entry{TeamID: "blue"})
		v := verify(t, l, "blue")
		if v.IsIntact() || !strings.Contains(fmt.Sprint(v.Problems), "is missing") {
			t.Errorf("the next entry hides it: %+v", v.Problems)
		}
		ctx := as(t.Context(), "blue", account.Admin)
		v, err := l.Verify(ctx, 0, Earlier{Seq: noted.LastSeq, Hash: noted.LastHash})
		if err != nil || !strings.Contains(fmt.Sprint(v.Problems), "than was noted") {
			t.Errorf("%+v, %v", v.Problems, err)
		}
	})
}

// TestNodesKeepOneChain: two nodes write entries of two teams at once, in batches whose teams come in either order.
func TestNodesKeepOneChain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, _ := sealing(t, d, 0)
		other := New(d, l.box, 0, l.now, slog.New(slog.DiscardHandler))
		const batches = 40
		var group sync.WaitGroup
		for i, node := range []*Log{l, other} {
			group.Go(func() {
				for range batches {
					two := []Entry{{ID: ids.New(), TeamID: "blue", CreatedAt: l.now()}, {ID: ids.New(), TeamID: "red", CreatedAt: l.now()}}
					if i == 1 {
						two[0], two[1] = two[1], two[0]
					}
					if err := node.write(t.Context(), two); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		for _, team := range []string{"blue", "red"} {
			if v := verify(t, other, team); !v.IsIntact() || v.LastSeq != 2*batches || v.Entries != 2*batches {
				t.Errorf("%s: %+v", team, v)
			}
		}
	})
}

// TestEntriesFromBeforeAreTakenIn: at the start, by the next entry, or by who reads first.
func TestEntriesFromBeforeAreTakenIn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, c := sealing(t, d, 0)
		const n = adoptBatch + 7
		for _, team := range []string{"start", "entry", "reader"} {
			if err := d.Tx(t.Context(), func(tx *db.Tx) error {
				for i := range n {
					if _, err := tx.Exec(t.Context(), `INSERT INTO audit_entry (id, team_id, user_id, email, action, object_id, method, path,
						status, ip, source, created_at) VALUES (?, ?, 'u', 'ada@example.com', 'a', '', 'POST', '/v1/x', 200, '::1', 'api', ?)`,
						ids.New(), team, db.At(c.Add(time.Duration(i%10)*time.Second))); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		add(t, l, Entry{TeamID: "entry"})
		found, err := l.List(as(t.Context(), "reader", account.Viewer), Filter{}, 0, 3)
		if err != nil || len(found) != 3 || found[0].Seq != n || found[2].CreatedAt.Before(c.Add(9*time.Second)) {
			t.Errorf("%+v, %v", found, err)
		}
		if err := l.Adopt(t.Context()); err != nil {
			t.Fatal(err)
		}
		for team, want := range map[string]int{"start": n, "entry": n + 1, "reader": n} {
			if v := verify(t, l, team); !v.IsIntact() || v.Entries != want || v.LastSeq != int64(want) {
				t.Errorf("%s: %+v", team, v)
			}
		}
		exec(t, d, `UPDATE audit_entry SET seq = 0 WHERE team_id = 'start' AND seq = 5`)
		err = l.Adopt(t.Context())
		if v := verify(t, l, "start"); err != nil || v.IsIntact() {
			t.Errorf("an entry is taken in again, %v", err)
		}
	})
}

// TestOldEntriesLeaveAChain that begins later, and files of it.
func TestOldEntriesLeaveAChain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, c := sealing(t, d, time.Hour)
		for range 10 {
			c.Time = c.Add(10 * time.Minute)
			add(t, l, Entry{TeamID: "blue", Object: "=1"})
		}
		before := verify(t, l, "blue")
		if err := l.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		v := verify(t, l, "blue")
		if !v.IsIntact() || v.FirstSeq != 4 || v.LastHash != before.LastHash || v.PrevHash == "" {
			t.Errorf("%+v", v)
		}
		ctx := as(t.Context(), "blue", account.Viewer)
		if _, err := l.Verify(ctx, 0, Earlier{Seq: 2, Hash: "x"}); !errs.Is(err, errs.Invalid) {
			t.Errorf("compared with what was removed: %v", err)
		}
		for format, after := range map[string]int64{auditfile.JSONL: 0, auditfile.CSV: 6} {
			var out bytes.Buffer
			write, err := l.Export(ctx, format, after)
			if err != nil {
				t.Fatal(err)
			}
			if err := write(&out); err != nil {
				t.Fatal(err)
			}
			r, err := auditfile.Verify(&out)
			if err != nil || !r.IsIntact() || r.LastHash != v.LastHash || r.FirstSeq != max(4, after+1) {
				t.Errorf("%s: %+v, %v", format, r, err)
			}
		}
		c.Time = c.Add(24 * time.Hour)
		if err := l.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		add(t, l, Entry{TeamID: "blue"})
		if v := verify(t, l, "blue"); !v.IsIntact() || v.FirstSeq != 11 {
			t.Errorf("%+v", v)
		}
	})
}

func TestReadingByNumber(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, _ := sealing(t, d, 0)
		first := add(t, l, Entry{TeamID: "blue", Action: "one", Method: "POST", Status: 200, Object: "7", Path: "/v1/x"})
		second := add(t, l, Entry{TeamID: "blue", Action: "two", Method: "PATCH", Status: 404, Path: "/v1/y"})
		add(t, l, Entry{TeamID: "red", Action: "three"})
		ctx := as(t.Context(), "blue", account.Viewer)
		for _, test := range []struct {
			filter Filter
			before int64
			want   string
		}{
			{Filter{}, 0, "two one"}, {Filter{}, 2, "one"}, {Filter{}, 1, ""}, {Filter{Status: 404}, 0, "two"},
			{Filter{Method: "POST"}, 0, "one"}, {Filter{Object: "7"}, 0, "one"}, {Filter{Word: "/v1/y"}, 0, "two"},
		} {
			found, err := l.List(ctx, test.filter, test.before, 10)
			if got := strings.Join(actions(found), " "); err != nil || got != test.want {
				t.Errorf("%+v: %q, %v", test, got, err)
			}
		}
		one, none, err := l.One(ctx, first)
		two, prev, err2 := l.One(ctx, second)
		if err != nil || err2 != nil || none != "" || prev != one.Hash || two.Seq != 2 || two.File().Sum(prev) != two.Hash {
			t.Errorf("%+v %q, %+v %q, %v, %v", one, none, two, prev, err, err2)
		}
		for who, kind := range map[context.Context]errs.Kind{as(t.Context(), "blue", account.Guest): errs.Forbidden,
			t.Context(): errs.Unauthenticated} {
			_, listed := l.List(who, Filter{}, 0, 1)
			_, _, got := l.One(who, first)
			_, verified := l.Verify(who, 0, Earlier{})
			_, exported := l.Export(who, auditfile.JSONL, 0)
			for _, err := range []error{listed, got, verified, exported} {
				if !errs.Is(err, kind) {
					t.Errorf("%s: %v", kind, err)
				}
			}
		}
		if _, _, err := l.One(as(t.Context(), "red", account.Admin), first); !errs.Is(err, errs.NotFound) {
			t.Errorf("another team: %v", err)
		}
		if _, err := l.Export(ctx, auditfile.CSV, 3); !errs.Is(err, errs.Invalid) {
			t.Errorf("after the end: %v", err)
		}
		if _, err := l.Verify(ctx, 3, Earlier{}); !errs.Is(err, errs.Invalid) {
			t.Errorf("after the end: %v", err)
		}
		if v := verify(t, l, "nobody"); !v.IsIntact() || v.Entries != 0 {
			t.Errorf("%+v", v)
		}
	})
}
