package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestAServerIsKilledWithAPageOpen kills a server whose browser waits for a page: nothing of the browser is left, and the
// next start visits the page.
func TestAServerIsKilledWithAPageOpen(t *testing.T) {
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip(err)
	}
	eachEngine(t, func(t *testing.T, dep deployment) {
		temp, err := os.MkdirTemp("", "e2e") //nolint:usetesting // t.TempDir is closed to the user nobody, as whom browsers run
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(temp) })
		if err := os.Chmod(temp, 0o755); err != nil {
			t.Fatal(err)
		}
		dep.env = append(dep.env, "TMPDIR="+temp, "VEDETTE_MEMORY=2048")
		token := dep.admin("ada@example.com")
		asked, released := make(chan struct{}), make(chan struct{})
		var once sync.Once
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/page" {
				once.Do(func() { close(asked) })
				select {
				case <-released:
				case <-r.Context().Done():
					return
				}
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<body><script>document.body.append("made " + "by a script")</script>`)
		}))
		defer site.Close()
		first := dep.serve()
		var made struct{ ID string }
		first.as(token).call("POST", "/v1/scans", map[string]any{"targets": []string{site.URL},
			"private_templates": []map[string]string{{"name": "page.yaml", "contents": pageTemplate}}}, &made)
		<-asked
		if n := len(browsersIn(t, temp)); n < 4 {
			t.Errorf("the browser has %d processes", n)
		}
		first.kill()
		until(t, longWait, "nothing of the browser is left", func() bool {
			left, err := filepath.Glob(filepath.Join(temp, "vedette-browser-*"))
			return err == nil && len(left) == 0 && len(browsersIn(t, temp)) == 0
		})
		close(released)
		second := dep.serve()
		if s := second.as(token).scanEnds(made.ID, takeoverWait); s.Status != "finished" || s.Total != 1 {
			t.Errorf("%+v", s)
		}
		if code := second.stop(); code != 0 || len(browsersIn(t, temp)) > 0 {
			t.Errorf("it ended with %d, and left %v", code, browsersIn(t, temp))
		}
	})
}

// pageTemplate finds what a script of a page writes.
const pageTemplate = `id: page
info: {name: n, author: a, severity: low}
headless:
  - steps: [{action: navigate, args: {url: "{{BaseURL}}/page"}}, {action: waitidle}]
    matchers: [{type: word, words: [made by a script]}]
`

// browsersIn are the processes that have their profile in a folder.
func browsersIn(t *testing.T, temp string) (pids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range all {
		line, _ := os.ReadFile(process + "/cmdline")
		if stat, _ := os.ReadFile(process + "/stat"); strings.Contains(string(line), temp) && !strings.Contains(string(stat), ") Z ") {
			pids = append(pids, filepath.Base(process))
		}
	}
	return pids
}
