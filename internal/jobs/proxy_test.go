package jobs

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard/sockstest"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// Nothing reaches a target but through the proxy of the scan, of its configuration, or of the retest.
func TestScansAndRetestsGoThroughAProxy(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		proxies := []*sockstest.Server{sockstest.Start(t, "ann", "hidden"), sockstest.Start(t, "", ""),
			sockstest.Start(t, "bob", "hidden too")}
		weak := weaksite.New(7)
		var mu sync.Mutex
		seen := make([]int, len(proxies)+1) // requests by proxy; the last: past all
		base, _ := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			by := len(proxies)
			for i, p := range proxies {
				if p.Made(r.RemoteAddr) {
					by = i
				}
			}
			seen[by]++
			mu.Unlock()
			weak.ServeHTTP(w, r)
		}))
		only := func(what string, want int) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			for i, n := range seen {
				if (n > 0) != (i == want) {
					t.Errorf("%s: requests by proxy %v, want only by %d", what, seen, want)
					break
				}
			}
			clear(seen)
		}
		o := open(t, d)
		configured := o.configure(t, setting.Scan, false, "socks5-proxy: socks5://"+proxies[1].Addr+"\n")
		c := scan.Config{Targets: []string{base, "169.254.169.254"}, Templates: []string{"vedette-git-config"},
			ScanConfigIDs: []string{configured}}
		made, err := o.scans.Create(o.ctx, scan.NewScan{Config: c})
		if err != nil {
			t.Fatal(err)
		}
		o.scanEnds(t, made.ID)
		only("a configuration", 1)

		own := "socks5://ann:hidden@" + proxies[0].Addr
		if err := o.scans.UpdateConfig(o.ctx, made.ID, scan.ConfigUpdate{Proxy: &own}, false); err != nil {
			t.Fatal(err)
		}
		if _, err := o.scans.Rescan(o.ctx, made.ID); err != nil {
			t.Fatal(err)
		}
		done := o.scanEnds(t, made.ID)
		only("a proxy of the scan", 0)
		if shown := done.Config.Proxy.String(); shown != "socks5://ann:xxxxx@"+proxies[0].Addr {
			t.Errorf("it is shown as %s", shown)
		}
		for _, asked := range append(proxies[0].Asked(), proxies[1].Asked()...) {
			if !strings.HasPrefix(asked, "127.0.0.1:") {
				t.Errorf("a proxy was asked for %s", asked)
			}
		}
		stored, err := db.Value[string](o.ctx, d, `SELECT CAST(config AS TEXT) FROM scan_config WHERE scan_id = ?`, made.ID)
		if err != nil || strings.Contains(stored, "hidden") {
			t.Errorf("stored: %s, %v", stored, err)
		}

		f := o.found(t, finding.Filter{ScanIDs: []string{made.ID}})[0]
		retest := func(proxy *setting.Proxy) finding.Retest {
			t.Helper()
			if _, err := o.findings.QueueRetest(o.ctx, f.ID, proxy); err != nil {
				t.Fatal(err)
			}
			var r finding.Retest
			until(t, "the retest", func() bool {
				_, r, err = o.findings.FindRetest(o.ctx, f.ID)
				return err != nil || r.State != finding.RetestQueued
			})
			return r
		}
		if r := retest(nil); r.State != finding.Matched {
			t.Errorf("%+v", r)
		}
		only("a retest without a proxy of its own", 0)
		through, err := o.settings.SealProxy(made.TeamID, "socks5://bob:hidden%20too@"+proxies[2].Addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r := retest(through); r.State != finding.Matched {
			t.Errorf("%+v", r)
		}
		only("a retest with a proxy of its own", 2)
		dead, err := o.settings.SealProxy(made.TeamID, "socks5://127.0.0.1:1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if r := retest(dead); r.State != finding.RetestFailed || r.Note == "" {
			t.Errorf("through a proxy that is not there: %+v", r)
		}

		for _, bad := range []string{"socks5://10.0.0.1:1080", "socks4://h", "socks5://169.254.169.254", "x",
			"socks5://eve:xxxxx@127.0.0.1:1080"} {
			_, err := o.scans.Create(o.ctx, scan.NewScan{Config: c, Proxy: bad})
			if e := errs.From(err); !errs.Is(err, errs.Invalid) || e.Param != "socks5_proxy" {
				t.Errorf("%s: %v", bad, err)
			}
		}
		for _, same := range []string{done.Config.Proxy.String(), ""} {
			if err := o.scans.UpdateConfig(o.ctx, made.ID, scan.ConfigUpdate{Proxy: &same}, true); err != nil {
				t.Fatal(err)
			}
			now, err := o.scans.Find(o.ctx, made.ID)
			if err != nil || now.Config.Proxy.String() != same {
				t.Errorf("%q: %v, %v", same, now.Config.Proxy, err)
			}
		}
	})
}
