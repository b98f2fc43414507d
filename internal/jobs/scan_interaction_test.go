package jobs

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/interaction"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/oast"
)

const blind = `id: blind
info: {name: blind, author: a, severity: high}
http:
  - path: ["{{BaseURL}}/later?url=http://{{interactsh-url}}"]
    matchers-condition: and
    matchers:
      - {type: word, part: interactsh_protocol, words: [http]}
      - {type: word, words: [accepted]}
`

// TestAnInteractionAfterTheScan: what a target does after the scan has ended, and after this server and the out-of-band
// server were started anew, becomes one finding; what comes too late, or twice, none.
func TestAnInteractionAfterTheScan(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var mu sync.Mutex
		var told []string
		base, _ := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if to := r.FormValue("url"); to != "" {
				mu.Lock()
				told = append(told, to)
				mu.Unlock()
			}
			_, _ = w.Write([]byte("accepted"))
		}))
		var current atomic.Pointer[oast.Server]
		restart := func() {
			s, err := oast.NewServer(oast.Config{Token: "t0ken"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			current.Store(s)
		}
		restart()
		outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			current.Load().ServeHTTP(w, r)
		}))
		t.Cleanup(outside.Close)
		box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
		if err != nil {
			t.Fatal(err)
		}
		q, err := queue.Open(t.Context(), d, queue.Config{})
		if err != nil {
			t.Fatal(err)
		}
		o := open(t, d)
		service := func(keep time.Duration) *interaction.Interactions {
			return interaction.New(d, q, box, interaction.Config{
				Server: outside.URL, Token: "t0ken", HTTP: outside.Client(), Keep: keep,
			}, slog.New(slog.DiscardHandler))
		}
		run := func() scan.Scan {
			made, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base}, Inline: []scan.Inline{
				{Name: "blind.yaml", Contents: blind},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			done := o.scanEnds(t, made.ID)
			if done.Status != scan.Finished || len(o.found(t, finding.Filter{ScanIDs: []string{made.ID}})) != 0 {
				t.Fatalf("%+v", done)
			}
			return done
		}
		o.scans.Interactions = service(time.Nanosecond)
		late := run()
		tooLate := told[0]

		o.scans.Interactions = service(time.Hour)
		first := run()
		restart()
		o.scans.Interactions = service(time.Hour)
		poll := func() {
			if err := o.scans.Interactions.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		poll() // the out-of-band server learns of the session again
		visit := func(url string) {
			resp, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		visit(tooLate)
		visit(told[len(told)-1])
		visit(told[len(told)-1])
		poll()
		mine := finding.Filter{ScanIDs: []string{first.ID}}
		until(t, "a finding", func() bool { return len(o.found(t, mine)) > 0 })
		visit(told[len(told)-1])
		poll()
		until(t, "all judged", func() bool {
			n, err := db.Value[int](t.Context(), d, `SELECT count(*) FROM river_job WHERE kind = 'interaction.judge' AND state <> 'completed'`)
			if err != nil {
				t.Fatal(err)
			}
			return n == 0
		})
		found := o.found(t, mine)
		if len(found) != 1 || found[0].Event.Interaction == nil || found[0].Event.Interaction.Protocol != "http" ||
			!strings.Contains(found[0].Event.CurlCommand, "/later") || found[0].Target != base {
			t.Errorf("%+v", found)
		}
		if all := o.found(t, finding.Filter{ScanIDs: []string{late.ID}}); len(all) != 0 {
			t.Errorf("what came too late is found: %+v", all)
		}
	})
}
