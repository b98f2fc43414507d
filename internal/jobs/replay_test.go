package jobs

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/core/proof"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

const leakTemplate = "id: leak\ninfo: {name: Leak, author: me, severity: high}\nhttp:\n  - path: ['{{BaseURL}}/leak']\n%s" +
	"    matchers: [{type: word, words: [secret]}]\n    extractors: [{type: regex, regex: ['version [0-9]+']}]\n"

// sighted stores a finding whose template comes with it.
func (o office) sighted(t *testing.T, d *db.DB, target, ip, more string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(leakTemplate, more)
	e := engine.Event{
		TemplateID: "leak", Type: "http", Host: u.Hostname(), Port: u.Port(), IP: ip, MatchedAt: target + "/leak", Path: "/leak",
		MatcherStatus: true, Response: "HTTP/1.1 200 OK\r\n\r\nsecret", Info: syntax.Info{Name: "Leak", Severity: "high"},
		ExtractedResults: []string{"version 1"},
	}
	c, err := account.From(o.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Tx(o.ctx, func(tx *db.Tx) error {
		_, err := o.findings.Add(o.ctx, tx, finding.Origin{TeamID: c.TeamID, ScanID: "s" + target + more + ip, Run: 1}, []finding.Sighting{{
			Event: e, Target: target, TemplateEncoded: base64.StdEncoding.EncodeToString([]byte(text)),
			Proof: &chain.Proof{Digest: evidence.Hash([]byte(text)), Shown: 1, Runs: 1},
		}})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return finding.IDOf("s"+target+more+ip, e)
}

// replayed waits for the end of a replay.
func (o office) replayed(t *testing.T, id string) proof.Run {
	t.Helper()
	begun, err := o.proofs.Replay(o.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var ended proof.Run
	until(t, "the end of a replay", func() bool {
		e, err := o.proofs.Of(o.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range e.Again {
			if r.ID == begun.ID {
				ended = r
			}
		}
		return ended.State != proof.Queued
	})
	return ended
}

// TestReplays: a proof that is sent again is the same, changed or gone, and decides nothing.
func TestReplays(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := open(t, d)
		var body atomic.Value
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, body.Load())
		}))
		t.Cleanup(site.Close)
		id := o.sighted(t, d, site.URL, "127.0.0.1", "")
		for _, c := range []struct {
			body string
			want evidence.Result
		}{{"secret, version 1", evidence.Same}, {"secret, version 2", evidence.Changed}, {"nothing", evidence.Gone}} {
			body.Store(c.body)
			if got := o.replayed(t, id); got.State != string(c.want) || got.Seq == 0 {
				t.Errorf("%q: %+v", c.body, got)
			}
		}
		site.Close()
		if got := o.replayed(t, id); got.State != string(evidence.Failed) || got.Note == "" {
			t.Errorf("nobody answers: %+v", got)
		}
		if f, err := o.findings.Find(o.ctx, id); err != nil || f.Status != finding.Open {
			t.Errorf("%s, %v", f.Status, err)
		}
	})
}

// TestScansAreReplayable: what a scan finds says how it can be shown again, with the digest of its template.
func TestScansAreReplayable(t *testing.T) {
	o := open(t, dbtest.Open(t, "sqlite"))
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "secret, version 1") }))
	t.Cleanup(site.Close)
	text := fmt.Sprintf(leakTemplate, "")
	made, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{
		Targets: []string{site.URL}, Inline: []scan.Inline{{Name: "leak.yaml", Contents: text}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	o.scanEnds(t, made.ID)
	found := o.found(t, finding.Filter{})
	if len(found) == 0 || !found[0].IsReplayable() || found[0].Proof.Digest != evidence.Hash([]byte(text)) {
		t.Fatalf("%+v", found)
	}
	if got := o.replayed(t, found[0].ID); got.State != string(evidence.Same) {
		t.Errorf("%+v", got)
	}
	e, err := o.proofs.Of(o.ctx, found[0].ID)
	if err != nil || e.State != proof.Intact || e.Runs != (evidence.Runs{Shown: 2, Total: 2}) || e.Entry.Source != "scan" {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestReplaysStayInScope: neither a redirect, nor a Host header, nor another address of the name leads a replay away.
func TestReplaysStayInScope(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	o := open(t, d)
	var asked atomic.Int64
	other := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, "secret, version 1")
	}))
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip(err) // a machine with one loopback address
	}
	other.Listener = l
	other.Start()
	t.Cleanup(other.Close)

	var hosts atomic.Value
	hosts.Store("")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts.Store(hosts.Load().(string) + " " + r.Host)
		http.Redirect(w, r, other.URL+"/leak", http.StatusFound)
	}))
	t.Cleanup(site.Close)
	redirect := o.sighted(t, d, site.URL, "127.0.0.1", "    redirects: true\n    max-redirects: 3\n")
	if got := o.replayed(t, redirect); got.State == string(evidence.Same) || got.State == string(evidence.Changed) {
		t.Errorf("a redirect: %+v", got)
	}
	host := o.sighted(t, d, site.URL, "127.0.0.1", "    headers: {Host: '"+l.Addr().String()+"'}\n")
	if got := o.replayed(t, host); got.State == string(evidence.Same) {
		t.Errorf("a Host header: %+v", got)
	}
	if asked.Load() != 0 {
		t.Fatalf("%d requests left the scope", asked.Load())
	}

	// It was seen at a public address; now the name leads to the machine itself.
	hosts.Store("")
	moved := o.sighted(t, d, strings.Replace(site.URL, "127.0.0.1", "localhost", 1), "93.184.216.34", "")
	got := o.replayed(t, moved)
	if got.State != string(evidence.Failed) || !strings.Contains(got.Note, "denied") || hosts.Load() != "" {
		t.Errorf("another address: %+v, asked for%s", got, hosts.Load())
	}
}
