package jobs

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/customagent/install"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/extension"
	"github.com/vedette-sec/vedette/internal/core/file"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/comment"
	"github.com/vedette-sec/vedette/internal/core/finding/news"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/core/knowledge"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/policy"
	"github.com/vedette-sec/vedette/internal/core/proof"
	"github.com/vedette-sec/vedette/internal/core/reportschedule"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/core/skill"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/core/toolkit"
	"github.com/vedette-sec/vedette/internal/discover/pipeline"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/provision"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/notify/alert"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == engineCommand {
		os.Exit(child.Main(os.Args[2:], os.Stdin, os.Stdout))
	}
	dbtest.Main(m)
}

// engineCommand makes the test binary a child that tests a part of a scan.
const engineCommand = "engine-of-tests"

// office is a worker at work on a database.
type office struct {
	tasks        *task.Tasks
	scans        *scan.Scans
	findings     *finding.Findings
	settings     *setting.Settings
	assets       *asset.Assets
	enumerations *enumeration.Enumerations
	notices      *notification.Notifications
	extensions   *extension.Extensions
	toolkits     *toolkit.Toolkits
	skills       *skill.Skills
	secrets      *secret.Secrets
	files        *file.Files
	crew         *customagent.Agents
	catalog      *catalog.Catalog
	proofs       *proof.Proofs
	knowledge    *knowledge.Knowledge
	reports      *reportschedule.Schedules
	network      *network.Events
	ctx          context.Context // with a caller
}

func open(t *testing.T, d *db.DB, deny ...netip.Prefix) office {
	t.Helper()
	return openWith(t, d, model.Config{}, deny...)
}

// openWith is open with a language model.
func openWith(t *testing.T, d *db.DB, models model.Config, deny ...netip.Prefix) office {
	t.Helper()
	return openEngine(t, d, models, child.Config{InProcess: true}, deny...)
}

// openEngine is openWith with an engine.
func openEngine(t *testing.T, d *db.DB, models model.Config, engine child.Config, deny ...netip.Prefix) office {
	t.Helper()
	engines := child.New(engine)
	t.Cleanup(engines.Close)
	logger := slog.New(slog.DiscardHandler)
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), d, queue.Config{Logger: logger, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	hooks := hook.New(d, &netguard.Guard{}, logger)
	findings := finding.New(d, q)
	tasks := task.New(d, q, accounts, hooks, findings, logger)
	templatesKept := catalog.New(d, catalog.Config{})
	if _, err := templatesKept.ImportStarter(t.Context()); err != nil {
		t.Fatal(err)
	}
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := secret.New(d, box)
	blobs, err := blob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := file.New(d, blobs)
	members := customagent.New(d, []string{"crawl", "http_request", "read_findings", "report_issue"})
	extensions := extension.New(d, box, extension.Config{Guard: loopback(), Secrets: secrets})
	toolkits := toolkit.New(d, toolkit.Config{Secrets: secrets, Exclusions: exclusion.New(d)})
	folders, err := provision.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folders.Close() })
	installs := install.New(install.Config{Agents: members, Secrets: secrets, Folders: folders})
	skills, texts := skill.New(d, loopback()), knowledge.NewService(d, q, files, loopback(), nil, nil)
	settings := setting.New(d, box, loopback())
	assets := asset.New(d, q, nil)
	scans := scan.New(d, q, findings, assets, templatesKept, settings, logger)
	policies := policy.New(d, q, assets, settings)
	enumerations := enumeration.New(d, q, assets, policies, settings, logger)
	exports := export.New(d, q, export.Sources{Findings: findings, Assets: assets}, logger)
	reports := reportschedule.New(d, q, accounts, exports, settings, notification.New(d, q), logger)
	proofs := proof.New(d, q, proof.Sources{Findings: findings, Scans: scans, Exports: exports, Box: box, Logger: logger})
	captured := network.New(d, q, network.Sources{Tasks: tasks, Scans: scans, Secrets: secrets, Exports: exports, Box: box, Logger: logger})
	if err := Register(q, Deps{Network: captured, Proofs: proofs, Assets: assets, Policies: policies, Enumerations: enumerations,
		Discovery: pipeline.Config{Resolvers: []string{"127.0.0.1:1"}}, Guard: loopback(), Tasks: tasks,
		Models: model.New(d, box, accounts, models), Secrets: secrets, Files: files, Agents: members, Extensions: extensions,
		Toolkits: toolkits, Installs: installs, Skills: skills, Knowledge: texts,
		Exclusions: exclusion.New(d), Hooks: hooks, Scans: scans, Engines: engines, Findings: findings,
		Exports: exports, Reports: reports, Catalog: templatesKept,
		Settings: settings, Deny: deny, Notifications: notification.New(d, q), Alerts: alert.NewSender(loopback()),
		News: news.New(d, findings, inbox.New(d, nil, ""), logger), Tickets: ticket.New(d, q, findings, comment.New(d, findings, inbox.New(d, nil, "")), settings, loopback(), logger), Backoff: func(int) time.Duration { return 10 * time.Millisecond }, Logger: logger}); err != nil {
		t.Fatal(err)
	}
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "ada@example.com", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	return office{tasks, scans, findings, settings, assets, enumerations, notification.New(d, q), extensions, toolkits, skills, secrets,
		files, members, templatesKept, proofs, texts, reports, captured, account.WithCaller(t.Context(),
			account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: u.Role})}
}

// loopback is a guard that lets tests speak to their own servers.
func loopback() *netguard.Guard {
	return &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// do runs a task to its end; at tells of each event on the way.
func (o office) do(t *testing.T, instruction string, at func(task.Task, *task.Event)) (task.Task, []task.Issue) {
	t.Helper()
	made, err := o.tasks.Create(o.ctx, task.NewTask{Instruction: instruction})
	if err != nil {
		t.Fatal(err)
	}
	events, err := o.tasks.Follow(o.ctx, made.ID, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if e != nil && at != nil {
			at(made, e)
		}
	}
	made, err = o.tasks.Find(o.ctx, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	issues, _, err := o.tasks.FindIssues(o.ctx, task.IssueFilter{TaskID: made.ID, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return made, issues
}

// site serves a handler and remembers which paths were asked for.
func site(t *testing.T, h http.Handler) (base string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.URL.Path)
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(paths)
	}
}

func TestFullCheckFindsEveryPlantedWeakness(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		base, _ := site(t, weaksite.New(7))
		done, issues := open(t, d).do(t, "give "+base+" a full check", nil)
		if done.Status != task.Completed {
			t.Fatalf("%s: %s", done.Status, done.Summary)
		}
		for _, weakness := range weaksite.Weaknesses() {
			if !slices.ContainsFunc(issues, func(i task.Issue) bool {
				return strings.TrimSuffix(i.MatchedAt, "/") == strings.TrimSuffix(base+weakness.Path, "/")
			}) {
				t.Errorf("%s at %s was not found", weakness.Kind, weakness.Path)
			}
		}
		for _, i := range issues {
			var kinds []string
			compared := 0
			for _, e := range i.Evidence {
				compared += len(e.Compared)
				if kinds = append(kinds, e.Kind); e.Request == "" || e.Response == "" {
					t.Errorf("%s: the %s has no exchange", i.Title, e.Kind)
				}
			}
			all := strings.Join(kinds, " ")
			if all != "detection verification" || strings.HasSuffix(i.MatchedAt, "/.git/config") && compared == 0 || i.Description == "" ||
				i.Remediation == "" {
				t.Errorf("%s has no full evidence: %+v", i.Title, i)
			}
		}
	})
}

func TestWallIsNoticedAndSaid(t *testing.T) {
	base, _ := site(t, weaksite.Wall())
	done, issues := open(t, dbtest.Open(t, "sqlite")).do(t,
		"look for exposed files, listings, backups and panels on "+base, nil)
	if done.Status != task.Completed || len(issues) != 0 || !strings.Contains(done.Summary, "every path") {
		t.Errorf("%s with %d issues: %s", done.Status, len(issues), done.Summary)
	}
}

func TestExcludedPathIsNeverAskedFor(t *testing.T) {
	base, asked := site(t, weaksite.New(7))
	done, issues := open(t, dbtest.Open(t, "sqlite")).do(t, "full check of "+base+" but do not touch "+base+"/phpmyadmin",
		nil)
	if done.Status != task.Completed || len(issues) == 0 {
		t.Fatalf("%s with %d issues: %s", done.Status, len(issues), done.Summary)
	}
	for _, path := range asked() {
		if strings.HasPrefix(path, "/phpmyadmin") {
			t.Errorf("%s was asked for", path)
		}
	}
}

func TestDeniedNetworkIsNeverDialled(t *testing.T) {
	base, asked := site(t, weaksite.New(7))
	o := open(t, dbtest.Open(t, "sqlite"), netip.MustParsePrefix("127.0.0.0/8"))
	done, issues := o.do(t, "full check of "+base, nil)
	if len(asked()) != 0 || len(issues) != 0 || !strings.Contains(done.Summary, "scope") {
		t.Errorf("%d requests, %d issues: %s", len(asked()), len(issues), done.Summary)
	}
}

func TestRedirectDoesNotLeadOutOfScope(t *testing.T) {
	outside, asked := site(t, weaksite.New(7))
	inside, _ := site(t, http.RedirectHandler(outside+"/.git/HEAD", http.StatusFound))
	_, issues := open(t, dbtest.Open(t, "sqlite")).do(t, "full check of "+inside, nil)
	if len(asked()) != 0 {
		t.Errorf("%d requests left the scope, first %s; %d issues", len(asked()), asked()[0], len(issues))
	}
}

func TestAbortKeepsWhatWasFound(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		release := make(chan struct{})
		weak := weaksite.New(7)
		base, _ := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/server-status" { // hangs until the task is stopped
				select {
				case <-release:
				case <-r.Context().Done():
				}
				return
			}
			weak.ServeHTTP(w, r)
		}))
		t.Cleanup(func() { close(release) })
		o := open(t, d)
		stopped := false
		done, _ := o.do(t, "full check of "+base, func(made task.Task, e *task.Event) {
			if stopped || e.Type != task.EventProgress || !strings.Contains(string(e.Data), `"tool": "scan"`) &&
				!strings.Contains(string(e.Data), `"tool":"scan"`) {
				return
			}
			stopped = true
			if _, err := o.tasks.Abort(o.ctx, made.ID); err != nil {
				t.Error(err)
			}
		})
		if done.Status != task.Aborted || !strings.Contains(done.Summary, "stopped") {
			t.Errorf("%s: %s", done.Status, done.Summary)
		}
	})
}

func TestSilentTargetIsSaid(t *testing.T) {
	const address = "127.0.0.1:1"
	done, _ := open(t, dbtest.Open(t, "sqlite")).do(t, "check http://"+address, nil)
	if done.Status != task.Completed || !strings.Contains(done.Summary, "0 of 1 targets answered") ||
		!strings.Contains(done.Summary, address) {
		t.Errorf("%s: %s", done.Status, done.Summary)
	}
}
