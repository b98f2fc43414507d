package asset

import (
	"bytes"
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// TestDiff compares moments of an enumeration.
func TestDiff(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		stays, goes := web("a.example.com", 443, "A", "Nginx:1", "PHP"), web("b.example.com", 443, "B")
		closes := discover.Asset{Host: "a.example.com", Port: 22}
		r.observe(t, "e", 1, stays, goes, closes)
		r.end(t, "e", 1, true)
		first := r.clock
		r.clock = r.clock.Add(time.Hour)
		stays.Technologies, stays.TLS = []string{"Nginx:2", "PHP"}, &discover.TLS{Serial: "02"}
		r.observe(t, "e", 2, stays, discover.Asset{Host: "a.example.com", Port: 80}, discover.Asset{Host: "c.example.com", Port: 80})
		r.end(t, "e", 2, true)
		second := r.clock
		r.clock = r.clock.Add(time.Hour)
		r.observe(t, "e", 3, stays, goes, closes)
		r.end(t, "e", 3, true)

		diff := func(from, to time.Time) Diff {
			d, err := r.Diff(r.alice, "e", from, to)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		places := func(s Some[Place]) (out []string) {
			for _, p := range s.First {
				out = append(out, p.Host)
			}
			return out
		}
		got := diff(first, second)
		if !slices.Equal(places(got.Assets.Added), []string{"a.example.com", "c.example.com"}) || !slices.Equal(places(got.Assets.Removed), []string{"a.example.com", "b.example.com"}) ||
			got.Ports.Added.Count != 1 || got.Ports.Added.First[0].Port != 80 || got.Ports.Removed.Count != 1 || got.Ports.Removed.First[0].Port != 22 {
			t.Errorf("places: %+v", got)
		}
		if n := got.Technologies; n.Added.Count != 1 || n.Added.First[0].Technology != "Nginx:2" || n.Removed.Count != 1 || n.Removed.First[0].Technology != "Nginx:1" {
			t.Errorf("technologies: %+v", n)
		}
		if c := got.Certificates; c.Added.Count != 1 || c.Added.First[0].Serial != "02" || c.Removed.Count != 1 || c.Removed.First[0].Serial != "01" {
			t.Errorf("certificates: %+v", c)
		}
		got = diff(first, r.clock) // what went has come back
		if !slices.Equal(places(got.Assets.Removed), nil) || got.Assets.Added.Count != 0 || got.Technologies.Added.Count != 1 {
			t.Errorf("over both: %+v", got)
		}
		if got := diff(second.Add(time.Minute), second.Add(2*time.Minute)); got.Assets.Added.Count+got.Assets.Removed.Count+got.Technologies.Added.Count != 0 {
			t.Errorf("when nothing happened: %+v", got)
		}
		if _, err := r.Diff(r.stranger, "e", first, second); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		_, err := r.Diff(r.alice, "e", second, first)
		wantParam(t, err, "from")
	})
}

// TestMisconfigurations lists what is wrong, and pictures.
func TestMisconfigurations(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		bad := web("bad.example.com", 443, "Bad")
		bad.Misconfiguration = []discover.Misconfiguration{{Type: "dangling_dns", Detail: "to nobody"}, {Type: "origin_exposure", Detail: "192.0.2.3"}}
		bad.Screenshot = []byte("\x89PNG\r\n\x1a\nand more")
		no := web("no.example.com", 443, "No")
		no.Screenshot = []byte("<svg onload=alert(1)>")
		r.observe(t, "e", 1, bad, no)
		found, total, err := r.Misconfigurations(r.alice, "", "", page.Window{Offset: 1, Limit: 5})
		if err != nil || total != 2 || len(found) != 1 || found[0].Detail != "192.0.2.3" || found[0].Asset.Host != "bad.example.com" {
			t.Errorf("%+v of %d, %v", found, total, err)
		}
		for _, c := range []struct {
			ctx          context.Context
			kind, search string
			want         int
		}{{r.alice, "dangling_dns", "BAD", 1}, {r.alice, "", "other", 0}, {r.stranger, "", "", 0}} {
			if _, total, err := r.Misconfigurations(c.ctx, c.kind, c.search, page.Window{Limit: 5}); err != nil || total != c.want {
				t.Errorf("%q, %q: %d, %v", c.kind, c.search, total, err)
			}
		}
		p := r.list(t, Query{})
		png, size, err := r.Screenshot(r.alice, p.Assets[1].ID)
		if err != nil || !p.Assets[1].HasScreenshot || p.Assets[0].HasScreenshot {
			t.Fatal(err)
		}
		defer png.Close()
		if got, err := io.ReadAll(png); err != nil || !bytes.Equal(got, bad.Screenshot) || size != int64(len(got)) {
			t.Errorf("%q, %v", got, err)
		}
		for _, ask := range []struct {
			ctx context.Context
			id  int64
		}{{r.stranger, p.Assets[1].ID}, {r.alice, p.Assets[0].ID}} {
			if _, _, err := r.Screenshot(ask.ctx, ask.id); !errs.Is(err, errs.NotFound) {
				t.Errorf("a picture that is not there: %v", err)
			}
		}
	})
}
