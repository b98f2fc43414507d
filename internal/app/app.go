package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/chat"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/extension"
	"github.com/vedette-sec/vedette/internal/core/file"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/comment"
	"github.com/vedette-sec/vedette/internal/core/finding/news"
	"github.com/vedette-sec/vedette/internal/core/finding/work"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/core/interaction"
	"github.com/vedette-sec/vedette/internal/core/issue"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/policy"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/core/proof"
	"github.com/vedette-sec/vedette/internal/core/reportschedule"
	"github.com/vedette-sec/vedette/internal/core/review"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/core/sshkey"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/core/taskschedule"
	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/core/triage"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/pipeline"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/outage"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/jobs"
	"github.com/vedette-sec/vedette/internal/notify/alert"
	"github.com/vedette-sec/vedette/internal/oast"
	"github.com/vedette-sec/vedette/internal/tools/toolset"
)

// App is a process with its services open.
type App struct {
	Accounts *account.Accounts
	Tasks    *task.Tasks
	Scans    *scan.Scans
	Findings *finding.Findings
	Models   *model.Models

	config       Config
	logger       *slog.Logger
	settings     *setting.Settings
	secrets      *secret.Secrets
	files        *file.Files
	agents       *customagent.Agents
	extensions   *extension.Extensions
	library      // what agents work with
	schedules    *taskschedule.Schedules
	projects     *project.Projects
	sshKeys      *sshkey.Keys
	tickets      *ticket.Tickets
	reviews      *review.Reviews
	chats        *chat.Chats
	inbox        *inbox.Inbox
	comments     *comment.Comments
	works        *work.Works
	news         *news.News
	assets       *asset.Assets
	policies     *policy.Policies
	enumerations *enumeration.Enumerations
	related      jobs.Related
	issues       *issue.Issues
	triage       *triage.Triage
	exports      *export.Exports
	reports      *reportschedule.Schedules
	proofs       *proof.Proofs
	audit        *audit.Log
	failures     *audit.Failures
	catalog      *catalog.Catalog
	db           *db.DB
	unlock       func() error // lets another process have the data folder
	queue        *queue.Queue
	engines      *child.Pool
	handler      http.Handler
	oast         *oast.Server              // nil without oast_listen
	interactions *interaction.Interactions // nil without an out-of-band server
	closing      context.Context
	close        context.CancelFunc
	listener     net.Listener
}

// Open opens the database and connects the services; nothing runs yet. Logs go to logger.
func Open(ctx context.Context, c Config, logger *slog.Logger) (*App, error) {
	unlock, err := c.lockFolder()
	if err != nil {
		return nil, err
	}
	database, err := c.openDB(ctx, true)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	floor := int64(c.MinFreeSpace) << 20
	if c.MinFreeSpace < 0 {
		floor = outage.Auto
	}
	database.KeepRoom(floor, c.DataDir)
	a := &App{config: c, logger: logger, db: database, unlock: unlock}
	a.closing, a.close = context.WithCancel(context.Background())
	if err := a.join(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

//nolint:funlen // the services in the order in which they need each other
func (a *App) join(
	ctx context.Context,
) error {
	allow, err := prefixes(a.config.WebhookAllow)
	if err != nil {
		return err
	}
	deny, err := prefixes(a.config.DenyTargets)
	if err != nil {
		return err
	}
	box, err := a.config.openBox()
	if err != nil {
		return err
	}
	if err := a.openAccounts(ctx, box); err != nil {
		return err
	}
	if err := a.openQueue(ctx); err != nil {
		return err
	}
	webhooks := &netguard.Guard{Allow: allow}
	hooks := hook.New(a.db, webhooks, a.logger)
	a.secrets = secret.New(a.db, box)
	if err := a.openExtensions(box, webhooks, deny); err != nil {
		return err
	}
	a.settings = setting.New(a.db, box, webhooks)
	if a.Models, err = a.openModels(box, webhooks); err != nil {
		return err
	}
	a.audit = audit.New(a.db, box, a.config.AuditRetention, time.Now, a.logger)
	a.failures = audit.NewFailures(a.audit, a.Accounts)
	a.Findings = finding.New(a.db, a.queue)
	a.Findings.Version = cmp.Or(a.config.Version, "dev")
	a.Tasks = task.New(a.db, a.queue, a.Accounts, hooks, a.Findings, a.logger)
	a.projects, a.sshKeys = project.New(a.db), sshkey.New(a.db, box)
	a.schedules = taskschedule.New(a.db, a.Tasks, a.Accounts, a.logger)
	a.engines = a.openEngines()
	if a.catalog, err = openCatalog(ctx, a.db, catalog.Config{Guard: webhooks, Engines: a.engines}, a.logger); err != nil {
		return fmt.Errorf("starter templates: %w", err)
	}
	blobs, err := blob.Open(filepath.Join(a.config.DataDir, "blobs"))
	if err != nil {
		return err
	}
	if err := a.openFiles(webhooks); err != nil {
		return err
	}
	names, err := toolset.ToolNames()
	if err != nil {
		return err
	}
	a.openAgents(names)
	a.assets = asset.New(a.db, a.queue, blobs)
	a.policies = policy.New(a.db, a.queue, a.assets, a.settings)
	a.enumerations = enumeration.New(a.db, a.queue, a.assets, a.policies, a.settings, a.logger)
	a.Scans = scan.New(a.db, a.queue, a.Findings, a.assets, a.catalog, a.settings, a.logger)
	a.Scans.TempDir = a.config.DataDir
	if err := cmp.Or(a.openSigners(), a.openInteractions(box)); err != nil {
		return err
	}
	if err := a.fillLists(ctx); err != nil {
		return err
	}
	a.exports = export.New(a.db, a.queue, export.Sources{Findings: a.Findings, Assets: a.assets, Scans: a.Scans,
		Tasks: a.Tasks, Secrets: a.secrets, Catalog: a.catalog}, a.logger)
	a.reports = reportschedule.New(a.db, a.queue, a.Accounts, a.exports, a.settings, notification.New(a.db, a.queue),
		a.logger)
	a.proofs = proof.New(a.db, a.queue, proof.Sources{Findings: a.Findings, Scans: a.Scans, Exports: a.exports, Box: box,
		Logger: a.logger})
	a.openNetwork(box)
	a.inbox = inbox.New(a.db, a.Accounts.Mail, a.config.PublicURL)
	a.comments = comment.New(a.db, a.Findings, a.inbox)
	a.works = work.New(a.db, a.Findings, a.inbox)
	a.news = news.New(a.db, a.Findings, a.inbox, a.logger)
	a.tickets = ticket.New(a.db, a.queue, a.Findings, a.comments, a.settings, webhooks, a.logger)
	if a.reviews, err = a.openReviews(box, webhooks); err != nil {
		return err
	}
	a.openChats(box)
	a.triage = triage.New(a.db, a.queue, a.Findings, a.works, a.settings, a.Models, a.logger)
	a.issues = issue.New(a.db, a.Tasks, a.Scans, a.Findings, a.assets, a.works, a.comments)
	if a.related, err = a.openDomains(allow); err != nil {
		return err
	}
	if err := jobs.Register(a.queue, jobs.Deps{
		Engines: a.engines,
		Tasks:   a.Tasks, Models: a.Models, Secrets: a.secrets, Files: a.files, Projects: a.projects, SSHKeys: a.sshKeys,
		Agents: a.agents, Extensions: a.extensions, Toolkits: a.toolkits, Installs: a.installs, Skills: a.skills,
		Exclusions: exclusion.New(a.db), Hooks: hooks, Scans: a.Scans, Fixes: a.fixes(), Findings: a.Findings,
		Exports: a.exports, Reports: a.reports, PublicURL: a.config.PublicURL, Knowledge: a.knowledge,
		Proofs: a.proofs, Assets: a.assets, Policies: a.policies, Enumerations: a.enumerations, Catalog: a.catalog,
		Settings:      a.settings,
		Notifications: notification.New(a.db, a.queue),
		Alerts:        alert.NewSender(webhooks), Tickets: a.tickets, Reviews: a.reviews, Chats: a.chats,
		News: a.news, Triage: a.triage,
		Related: a.related,
		Deny:    deny, Logger: a.logger,
		Guard: webhooks, Network: a.network,
		Discovery: a.discovery(),
	}); err != nil {
		return err
	}
	return a.serveRoutes(hooks, webhooks)
}

func (a *App) openQueue(ctx context.Context) (err error) {
	workers := a.config.Workers
	if a.config.Role == RoleServer {
		workers = 0
	}
	a.queue, err = queue.Open(ctx, a.db, queue.Config{
		Logger: a.logger, Workers: workers, Spare: a.config.SpareWorkers, Team: a.config.TeamWorkers,
	})
	return err
}

func (a *App) discovery() pipeline.Config {
	return pipeline.Config{
		Resolvers: a.config.Resolvers, Sources: a.config.NameSources, OriginZone: a.config.OriginZone,
		RangesURL: a.config.RangesURL,
		Pace:      discover.NewPace(a.config.PortRate), QueryPace: discover.NewPace(a.config.QueryRate),
	}
}

func (a *App) openAccounts(ctx context.Context, box *seal.Box) (err error) {
	if a.Accounts, err = openAccounts(ctx, a.config, a.db, box, a.logger); err == nil {
		a.Accounts.Mail = a.openMail()
	}
	return err
}

func (a *App) openEngines() *child.Pool {
	c, d := a.config.Engine, a.config.divide()
	c.Memory, c.AtOnce, c.Checks, c.Logger = d.engine, d.jobs, d.checks, a.logger
	if a.config.Role != RoleServer { // which runs no jobs
		c.Browsers = a.config.lent(d)
	}
	return child.New(c)
}

func (a *App) serveRoutes(hooks *hook.Hooks, webhooks *netguard.Guard) (err error) {
	registry := prometheus.NewRegistry()
	kit := rest.Config{
		Accounts: a.Accounts, Logger: a.logger, Metrics: rest.NewMetrics(registry), MaxBody: a.config.MaxBody,
		Rate: a.config.APIRate, Burst: a.config.APIBurst, Audit: a.audit,
		StreamsPerUser: a.config.UserStreams, StreamsPerTeam: a.config.TeamStreams,
	}
	trusted, err := prefixes(a.config.TrustedProxies)
	if err != nil {
		return err
	}
	handler, err := a.routes(kit, registry, hooks, webhooks)
	a.handler = rest.BehindProxies(trusted, handler)
	return err
}

// fillLists brings rows into the lists that a version without their indexes has stored.
func (a *App) fillLists(ctx context.Context) error {
	for what, fill := range map[string]func(context.Context) error{
		"assets": a.assets.Backfill, "findings": a.Findings.Backfill, "issues": a.Tasks.Backfill, "scans": a.Scans.FoldNames,
	} {
		if err := fill(ctx); err != nil {
			return fmt.Errorf("filling the list of %s: %w", what, err)
		}
	}
	return nil
}

// openBox opens the key that encrypts secrets.
func (c Config) openBox() (*seal.Box, error) {
	if err := os.MkdirAll(filepath.Dir(c.keyFile()), 0o700); err != nil {
		return nil, err
	}
	return seal.Open(c.keyFile())
}

// openAccounts opens the only service that the operator's user commands need. They have no box.
func openAccounts(
	ctx context.Context, c Config, d *db.DB, box *seal.Box, logger *slog.Logger,
) (*account.Accounts, error) {
	services, err := c.regionServices()
	if err != nil {
		return nil, err
	}
	secret, err := c.oidcSecret()
	if err != nil {
		return nil, err
	}
	return account.Open(ctx, d, account.Config{
		Region: c.Region, InternalKey: c.InternalKey, RegionServices: services, RegionTimeout: c.RegionTimeout,
		OIDCIssuer: c.OIDCIssuer, OIDCAudience: c.OIDCAudience, OIDCClientID: c.OIDCClientID,
		OIDCClientSecret: secret, OIDCOnly: c.OIDCOnly, TokenTTL: c.TokenTTL, Logger: logger,
		TeamsByOperators: c.Teams == "operators", Box: box,
		DefaultPlan: account.Plan(c.DefaultPlan), KeysPerUser: c.KeysPerUser, PublicURL: c.PublicURL,
		VerifyUser:       c.KeysVerify == "required",
		TurnstileSiteKey: c.TurnstileKey, TurnstileSecret: c.TurnstileSec, TurnstileVerifyURL: c.TurnstileURL,
	})
}

// oidcSecret is this server's secret at the OpenID issuer. Commands of operators that know only the database have none.
func (c Config) oidcSecret() (string, error) {
	if c.OIDCSecretFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(c.OIDCSecretFile)
	if err != nil {
		return "", fmt.Errorf("oidc_client_secret_file: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", fmt.Errorf("oidc_client_secret_file %s is empty", c.OIDCSecretFile)
	}
	return secret, nil
}

// WithAccounts runs fn with only the account service of the configured database open.
func WithAccounts(ctx context.Context, c Config, fn func(*account.Accounts) error) error {
	d, err := c.openDB(ctx, false)
	if err != nil {
		return err
	}
	defer d.Close()
	accounts, err := openAccounts(ctx, c, d, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return fn(accounts)
}

// Logger is the configured logger, on stderr.
func (c Config) Logger() *slog.Logger {
	level, _ := c.level() // checked by Load
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}

// Listen binds the address, so that a port in use is reported before any work begins. It returns the
// base URL of the server.
func (a *App) Listen(ctx context.Context) (string, error) {
	if a.config.Role == RoleWorker {
		return "", nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", a.config.Listen)
	if err != nil {
		return "", err
	}
	a.listener = l
	return "http://" + reachable(l.Addr()), nil
}

// reachable is a host and port on which this machine reaches a listener: of one that takes any address, loopback's.
func reachable(a net.Addr) string {
	port, err := netip.ParseAddrPort(a.String())
	if err != nil || !port.Addr().Unmap().IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port.Port())))
}

const (
	// A stop waits this long for running requests, and then for jobs: unfinished jobs continue
	// at the next start, so waiting longer gains little.
	answersTimeout    = 5 * time.Second
	jobsTimeout       = 3 * time.Second
	readHeaderTimeout = 10 * time.Second
	bodyTimeout       = 30 * time.Second
	idleTimeout       = 2 * time.Minute
)

// Run serves requests and runs jobs until ctx ends. Then it accepts no new connection, ends streams,
// finishes running requests, returns running jobs to the queue, and closes everything.
func (a *App) Run(ctx context.Context) error {
	a.limitMemory(ctx)
	if a.config.Role != RoleServer {
		if err := a.engines.Warm(); err != nil {
			return errors.Join(err, a.Close())
		}
		if err := a.queue.Start(ctx); err != nil {
			return errors.Join(fmt.Errorf("starting the queue: %w", err), a.Close())
		}
		go a.Scans.Schedules().Keep(a.closing)
		if a.interactions != nil {
			go a.interactions.Keep(a.closing)
		}
		go a.enumerations.Schedules().Keep(a.closing)
		go a.schedules.Keep(a.closing)
		go a.reports.Keep(a.closing)
		go a.tickets.Keep(a.closing)
		a.keepFindings()
		go a.triage.Keep(a.closing)
		go a.knowledge.Keep(a.closing, a.logger)
		go a.exports.RunSweeps(a.closing)
		go a.proofs.Keep(a.closing)
		go a.assets.SweepScreenshotsRegularly(a.closing, a.logger)
		go a.audit.Run(a.closing)
		go a.Accounts.SweepRegularly(a.closing)
		go a.related.Domains.Keep(a.closing)
		go a.Tasks.StopOfDisabledRegularly(a.closing)
	}
	if a.Accounts.Mail != nil {
		go a.Accounts.Mail.Run(a.closing)
		go a.Accounts.SendResets(a.closing)
	}
	go a.failures.Run(a.closing)
	failed := make(chan error, 1)
	server := &http.Server{
		Handler: rest.BoundBody(bodyTimeout, a.handler), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 64 << 10,
		ErrorLog:       slog.NewLogLogger(a.logger.Handler(), slog.LevelDebug),
	}
	clients := clientConns{most: clientShare}
	server.ConnState = clients.note
	if a.listener != nil {
		go func() { failed <- server.Serve(a.listener) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	a.logger.Info("stopping")
	a.close()
	server.RegisterOnShutdown(clients.close)
	if serr := within(ctx, answersTimeout, server.Shutdown); serr != nil {
		err = errors.Join(err, fmt.Errorf("stopping the server: %w", serr))
	}
	return errors.Join(err, a.Close())
}

// within calls fn with a time limit, independent of the end of ctx.
func within(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return fn(ctx)
}

// Close closes what Open opened; Run does it too.
func (a *App) Close() (err error) {
	a.close()
	if a.queue != nil { // also without workers: it has its own connections
		if err = within(context.Background(), jobsTimeout, a.queue.Stop); err != nil {
			err = fmt.Errorf("stopping the queue: %w", err)
		}
	}
	if a.engines != nil {
		a.engines.Close()
	}
	if a.oast != nil {
		a.oast.Close()
	}
	return errors.Join(err, a.closeTools(), a.db.Close(), a.unlock())
}
