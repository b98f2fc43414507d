// Package stories runs the promises of the interface as requests and answers, against
// the real server on both databases. A promise is a .txtar file here; FORMAT.md says how
// it is written.
package stories

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/vedette-sec/vedette/internal/app"
	"github.com/vedette-sec/vedette/internal/app/apptest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/account/factor/factortest"
	"github.com/vedette-sec/vedette/internal/core/feed"
	"github.com/vedette-sec/vedette/internal/core/leak"
	"github.com/vedette-sec/vedette/internal/core/vulnerability"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/notify/mailer/mailtest"
	"github.com/vedette-sec/vedette/internal/notify/slack/slacktest"
	"github.com/vedette-sec/vedette/internal/notify/tracker/trackertest"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == engineCommand {
		os.Exit(child.Main(os.Args[2:], os.Stdin, os.Stdout))
	}
	dbtest.Prepare = apptest.Prepare
	dbtest.Main(m)
}

// engineCommand makes the test binary a child that tests a part of a scan.
const engineCommand = "engine-of-stories"

func TestStories(t *testing.T) {
	files, err := filepath.Glob("*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no stories", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, engine := range dbtest.Engines {
			t.Run(strings.TrimSuffix(file, ".txtar")+"/"+engine, func(t *testing.T) {
				t.Parallel()
				tell(t, engine, txtar.Parse(text))
			})
		}
	}
}

// TestAbuses: the stories of abuses have as many cases as they are to have.
func TestAbuses(t *testing.T) {
	files, err := filepath.Glob("abuse-*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]bool{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, section := range a.Files {
			if !strings.HasPrefix(section.Name, "case ") {
				continue
			}
			if i+1 == len(a.Files) || !strings.HasPrefix(a.Files[i+1].Name, "request ") || cases[section.Name] {
				t.Errorf("%s: %q is twice there, or tries nothing", file, section.Name)
			}
			cases[section.Name] = true
		}
	}
	if len(cases) < 100 {
		t.Errorf("%d cases", len(cases))
	}
}

// story is one run of a file.
type story struct {
	t         *testing.T
	base      string
	database  string // its URL
	accounts  *account.Accounts
	values    map[string]string // what {name} stands for
	keys      map[string]*factortest.Key
	publicURL string // of the server, as the story configures it
	received  chan *http.Request
	bodies    chan []byte
	records   *records
	mails     <-chan mailtest.Mail
	config    app.Config // of the server
}

// patience is how long a story waits for what happens in the background.
const patience = 90 * time.Second

// tell runs a story, and returns it as it is at its end.
func tell(t *testing.T, engine string, a *txtar.Archive) *story {
	s := &story{t: t, values: map[string]string{}, keys: map[string]*factortest.Key{},
		received: make(chan *http.Request, 10), bodies: make(chan []byte, 10)}
	s.database = dbtest.MigratedURL(t, engine)
	env := []string{"VEDETTE_DATABASE=" + s.database, "VEDETTE_DATA_DIR=" + t.TempDir(),
		"VEDETTE_LISTEN=127.0.0.1:0"}
	setup := strings.Split(string(a.Comment), "\n")
	for _, line := range setup {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "config":
			name, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "config ")), "=")
			env = append(env, "VEDETTE_"+strings.ToUpper(name)+"="+s.fill(value))
			if name == "public_url" {
				s.publicURL = value
			}
		default:
			s.prepare(words)
		}
	}
	for _, section := range a.Files {
		if section.Name == "model" { // answers of a scripted model
			file := filepath.Join(t.TempDir(), "script.json")
			if err := os.WriteFile(file, section.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			env = append(env, "VEDETTE_LLM_PROVIDER=scripted", "VEDETTE_LLM_SCRIPT="+file)
		}
	}
	s.serve(env)
	for _, line := range setup {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "user" {
			s.user(words[1], words[2:])
		}
	}
	var answer *answer
	var asked, sent string // the last request
	for _, section := range a.Files {
		verb, rest, _ := strings.Cut(section.Name, " ")
		switch verb {
		case "request":
			asked, sent = s.fill(rest), string(section.Data)
			answer = s.request(asked, sent)
		case "until":
			answer = s.until(asked, sent, s.fill(strings.TrimSpace(string(section.Data))))
		case "answer":
			s.check(section.Name, answer, rest, string(section.Data))
		case "wait":
			s.waitFor(s.fill(rest))
		case "model":
		case "case": // its name is in the log of a story that fails
			t.Logf("case: %s", rest)
		case "record":
			s.records.set(rest, s.fill(string(section.Data)))
		case "leaks": // a breach list that the operator loads
			s.loadLeaks(rest, section.Data)
		case "feed": // a file about CVEs that the operator loads
			s.loadFeed(rest, section.Data)
		case "mailed":
			s.checkMailed(section.Name, rest, string(section.Data))
		case "received":
			s.checkReceived(section.Name, string(section.Data))
		default:
			t.Fatalf("section %q: unknown verb", section.Name)
		}
	}
	return s
}

// prepare starts what a story needs around the server.
func (s *story) prepare(words []string) {
	if words[0] == "registry" {
		s.values["registry"] = startRegistry(s.t)
		_, s.values["registry.port"], _ = net.SplitHostPort(s.values["registry"])
		return
	}
	handlers := map[string]func() http.Handler{
		"site": func() http.Handler { return weaksite.New(1) },
		"wall": weaksite.Wall,
		"down": func() http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "The shop is closed.", http.StatusServiceUnavailable)
			})
		},
		"receiver": func() http.Handler {
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				s.received <- r
				s.bodies <- body
			})
		},
		"sources":    sources,
		"models":     models,
		"embeddings": embeddings,
		"github":     s.github,
		"gitlab":     gitlab,
		"slack":      func() http.Handler { return slacktest.New() },
		"desk":       desk,
		"tracker":    func() http.Handler { return trackertest.New(s.t, "github") },
		"turnstile": func() http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				good := r.PostFormValue("response") == "solved" && r.PostFormValue("secret") == "the-secret"
				_ = json.NewEncoder(w).Encode(map[string]bool{"success": good})
			})
		},
		"region": func() http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, `{"exists":true,"user_region":"eu","team":null}`)
			})
		},
		"silence": func() http.Handler { // takes requests and never answers
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // the server sees the caller leave only then
				<-r.Context().Done()
			})
		},
	}
	if words[0] == "mail" {
		s.values["mail"], s.mails = mailtest.Start(s.t)
		return
	}
	if words[0] == "names" {
		s.records, s.values["names"] = startRecords(s.t)
		return
	}
	handler, ok := handlers[words[0]]
	if !ok {
		if words[0] != "user" {
			s.t.Fatalf("setup %q: unknown word", words[0])
		}
		return
	}
	server := httptest.NewServer(handler())
	s.t.Cleanup(server.Close)
	s.values[words[0]] = server.URL
}

func (s *story) serve(env []string) {
	c, _, err := app.Load(nil, env, "")
	if err != nil {
		s.t.Fatal(err)
	}
	s.config = c
	c.Engine.Args = []string{engineCommand, strconv.Itoa(c.EngineMemory << 20)}
	house, err := app.Open(s.t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	if s.base, err = house.Listen(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- house.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.t.Errorf("stopping the server: %v", err)
		}
	})
	s.accounts = house.Accounts
}

// loadLeaks loads a breach list, as "vedette leaks load" does beside the server.
func (s *story) loadLeaks(name string, list []byte) {
	err := app.WithLeaks(s.t.Context(), s.config, func(leaks *leak.Leaks) error {
		_, err := leaks.Load(s.t.Context(), name, bytes.NewReader(list), nil)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// loadFeed loads a feed about CVEs, as "vedette feeds load" does beside the server.
func (s *story) loadFeed(name string, content []byte) {
	ctx, text := s.t.Context(), bytes.NewReader(content)
	err := app.WithFeeds(ctx, s.config, func(fs *feed.Feeds, cves *vulnerability.Vulnerabilities) (err error) {
		switch name {
		case feed.EPSS:
			_, err = fs.LoadEPSS(ctx, text)
		case feed.KEV:
			_, err = fs.LoadKEV(ctx, text)
		case feed.NVD:
			_, err = cves.LoadNVD(ctx, text)
		default:
			err = fmt.Errorf("feed %q is not known", name)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// user makes a user; {name.token} is their bearer token, and {name.key} their API key
// unless they are to have none.
func (s *story) user(name string, options []string) {
	n := account.NewUser{Email: name + "@example.com"}
	withKey, capped := true, false
	for _, option := range options {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "admin":
			n.Admin = true
		case "team":
			n.Team = value
		case "password":
			n.Password = value
		case "cap":
			capped = true
		case "keyless":
			withKey = false
		default:
			s.t.Fatalf("user %s: unknown option %q", name, option)
		}
	}
	ctx := s.t.Context()
	u, err := s.accounts.CreateUser(ctx, n)
	if err != nil {
		s.t.Fatal(err)
	}
	if capped {
		admin := account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: account.Admin}
		if _, err := s.accounts.SetCap(account.WithCaller(ctx, admin), u.Email, new(int64)); err != nil {
			s.t.Fatal(err)
		}
	}
	token, err := s.accounts.IssueToken(ctx, u.Email)
	if err != nil {
		s.t.Fatal(err)
	}
	s.values[name+".token"], s.values[name+".team"] = token.AccessToken, u.TeamID
	if withKey {
		key, err := s.accounts.CreateKey(account.WithCaller(ctx, account.Caller{UserID: u.ID}))
		if err != nil {
			s.t.Fatal(err)
		}
		s.values[name+".key"] = key.Key
	}
}
