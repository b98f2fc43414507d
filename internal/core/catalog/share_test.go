package catalog_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

func (s *shop) create(t testing.TB, ctx context.Context, id string) catalog.Template {
	t.Helper()
	made, err := s.Create(ctx, catalog.NewTemplate{Text: written(id, "The "+id, "high", "x,own"), Dir: "mine",
		Prompt: "find it"})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestOwnTemplates(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := open(t, d)
		made := s.create(t, s.ada, "a")
		got, err := s.OwnByID(s.ada, made.ID)
		if err != nil || got.WrittenID != "a" || got.Path != "mine/a.yaml" || got.Prompt != "find it" || !got.IsOwn() ||
			string(got.Raw) != string(made.Raw) || got.Info.Metadata["vendor"] != "acme" {
			t.Fatalf("%+v %v", got, err)
		}
		s.later(time.Minute)
		changed, err := s.Update(s.ada, made.ID,
			catalog.NewTemplate{Text: written("b", "Better", "low", "x"), Filename: "b.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		got, err = s.OwnByID(s.ada, made.ID)
		if err != nil || got.WrittenID != "b" || got.Path != "mine/b.yaml" || got.Prompt != "find it" ||
			!got.CreatedAt.Equal(made.CreatedAt) || !got.UpdatedAt.Equal(changed.UpdatedAt) ||
			got.UpdatedAt.Equal(got.CreatedAt) {
			t.Errorf("%+v %v", got, err)
		}
		second := s.create(t, s.ada, "c")
		list, total, err := s.Own(s.ada, page.Window{Limit: 1}, false)
		if err != nil || total != 2 || len(list) != 1 || list[0].ID != second.ID || list[0].Raw != nil {
			t.Errorf("%+v %d %v", list, total, err)
		}
		for name, err := range map[string]error{
			"get":    second1(s.OwnByID(s.eve, made.ID)),
			"update": second1(s.Update(s.eve, made.ID, catalog.NewTemplate{Text: written("b", "B", "low", "x")})),
			"delete": s.Delete(s.eve, made.ID),
			"share":  second1(s.ShareTemplate(s.eve, made.ID, catalog.ShareUpdate{Type: new(catalog.Unlisted)})),
		} {
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("a stranger's %s: %v", name, err)
			}
		}
		if _, total, err := s.Own(s.eve, page.Window{Limit: 10}, true); err != nil || total != 0 {
			t.Error(total, err)
		}
		if err := s.Delete(s.ada, made.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.OwnByID(s.ada, made.ID); !errs.Is(err, errs.NotFound) {
			t.Error(err)
		}
	})
}

func second1[T any](_ T, err error) error { return err }

func TestBadTemplatesAreRefusedByLineAndKey(t *testing.T) {
	s := open(t, dbtest.Open(t, "sqlite"))
	good := written("a", "A", "high", "x")
	for name, c := range map[string]struct {
		new   catalog.NewTemplate
		param string
		words []string
	}{
		"not YAML": {catalog.NewTemplate{Text: "a: [b"}, "template", []string{"template", ":1"}},
		"an unknown key": {catalog.NewTemplate{Text: good + "wrong: 1\n"}, "template",
			[]string{"template.yaml:21", "wrong"}},
		"a bad severity": {catalog.NewTemplate{Text: strings.Replace(good, "high", "awful", 1)}, "template",
			[]string{":5", "severity"}},
		"a bad regex": {catalog.NewTemplate{Text: strings.Replace(good, `words: ["needle"]`, `regex: ["("]`, 1)},
			"template", []string{"matchers"}},
		"a file": {catalog.NewTemplate{Text: strings.Replace(good, "    matchers:",
			"    payloads:\n      w: /etc/passwd\n    matchers:", 1)}, "template", []string{"payloads"}},
		"a folder outside":   {catalog.NewTemplate{Text: good, Dir: "../x"}, "dir", nil},
		"a file name's path": {catalog.NewTemplate{Text: good, Filename: "x/y.yaml"}, "filename", nil},
		"a long prompt":      {catalog.NewTemplate{Text: good, Prompt: strings.Repeat("x", 9000)}, "prompt", nil},
	} {
		_, err := s.Create(s.ada, c.new)
		e := errs.From(err)
		if e == nil || e.Kind != errs.Invalid || e.Param != c.param {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, word := range c.words {
			if !strings.Contains(e.Message, word) {
				t.Errorf("%s: %q does not name %q", name, e.Message, word)
			}
		}
	}
	if _, total, err := s.Own(s.ada, page.Window{Limit: 1}, false); err != nil || total != 0 {
		t.Error(total, err)
	}
}

func TestSharesOpenForWhomTheyName(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := open(t, d)
		made := s.create(t, s.ada, "a")
		eve := caller(t, s.eve)
		share, err := s.ShareTemplate(s.ada, made.ID, catalog.ShareUpdate{Type: new(catalog.Organization)})
		if err != nil || share.ID == made.ID {
			t.Fatal(share, err)
		}
		if _, err := s.ShareTemplate(s.ada, made.ID, catalog.ShareUpdate{Type: new(catalog.Unlisted)}); !errs.Is(err,
			errs.Conflict) {
			t.Errorf("shared twice: %v", err)
		}
		nobody := t.Context()
		for _, c := range []struct {
			name                         string
			up                           catalog.ShareUpdate
			link, byID, nobody, eveScans bool
		}{
			{"our own organization", catalog.ShareUpdate{Type: new(catalog.Organization)}, false, false, false, false},
			{"her team", catalog.ShareUpdate{Organizations: []string{eve.TeamID}}, true, true, false, true},
			{"her domain", catalog.ShareUpdate{Organizations: []string{"elsewhere.net"}}, true, true, false, true},
			{"another domain", catalog.ShareUpdate{Organizations: []string{"where.net", ids.New()}}, false, false, false, false},
			{"her address", catalog.ShareUpdate{Type: new(catalog.Users), Emails: []string{"Eve@elsewhere.net"}}, true, true,
				false, true},
			{"another address", catalog.ShareUpdate{Emails: []string{"adam@elsewhere.net"}}, false, false, false, false},
			{"everybody with the link", catalog.ShareUpdate{Type: new(catalog.Unlisted)}, true, false, true, true},
		} {
			if _, err := s.UpdateShare(s.ada, share.ID, c.up); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			_, err := s.SharedForScan(t.Context(), eve.TeamID, share.ID)
			for who, got := range map[string]struct {
				err  error
				want bool
			}{
				"Eve by the link":          {reads(s, s.eve, share.ID), c.link},
				"Eve by the template's id": {reads(s, s.eve, made.ID), c.byID}, "nobody": {reads(s, nobody, share.ID), c.nobody},
				"Ada by the link": {reads(s, s.ada, share.ID), true}, "Ada by the template's id": {reads(s, s.ada, made.ID), true},
				"Eve's scan": {err, c.eveScans},
			} {
				if (got.err == nil) != got.want || got.err != nil && !errs.Is(got.err, errs.NotFound) {
					t.Errorf("%s: %s: %v", c.name, who, got.err)
				}
			}
			texts, err := s.Texts(t.Context(), eve.TeamID, []string{share.ID})
			if _, ok := texts[share.ID]; err != nil || ok != c.eveScans {
				t.Errorf("%s: Eve's worker reads it: %v, %v", c.name, ok, err)
			}
		}
		for name, err := range map[string]error{"update": second1(s.UpdateShare(s.eve, share.ID, catalog.ShareUpdate{})),
			"end": s.Unshare(s.eve, share.ID)} {
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("a stranger's %s: %v", name, err)
			}
		}
		if err := s.Unshare(s.ada, made.ID); err != nil {
			t.Fatal(err)
		}
		if err := reads(s, s.ada, share.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("a link that was ended: %v", err)
		}
		again, err := s.ShareTemplate(s.ada, made.ID, catalog.ShareUpdate{Type: new(catalog.Unlisted)})
		if err != nil || again.ID == share.ID {
			t.Errorf("shared again: %+v %v", again, err)
		}
		if err := s.Delete(s.ada, made.ID); err != nil {
			t.Fatal(err)
		}
		if err := reads(s, s.ada, again.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("what was deleted is still shared: %v", err)
		}
	})
}

func reads(s *shop, ctx context.Context, id string) error {
	_, _, err := s.Shared(ctx, id)
	return err
}

func TestSharesEnd(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := open(t, d)
		made := s.create(t, s.ada, "a")
		day := "1d"
		share, err := s.ShareTemplate(s.ada, made.ID, catalog.ShareUpdate{Type: new(catalog.Unlisted), TTL: &day})
		if err != nil || share.ExpiresAt.Sub(share.CreatedAt) != 24*time.Hour {
			t.Fatal(share, err)
		}
		s.later(24*time.Hour - time.Second)
		if err := reads(s, s.eve, share.ID); err != nil {
			t.Error("it ends too soon", err)
		}
		s.later(time.Second)
		_, err = s.UpdateShare(s.ada, share.ID, catalog.ShareUpdate{})
		if _, total, lerr := s.Shares(s.ada, nil, page.Window{Limit: 10}, true); !errs.Is(err, errs.NotFound) ||
			lerr != nil || total != 0 {
			t.Error("it can be changed when it has ended", err, lerr, total)
		}
		for who, ctx := range map[string]context.Context{"Eve": s.eve, "Ada": s.ada, "nobody": t.Context()} {
			if err := reads(s, ctx, share.ID); !errs.Is(err, errs.NotFound) {
				t.Errorf("%s reads what has ended: %v", who, err)
			}
		}
		again, err := s.ShareTemplate(s.ada, made.ID, catalog.ShareUpdate{Type: new(catalog.Unlisted)})
		if err != nil || again.ID == share.ID {
			t.Errorf("shared again: %+v %v", again, err)
		}
	})
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for ttl, want := range map[string]string{
		"1d": "2026-02-01T12:00:00Z", "1m": "2026-03-03T12:00:00Z", "2w": "2026-02-14T12:00:00Z",
		"1y": "2027-01-31T12:00:00Z", "90s": "2026-01-31T12:01:30Z",
		"5min": "2026-01-31T12:05:00Z", "3h": "2026-01-31T15:00:00Z", "never": "0001-01-01T00:00:00Z",
		"": "0001-01-01T00:00:00Z", "0": "0001-01-01T00:00:00Z",
	} {
		if got, err := catalog.Expiry(ttl, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q: %v %v, want %s", ttl, got, err, want)
		}
	}
	for _, ttl := range []string{"d", "1", "-1d", "1.5d", "1 d", "1D", "9999999d", "999999y", "0d", "1d1h"} {
		if got, err := catalog.Expiry(ttl, now); !errs.Is(err, errs.Invalid) {
			t.Errorf("%q is taken: %v", ttl, got)
		}
	}
}

func TestSharesAreListed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := open(t, d)
		for _, id := range []string{"b", "A", "c"} {
			if _, err := s.ShareTemplate(s.ada, s.create(t, s.ada, id).ID,
				catalog.ShareUpdate{Type: new(catalog.Unlisted)}); err != nil {
				t.Fatal(err)
			}
		}
		listed := func(sorts []page.Sort, w page.Window) (out []string) {
			found, total, err := s.Shares(s.ada, sorts, w, false)
			if err != nil || total != 3 {
				t.Fatal(total, err)
			}
			for _, one := range found {
				out = append(out, one.Template.WrittenID)
			}
			return out
		}
		if got := listed(nil, page.Window{Limit: 10}); !slices.Equal(got, []string{"c", "A", "b"}) {
			t.Errorf("the newest first: %v", got)
		}
		if got := listed([]page.Sort{{Column: catalog.Sortable["id"]}}, page.Window{Limit: 2, Offset: 1}); !slices.Equal(got,
			[]string{"b", "c"}) {
			t.Errorf("a window by id: %v", got)
		}
		if _, total, err := s.Shares(s.eve, nil, page.Window{Limit: 10}, false); err != nil || total != 0 {
			t.Error("Eve sees them", total, err)
		}
	})
}

func TestViewersAndFreePlans(t *testing.T) {
	s := open(t, dbtest.Open(t, "sqlite"))
	made := s.create(t, s.ada, "a")
	c := caller(t, s.ada)
	c.Role, c.Plan = account.Viewer, account.Free
	viewer := account.WithCaller(t.Context(), c)
	for name, err := range map[string]error{
		"create": second1(s.Create(viewer, catalog.NewTemplate{Text: written("b", "B", "low", "x")})),
		"update": second1(s.Update(viewer, made.ID, catalog.NewTemplate{Text: written("b", "B", "low", "x")})),
		"delete": s.Delete(viewer, made.ID),
		"share":  second1(s.ShareTemplate(viewer, made.ID, catalog.ShareUpdate{Type: new(catalog.Unlisted)})),
		"end":    s.Unshare(viewer, made.ID),
		"early":  second1(s.EarlyByID(viewer, "a")),
	} {
		if !errs.Is(err, errs.Forbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
