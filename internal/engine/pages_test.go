package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// TestPages runs every case of testdata/pages: templates that drive a browser on a site of the case's own. Files below
// site/ are its pages; /echo answers with the request, /away redirects out of scope, /endless never ends. OTHER in
// pages is a host that is out of scope. A case names its targets, a line each: "target: /path". Expected are events,
// in a short form, and cells.
func TestPages(t *testing.T) {
	if _, err := browser.Find(""); err != nil {
		t.Skip(err)
	}
	temp := t.TempDir()
	pool := browser.New(browser.Config{Temp: temp})
	t.Cleanup(func() {
		pool.Close()
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("the browser left %v behind, %v", left, err)
		}
	})
	eachCase(t, "testdata/pages/*.txtar", func(t *testing.T, file string, archive *txtar.Archive) {
		pageCase(t, pool, file, archive)
	})
}

func pageCase(t *testing.T, pool *browser.Pool, file string, archive *txtar.Archive) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s is out of scope", r.URL) }))
	defer other.Close()
	outside := strings.TrimPrefix(other.URL, "http://")
	site := pageSite(archive, outside)
	address := serve(t, site)
	inside := strings.TrimPrefix(address, "http://")
	cfg := engine.Config{Timeout: time.Minute, Pages: proto.Pages{Open: pool.Open, Timeout: 2 * time.Minute},
		Headers: []engine.Header{{Name: "X-Scan", Value: "mine"}},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr != inside {
				return nil, &netguard.Denied{Addr: addr, Why: "it is not in scope"}
			}
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}}
	got := map[string][]string{}
	steady := strings.NewReplacer(inside, "SITE", outside, "OTHER")
	scan := engine.Scan{Vars: map[string]string{"OTHER": outside}}
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "target":
			scan.Targets = append(scan.Targets, address+value)
		case "page-timeout":
			timeout, err := time.ParseDuration(value)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Pages.Timeout = timeout
		case "no browser":
			cfg.Pages.Open = nil
		}
	}
	for _, f := range archive.Files {
		if !strings.HasSuffix(f.Name, ".yaml") {
			continue
		}
		p, err := compile(f.Name, f.Data)
		if err != nil {
			got["refused"] = append(got["refused"], err.Error())
			continue
		}
		scan.Programs = append(scan.Programs, p)
	}
	if len(scan.Programs) > 0 {
		e := engine.New(cfg)
		defer e.Close()
		scan.OnEvent = func(ev engine.Event) {
			name := cmp.Or(ev.MatcherName, ev.ExtractorName, "-")
			got["events"] = append(got["events"], steady.Replace(strings.TrimSpace(
				fmt.Sprintf("%s %s %s %q %s", ev.TemplateID, name, ev.MatchedAt, ev.ExtractedResults, ev.FuzzingParameter))))
		}
		report, err := e.Run(context.Background(), scan)
		if err != nil {
			t.Fatal(err)
		}
		for cell := range report.Cells() {
			got["cells"] = append(got["cells"], steady.Replace(strings.TrimSpace(
				fmt.Sprintf("%s %s %s", cell.Template, cell.State, cell.Reason))))
		}
		slices.Sort(got["events"])
		slices.Sort(got["cells"])
	}
	checkCase(t, file, archive, got)
}

// pageSite serves the pages of a case.
func pageSite(archive *txtar.Archive, outside string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/echo":
			_ = r.ParseForm()
			fmt.Fprintf(w, "<pre>%s %s scan=%s test=%s cookie=%s agent=%s form=%s</pre>", r.Method, r.URL.RawQuery,
				r.Header.Get("X-Scan"), r.Header.Get("Test"), r.Header.Get("Cookie"), r.Header.Get("User-Agent"), r.PostForm.Encode())
			return
		case "/raw":
			fmt.Fprintf(w, "<p>%s</p>", r.URL.Query().Get("q"))
			return
		case "/cookie":
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "s1"})
			return
		case "/away":
			http.Redirect(w, r, "http://"+outside+"/stolen", http.StatusFound)
			return
		case "/gone":
			panic(http.ErrAbortHandler)
		case "/endless":
			fmt.Fprint(w, "<p>begin</p>")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "site"+r.URL.Path })
		if i < 0 {
			fmt.Fprint(w, "<p>nothing</p>")
			return
		}
		w.Header().Set("X-Page", "case")
		_, _ = w.Write([]byte(strings.ReplaceAll(string(archive.Files[i].Data), "OTHER", outside)))
	}
}
