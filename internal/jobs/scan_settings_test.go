package jobs

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine/options"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

func (o office) configure(t *testing.T, kind setting.Type, global bool, text string) string {
	t.Helper()
	c, err := o.settings.Create(o.ctx, setting.NewConfig{Type: kind, Name: string(kind), Text: text, Global: global})
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

func TestConfigurationsChangeTheScan(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		weak := weaksite.New(7)
		var mu sync.Mutex
		headers := map[string]int{}
		base, _ := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			headers[r.Header.Get("X-Everywhere")+r.Header.Get("X-Named")]++
			mu.Unlock()
			weak.ServeHTTP(w, r)
		}))
		o := open(t, d)
		o.configure(t, setting.Scan, true, "header: 'X-Everywhere: all '\n")
		named := o.configure(t, setting.Scan, false, "header: 'X-Named: one'\nseverity: high, critical\nrate-limit: 40\n")
		run := func(c scan.Config) (scan.Scan, map[string]int) {
			t.Helper()
			clear(headers)
			c.Targets, c.All = []string{base}, true
			made, err := o.scans.Create(o.ctx, scan.NewScan{Config: c})
			if err != nil {
				t.Fatal(err)
			}
			done := o.scanEnds(t, made.ID)
			if done.Status != scan.Finished || len(headers) != 1 {
				t.Fatalf("%s %s: headers %v", done.Status, done.FailureReason, headers)
			}
			return done, headers
		}
		began := time.Now()
		done, got := run(scan.Config{ScanConfigIDs: []string{named}})
		sent := got["allone"]
		if sent == 0 {
			t.Errorf("headers: %v", got)
		}
		if least := time.Duration(sent-40) * time.Second / 40; time.Since(began) < least*9/10 {
			t.Errorf("%d requests in %s are more than 40 a second", sent, time.Since(began))
		}
		for _, f := range o.found(t, finding.Filter{ScanIDs: []string{done.ID}}) {
			if f.Severity != "high" && f.Severity != "critical" {
				t.Errorf("%s is %s", f.TemplateID, f.Severity)
			}
		}
		all, got := run(scan.Config{})
		if got["all"] <= sent || all.Numbers.Templates <= done.Numbers.Templates {
			t.Errorf("without the named one: %v", got)
		}
		if _, got := run(scan.Config{NoGlobalSettings: true}); got[""] == 0 {
			t.Errorf("opted out: %v", got)
		}
	})
}

func TestScanNamesConfigurationsOfItsTeam(t *testing.T) {
	o := open(t, dbtest.Open(t, "sqlite"))
	alerting := o.configure(t, setting.Alerting, false, "slack: {webhook_url: 'http://127.0.0.1:1/'}")
	for param, c := range map[string]scan.Config{
		"scan_config_ids":      {ScanConfigIDs: []string{"nobody's"}},
		"reporting_config_ids": {ReportConfigIDs: []string{alerting}}, // of another type
		"alerting_config_ids":  {AlertConfigIDs: []string{alerting, "x"}},
	} {
		c.Targets = []string{"example.com"}
		if _, err := o.scans.Create(o.ctx, scan.NewScan{Config: c, ScheduleOnly: true}); !errs.Is(err, errs.Invalid) ||
			errs.From(err).Param != param {
			t.Errorf("%s: %v", param, err)
		}
	}
	caller, err := account.From(o.ctx)
	if err != nil {
		t.Fatal(err)
	}
	// A template set counts where it is named: that it is global does not make every scan test it.
	for ids, want := range map[string]bool{o.configure(t, setting.Template, true, "severity: critical"): true, "": false} {
		c := scan.Config{Targets: []string{"example.com"}}
		if ids != "" {
			c.ScanConfigIDs = []string{ids}
		}
		choice, err := o.scans.Options(o.ctx, caller.TeamID, c)
		if err != nil || choice.HasSets() != want {
			t.Fatalf("%q: %v, %v", ids, choice.HasSets(), err)
		}
		has := func(severity string, named bool) bool {
			return choice.InSet(options.Template{Severity: severity, Named: named})
		}
		if want && (!has("critical", false) || has("high", false) || has("critical", true)) {
			t.Error("a set of critical templates has others")
		}
	}
	nothing := o.configure(t, setting.Scan, false, "tags: no-template-has-this")
	if _, err := o.scans.Create(o.ctx,
		scan.NewScan{Config: scan.Config{Targets: []string{"example.com"},
			ScanConfigIDs: []string{nothing}}}); errs.From(err).Param != "templates" {
		t.Errorf("all templates are left out: %v", err)
	}
	// A configuration that is deleted before the launch fails the scan in words.
	gone := o.configure(t, setting.Scan, false, "retries: 0")
	made, err := o.scans.Create(o.ctx,
		scan.NewScan{Config: scan.Config{Targets: []string{"127.0.0.1:1"}, ScanConfigIDs: []string{gone}},
			ScheduleOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.settings.Delete(o.ctx, gone); err != nil {
		t.Fatal(err)
	}
	if _, err := o.scans.Rescan(o.ctx, made.ID); err != nil {
		t.Fatal(err)
	}
	if s := o.scanEnds(t, made.ID); s.Status != scan.Failed || s.FailureReason == "" {
		t.Errorf("%s %q", s.Status, s.FailureReason)
	}
}
