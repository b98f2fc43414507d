package enumeration

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/policy"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/pipeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// yard is the service with a user of one team and a stranger; nothing runs by itself.
type yard struct {
	*Enumerations
	alice, stranger context.Context
}

func setUp(t testing.TB, d *db.DB) yard {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), d, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	assets := asset.New(d, q, nil)
	y := yard{Enumerations: New(d, q, assets, policy.New(d, q, assets, nil), setting.New(d, nil, nil), nil)}
	for email, ctx := range map[string]*context.Context{"alice@example.com": &y.alice, "eve@example.com": &y.stranger} {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		*ctx = account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: u.Role})
	}
	return y
}

func (y yard) create(t testing.TB, c Config) Enumeration {
	t.Helper()
	e, err := y.Create(y.alice, NewEnumeration{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (y yard) now(t testing.TB, id string) Enumeration {
	t.Helper()
	e, err := y.Find(y.alice, id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (y yard) start(t testing.TB, e Enumeration, n int) *Chunk {
	t.Helper()
	c, err := y.StartChunk(t.Context(), ChunkArgs{e.ID, e.Run, n})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func hosts(from, to int) (out []Found) {
	for i := from; i < to; i++ {
		out = append(out, Found{Name: discover.Name{Host: fmt.Sprintf("h%03d.example.com", i),
			IP: []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})}}})
	}
	return out
}

func assets(found []Found) (out []discover.Asset) {
	for _, f := range found {
		out = append(out, discover.Asset{Host: f.Host, IP: []string{f.IP[0].String()}},
			discover.Asset{Host: f.Host, Port: 443, Protocol: "tcp", Service: "https"})
	}
	return out
}

// TestChunkThatRunsTwiceLeavesTheSame: a worker hands on and stores a part of its work and
// dies; another does all of it. The first one, which only seemed dead, writes nothing more.
func TestChunkThatRunsTwiceLeavesTheSame(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		e := y.create(t, Config{RootDomains: []string{"example.com"}, Inputs: []string{"h001.example.com"}})
		must(t, y.Begin(t.Context(), BeginArgs{e.ID, 1}))
		must(t, y.Begin(t.Context(), BeginArgs{e.ID, 1})) // a planner that died after its end
		if e = y.now(t, e.ID); e.Status != Running {
			t.Fatalf("%s: %s", e.Status, e.FailureReason)
		}
		dead := y.start(t, e, 0)
		must(t, dead.AddHosts(t.Context(), hosts(0, 120)))
		again := y.start(t, e, 0)
		if err := dead.AddHosts(t.Context(), hosts(500, 501)); !errors.Is(err, ErrLate) {
			t.Errorf("a late worker handed on: %v", err)
		}
		must(t, again.AddHosts(t.Context(), hosts(0, 250)))
		report := discover.SourceReport{Source: "crtsh", About: "example.com", State: discover.SourceOK, Count: 250}
		must(t, again.Finish(t.Context(), Report{Sources: []discover.SourceReport{report}}))
		inputs := y.start(t, e, 1)
		must(t, inputs.AddHosts(t.Context(), inputs.Work.Hosts)) // is there already
		must(t, inputs.Finish(t.Context(), Report{}))

		seen := map[string]bool{}
		for n := 2; n < 6; n++ {
			c, err := y.StartChunk(t.Context(), ChunkArgs{e.ID, e.Run, n})
			if errors.Is(err, ErrLate) || err == nil && c.Stage != Hosts {
				t.Fatalf("chunk %d: %v", n, err)
			}
			if err != nil {
				break
			}
			for _, h := range c.Hosts {
				if seen[h.Host] {
					t.Errorf("%s is looked at twice", h.Host)
				}
				seen[h.Host] = true
			}
			if n == 3 { // dies in the middle, too
				must(t, c.Store(t.Context(), assets(c.Hosts[:10])))
				c = y.start(t, e, n)
			}
			must(t, c.Store(t.Context(), assets(c.Hosts)))
			must(t, c.Finish(t.Context(), Report{Denials: 3,
				Denied: []pipeline.Denial{{Addr: "198.51.100.1:443", Why: "it is not in scope", Times: 3}}}))
			if y.now(t, e.ID).Status == Finished {
				break
			}
		}
		e = y.now(t, e.ID)
		if n := e.Numbers; len(seen) != 250 || e.Status != Finished || n.Names != 250 || n.DoneNames != 250 ||
			n.NewAssets != 500 || e.Totals.Assets != 500 || e.Totals.Hosts != 250 {
			t.Errorf("%d seen, %s, %+v, %+v", len(seen), e.Status, n, e.Totals)
		}
		h, err := y.FindHistory(y.alice, e.ID, time.Time{}, time.Time{}, page.Window{Limit: 10})
		if err != nil || h.Total != 1 || h.Unique != 1 || h.Launches[0].Numbers != e.Numbers ||
			h.Launches[0].Status != Finished {
			t.Errorf("%+v %v", h, err)
		}
		events, _, err := y.FindEvents(y.alice, e.ID, 0, page.Window{Limit: 10})
		if err != nil || len(events) != 1 || events[0].Times != e.Numbers.Denials {
			t.Errorf("%+v %v, %d denials", events, err, e.Numbers.Denials)
		}
		must(t, y.Tidy(t.Context(), TidyArgs{e.ID, 1}))
		if _, err := y.FindHistory(y.stranger, e.ID, time.Time{}, time.Time{}, page.Window{Limit: 10}); !errs.Is(err,
			errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
	})
}

// TestSourceThatFellSilentIsTold: a source that told 40 and now tells 2 is an event and a
// part of the news; one that was skipped is not.
func TestSourceThatFellSilentIsTold(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		e := y.create(t, Config{Inputs: []string{"192.0.2.0/30"}})
		y.run(t, e.ID, 1, 40)
		for run, count := range []int{50, 2} {
			_, err := y.Rescan(y.alice, e.ID)
			must(t, err)
			y.run(t, e.ID, int64(run)+2, count)
		}
		news, ok, err := y.FindRunState(t.Context(), AlertArgs{e.ID, 3, Finished})
		if err != nil || !ok || len(news.Drops) != 1 || news.Drops[0].Subject != "crtsh" || news.Status != Finished {
			t.Errorf("%+v %v %v", news, ok, err)
		}
		if news, _, err = y.FindRunState(t.Context(), AlertArgs{e.ID, 2, Finished}); err != nil || len(news.Drops) != 0 {
			t.Errorf("%+v %v", news.Drops, err)
		}
		sources, total, err := y.FindSources(y.alice, e.ID, 3, page.Window{Limit: 10})
		if err != nil || total != 2 || sources[0].Count != 2 || sources[1].State != discover.SourceSkipped {
			t.Errorf("%+v %v", sources, err)
		}
	})
}

// run plays a whole run whose source told so much.
func (y yard) run(t *testing.T, id string, run int64, count int) {
	t.Helper()
	must(t, y.Begin(t.Context(), BeginArgs{id, run}))
	e := y.now(t, id)
	reports := []discover.SourceReport{
		{Source: "crtsh", About: "example.com", State: discover.SourceOK, Count: count},
		{Source: "other", About: "example.com", State: discover.SourceSkipped},
	}
	for n := 0; y.now(t, id).Status == Running; n++ {
		must(t, y.start(t, e, n).Finish(t.Context(), Report{Sources: reports}))
	}
	if got := y.now(t, id); got.Status != Finished || got.Run != run {
		t.Fatalf("run %d: %s %s", got.Run, got.Status, got.FailureReason)
	}
}

// TestStopEndsEverything: what a stopped run's chunks write is refused, and it can be
// launched again.
func TestStopEndsEverything(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		e := y.create(t, Config{RootDomains: []string{"example.com"}})
		must(t, y.Begin(t.Context(), BeginArgs{e.ID, 1}))
		e = y.now(t, e.ID)
		c := y.start(t, e, 0)
		must(t, y.Stop(y.alice, e.ID))
		if err := c.Store(t.Context(), assets(hosts(0, 1))); !errors.Is(err, ErrLate) {
			t.Errorf("stored after the stop: %v", err)
		}
		if err := y.Stop(y.alice, e.ID); !errs.Is(err, errs.Conflict) {
			t.Errorf("stopped twice: %v", err)
		}
		if _, err := y.Rescan(y.alice, e.ID); err != nil {
			t.Error(err)
		}
		if got := y.now(t, e.ID); got.Status != Queued || got.Run != 2 {
			t.Errorf("%s, run %d", got.Status, got.Run)
		}
		// of the first run: nothing
		must(t, d.Tx(t.Context(), func(tx *db.Tx) error { return y.GiveUpChunk(t.Context(), tx, ChunkArgs{e.ID, 1, 0}) }))
		must(t, y.Delete(y.alice, []string{e.ID}, "asset_ids"))
		if _, err := y.Find(y.alice, e.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("deleted: %v", err)
		}
	})
}

// TestChunksThatFail: a run of which a part failed is finished and says so; one of which
// every part failed has failed.
func TestChunksThatFail(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		for parts, want := range map[int]Status{1: Failed, 2: Finished} {
			e := y.create(t, Config{RootDomains: []string{"a.example.com", "b.example.com"}[:parts]})
			must(t, y.Begin(t.Context(), BeginArgs{e.ID, 1}))
			e = y.now(t, e.ID)
			must(t, d.Tx(t.Context(), func(tx *db.Tx) error { return y.GiveUpChunk(t.Context(), tx, ChunkArgs{e.ID, 1, 0}) }))
			if parts == 2 {
				must(t, y.start(t, e, 1).Finish(t.Context(), Report{}))
			}
			if got := y.now(t, e.ID); got.Status != want || got.FailureReason == "" {
				t.Errorf("%d parts: %s %q", parts, got.Status, got.FailureReason)
			}
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	for param, c := range map[string]Config{
		"root_domains":      {RootDomains: []string{"com"}},
		"enrichment_inputs": {Inputs: []string{"10.0.0.0/8"}},
		"steps":             {Inputs: []string{"10.0.0.1"}, Steps: []discover.Step{"guess"}},
	} {
		if _, err := c.check(); errs.From(err) == nil || errs.From(err).Param != param {
			t.Errorf("%+v: %v", c, err)
		}
	}
	covers, err := Config{RootDomains: []string{"*.Example.com", "example.com."},
		Inputs: []string{"https://a.test:8443/x", "a.test", "10.1.2.3", "10.0.0.0/30", "10.0.0.9:22"}}.check()
	if err != nil || !slices.Equal(covers.Domains, []string{"example.com"}) || len(covers.Hosts) != 3 ||
		covers.Hosts[0].Ports[0] != 8443 || len(covers.Prefixes) != 1 || covers.Hosts[2].Host != "10.0.0.9" {
		t.Errorf("%+v %v", covers, err)
	}
}

// TestCutCoversEveryAddressOnce: the blocks of a run's ranges hold each of their addresses
// once, and none is larger than a block.
func TestCutCoversEveryAddressOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var prefixes []netip.Prefix
		want := map[netip.Addr]bool{}
		for range rapid.IntRange(1, 4).Draw(t, "ranges") {
			base := netip.AddrFrom4([4]byte{10, 0, rapid.Byte().Draw(t, "c") & 7, rapid.Byte().Draw(t, "d")})
			p := netip.PrefixFrom(base, rapid.IntRange(21, 32).Draw(t, "bits")).Masked()
			prefixes = append(prefixes, p)
			for a := p.Addr(); p.Contains(a); a = a.Next() {
				want[a] = true
			}
		}
		got := map[netip.Addr]bool{}
		for _, w := range cut(Config{}, Coverage{Prefixes: prefixes}, false) {
			size := 0
			for _, p := range w.Prefixes {
				for a := p.Addr(); p.Contains(a); a = a.Next() {
					size++
					if got[a] || !want[a] {
						t.Fatalf("%s of %s", a, p)
					}
					got[a] = true
				}
			}
			if size > workBlock {
				t.Fatalf("a chunk of %d addresses", size)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d of %d addresses", len(got), len(want))
		}
	})
}

// TestAnnounced: what an autonomous system is said to announce is looked at once, within the
// bound, and nothing that may not be; the rest is named.
func TestAnnounced(t *testing.T) {
	public := func(a netip.Addr) bool { return !a.IsPrivate() && !a.IsLoopback() }
	parse := func(texts ...string) (out []netip.Prefix) {
		for _, text := range texts {
			out = append(out, netip.MustParsePrefix(text))
		}
		return out
	}
	works, left := Announced("AS64500",
		parse("198.51.0.0/16", "192.0.2.0/24", "192.0.2.128/25", "10.0.0.0/24", "2001:db8::/32", "2001:db9::/120",
			"192.0.2.0/24"), public)
	n, seen := 0, map[netip.Addr]bool{}
	for _, w := range works {
		for _, p := range w.Prefixes {
			for a := p.Addr(); p.Contains(a); a = a.Next() {
				n++
				seen[a] = true
			}
		}
		if w.Network != "AS64500" {
			t.Errorf("%+v", w)
		}
	}
	if n != 512 || len(seen) != n {
		t.Errorf("%d addresses, %d different ones", n, len(seen))
	}
	for _, name := range []string{"198.51.0.0/16", "2001:db8::/32", "10.0.0.0/24"} {
		if !strings.Contains(left, name) {
			t.Errorf("it is not said that %s is left out: %s", name, left)
		}
	}
	if _, left := Announced("AS64500", parse("192.0.2.0/24"), public); left != "" {
		t.Error(left)
	}
	const none = -1
	for text, want := range map[string]int{"AS64500": 64500, " asn 64500": 64500, "as0064500": 64500,
		"AS4294967295": 4294967295, "AS0": 0, "AS4294967296": 0, "AS": none, "as-set": none, "64500": none, "AS-1": none,
		"asn1.example.com": none} {
		if got, ok := network(text); ok != (want != none) || ok && int(got) != want {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// TestMoves: only the moves of the drawing in docs/reference/states.md are allowed.
func TestMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SampledFrom(Statuses).Draw(t, "from"), rapid.SampledFrom(Statuses).Draw(t, "to")
		ends := []Status{Finished, Failed, Stopped}
		switch {
		case b == Scheduled && a.To(b), b == Queued && a.To(b) == a.Active(), slices.Contains(ends, a) &&
			a.To(b) != (b == Queued):
			t.Fatalf("%s to %s: %v", a, b, a.To(b))
		}
	})
}
