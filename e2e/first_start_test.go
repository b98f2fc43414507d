package e2e

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// TestDemo runs `vedette demo` and compares its output with the weaknesses of its site.
func TestDemo(t *testing.T) {
	t.Parallel()
	program, out := binary(t), []byte{}
	var took time.Duration
	for range 2 { // a second try, in case the machine was overloaded
		began := time.Now()
		cmd := exec.Command(program, "demo", "--once")
		cmd.Env = []string{"TMPDIR=" + t.TempDir()} // nothing else: no HOME, no PATH
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		var err error
		if out, err = cmd.Output(); err != nil {
			t.Fatalf("%v\n%s\n%s", err, out, stderr.Bytes())
		}
		if left, _ := exec.Command("ls", "-A", cmd.Env[0][len("TMPDIR="):]).Output(); len(left) > 0 {
			t.Errorf("the demo leaves behind: %s", left)
		}
		if took = time.Since(began); took < time.Minute {
			break
		}
	}
	if took > time.Minute {
		t.Errorf("the demo took %s", took)
	}
	titles := map[weaksite.Kind]string{ // of the finding of each kind
		weaksite.VCS: "Git repository exposed", weaksite.Backup: "Backup archive exposed",
		weaksite.Config:  "Environment file exposed",
		weaksite.Listing: "Directory listing", weaksite.StatusPage: "server status public",
		weaksite.Panel:   "phpMyAdmin login reachable",
		weaksite.Cookies: "Session cookie without HttpOnly", weaksite.Headers: "Content security policy missing",
		weaksite.CORS: "CORS trusts a foreign origin", weaksite.Version: "Version told in the Server header",
	}
	for _, w := range weaksite.Weaknesses() {
		place := regexp.QuoteMeta(strings.TrimSuffix(w.Path, "/"))
		shown := regexp.MustCompile(`(?m)^(critical|high|medium|low|info) +.*` + regexp.QuoteMeta(titles[w.Kind]) +
			`.*\n +http://127\.0\.0\.1:\d+` + place + `/?$`)
		if titles[w.Kind] == "" || !shown.Match(out) {
			t.Errorf("the demo does not show %s at %s:\n%s", w.Kind, w.Path, out)
		}
	}
	if !regexp.MustCompile(`(?m)^\d+ verified findings in `).Match(out) {
		t.Errorf("the demo does not end in a count:\n%s", out)
	}
}

// get sends a GET request and returns the status and the body.
func get(t *testing.T, address string) (int, string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestSetupLink: the first start prints a setup link, which works once and is not printed any
// more when there is a user.
func TestSetupLink(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		first := dep.serve()
		link := first.waitForOutput(`(http://\S+/setup\?token=\S+)`)[1]
		if n := strings.Count(first.stderr.String(), "/setup?token="); n != 1 {
			t.Errorf("the link is printed %d times", n)
		}
		if status, _ := get(t, link); status != http.StatusOK {
			t.Errorf("the link leads to status %d", status)
		}
		// A second start replaces the link.
		first.stop()
		second := dep.serve()
		newest := second.waitForOutput(`(http://\S+/setup\?token=\S+)`)[1]
		u, err := url.Parse(newest)
		if err != nil {
			t.Fatal(err)
		}
		form := url.Values{"token": u.Query()["token"], "email": {"ada@example.com"},
			"password": {"correct horse battery staple"}}
		for _, c := range []struct {
			what   string
			change func(url.Values)
			want   int
		}{
			{"a wrong token", func(f url.Values) { f.Set("token", "nonsense") }, http.StatusForbidden},
			{"no address", func(f url.Values) { f.Set("email", "nonsense") }, http.StatusBadRequest},
			{"what is needed", func(url.Values) {}, http.StatusCreated},
			{"the same once more", func(f url.Values) { f.Set("email", "eve@example.com") }, http.StatusForbidden},
		} {
			f := url.Values{}
			maps.Copy(f, form)
			c.change(f)
			resp, err := http.PostForm(second.base+"/setup", f)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != c.want {
				t.Errorf("with %s the form is answered %d, not %d: %s", c.what, resp.StatusCode, c.want, text)
			}
		}
		// The first user can log in, and is admin.
		anonymous := second.as("")
		var token struct {
			AccessToken string `json:"access_token"`
		}
		anonymous.call("POST", "/api/v1/auth/login",
			map[string]string{"email": "ada@example.com", "password": form.Get("password")}, &token)
		second.as(token.AccessToken).call("PATCH", "/api/v1/teams", map[string]string{"name": "blue"}, nil)

		second.stop()
		third := dep.serve()
		if status, _ := get(t, third.base+"/readyz"); status != http.StatusOK {
			t.Errorf("it is not ready: %d", status)
		}
		if strings.Contains(third.stderr.String(), "setup") {
			t.Error("with a user, a start still mentions the setup")
		}
	})
}

// TestNoSecretInTheLog sends every kind of secret through a server with debug logging.
func TestNoSecretInTheLog(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			dep := newDeployment(t, dbtest.Engines[0])
			const internal, password, path = "s3cr3t-internal-key", "s3cr3t-correct-horse", "s3cr3t-hook-path"
			dep.env = append(dep.env, "VEDETTE_INTERNAL_API_KEY="+internal, "VEDETTE_LOG_LEVEL=debug",
				"VEDETTE_LOG_FORMAT="+format)
			s := dep.serve("--webhook-allow", "127.0.0.0/8")
			setup := s.waitForOutput(`setup\?token=(\S+)`)[1]
			resp, err := http.PostForm(s.base+"/setup?token="+setup,
				url.Values{"token": {setup}, "email": {"ada@example.com"}, "password": {password}})
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			var login struct {
				AccessToken string `json:"access_token"`
			}
			s.as("").call("POST", "/api/v1/auth/login", map[string]string{"email": "ada@example.com", "password": password},
				&login)
			c := s.as(login.AccessToken)
			key := c.newKey()

			// Keys and tokens in the right and in the wrong header.
			for _, header := range []http.Header{
				{"X-Api-Key": {key}}, {"Authorization": {"Bearer " + key}}, {"X-Api-Key": {login.AccessToken}},
				{"X-Internal-Api-Key": {internal}}, {"X-Api-Key": {key + "x"}},
				{"Authorization": {"Bearer " + login.AccessToken + "x"}},
			} {
				for _, path := range []string{"/api/v1/teams", "/api/internal/user-master/lookup", "/api/v1/tasks?api_key=" + key,
					"/v1/user/apikey?token=" + login.AccessToken} {
					req, err := http.NewRequestWithContext(t.Context(), "GET", s.base+path, http.NoBody)
					if err != nil {
						t.Fatal(err)
					}
					req.Header = header
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
				}
			}
			receiver := httptest.NewServer(http.NotFoundHandler())
			defer receiver.Close()
			c.call("PATCH", "/api/v1/teams", map[string]string{"webhook_url": receiver.URL + "/" + path + "?token=" + path}, nil)
			c.delivered(c.runWebhookTask(), longWait)
			site := httptest.NewServer(weaksite.New(1))
			defer site.Close()
			c.runTask(fullCheck(site.URL))
			_, env := get(t, site.URL+"/.env")
			stolen := regexp.MustCompile(`DB_PASSWORD=(\S+)`).FindStringSubmatch(env)[1]
			s.stop()

			log := s.stderr.String()
			if !strings.Contains(log, "user-master/lookup") || !strings.Contains(log, "webhook") {
				t.Errorf("the log does not mention what was done:\n%s", log)
			}
			for what, secret := range map[string]string{
				"the API key": key, "the bearer token": login.AccessToken, "the internal key": internal, "the password": password,
				"the webhook's path": path, "what a target leaked": stolen,
			} {
				if i := strings.Index(log, secret); i >= 0 {
					t.Errorf("%s is in the log: …%s", what, log[max(0, i-200):i+20])
				}
			}
			if strings.Count(log, setup) != 1 { // the link itself
				t.Error("the setup token is in the log more than once")
			}
		})
	}
}

// interrupt sends SIGINT, as Ctrl-C does, and returns the exit code.
func (p *process) interrupt(within time.Duration) int {
	p.t.Helper()
	p.signal(syscall.SIGINT)
	return p.wait(within)
}

func TestInterruptedScan(t *testing.T) {
	t.Parallel()
	g := newHeldSite(t, pathIs("/server-status"))
	coverage := t.TempDir() + "/coverage.json"
	p := launch(t, nil, "scan", "-u", g.URL, "--coverage", coverage, "--rate-limit", "0",
		"--timeout", "300") // seconds: the held request does not end by itself
	g.waitHeld(t)
	if code := p.interrupt(longWait); code != 130 {
		t.Errorf("an interrupted scan exits with %d", code)
	}
	if text := readFile(t, coverage); !strings.Contains(text, `"partial":true`) {
		t.Errorf("the coverage of an interrupted scan does not say that it is partial: %.500s", text)
	}
}

// TestInterruptedTask: interrupting the command stops its task.
func TestInterruptedTask(t *testing.T) {
	t.Parallel()
	c := newDeployment(t, "sqlite").serveWithUser()
	g := newHeldSite(t, pathIs("/server-status"))
	p := launch(t, []string{"VEDETTE_TOKEN=" + c.token}, "task", fullCheck(g.URL), "--server", c.base)
	g.waitHeld(t)
	p.waitForOutput("scan…")
	if code := p.interrupt(longWait); code != 130 {
		t.Errorf("an interrupted task exits with %d", code)
	}
	id := p.waitForOutput(`task (\S+) is stopped`)[1]
	if d := c.waitForTask(id, longWait); d.Task.Status != "aborted" {
		t.Errorf("the interrupted task is %s", d.Task.Status)
	}
}
