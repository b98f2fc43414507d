// Package webtest tests a web application for weaknesses that nobody wrote a template for.
//
// A run maps the application (package sitemap), as nobody or as the first account that can log in (package session);
// then what the other accounts are shown and the first is not (users.go).
// Then each request of the map is a target: what its answer shows is looked at first, then the request as a whole is
// tested, then each of its places that may be an input, by every check whose harm level is allowed (package check).
// Which places those are is planned (plan.go): parameters always; segments of paths, headers and cookies where they
// vary, were seen in scripts, or change the answer. Findings of one cause are one finding (merge.go). A session that
// ends is renewed before a check sees an answer that shows it (client/guard.go); what the answers do not show is looked
// for between batches of targets, and who cannot be logged in any more is tested for no further (lost.go). What was not
// tested is in the coverage, by place, check and reason (coverage.go), and what was done is journalled, so that a run
// that was killed goes on where it was (journal.go).
package webtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/coverage"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/registration"
	"github.com/vedette-sec/vedette/internal/webtest/session"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
	"github.com/vedette-sec/vedette/internal/webtest/spec"
)

// Finding is a weakness at a place, with all the places of the same cause.
type Finding = kit.Finding

// Config configures a run.
type Config struct {
	Client    client.Config
	Starts    []*url.URL
	Seeds     []*message.Request // known from elsewhere, such as a description of the API
	Documents []*spec.Document   // that describe the application
	Only      bool               // nothing but Starts, Seeds and Documents is tested
	Depth     int                // of links from a start, default 8
	Accounts  []session.Account  // the first one crawls
	Browser   *browser.Pool      // nil: what needs one is not tested
	OAST      *kit.OOB           // nil: what needs one is not tested
	Checks    []kit.Check
	Place     string // the only one that is tested, as its String says; "": all
	Guess     bool   // well-known passwords, and some wrong ones in a row, may be tried at logins
	Targets   int    // tested at a time, default 8
	Journal   string // file in which the run is noted, and from which one that was killed goes on; "": none

	// The run calls these one at a time.
	OnFinding  func(Finding)
	OnProgress func(Progress)
	OnNote     func(string) // what people should know, a sentence
}

// Progress is how far a run is.
type Progress struct {
	Stage       string // map, look, test, end
	Done, Total int    // targets
	Requests    int64
	Findings    int
}

// Report is what a run did.
type Report struct {
	Findings []Finding
	Map      *sitemap.Map
	Coverage *coverage.Coverage
	Requests int64
	Over     string           // the bound of the budget that ended it: requests, time; "" for none
	Down     bool             // the target stopped answering
	Blocked  bool             // it answers, and refuses everything since some request on
	Denied   bool             // nothing of it is in scope
	Logins   int              // how often sessions were renewed
	Refused  []string         // why accounts were not logged in; the rest was tested without them
	Notes    []string         // as OnNote got them
	Written  []client.Written // addresses that tests at level active may have written to
	Left     []string         // pages that show what tests have written, and that could not be removed
	Resumed  bool
}

// Partial reports whether something was left untested.
func (r *Report) Partial() bool {
	return r.Over != "" || r.Down || r.Coverage.Gaps() > 0
}

// run is a run that runs.
type run struct {
	Config
	client   *client.Client
	world    *kit.World
	sessions []*session.Session
	made     []*session.Session // of users who were registered beside those
	report   *Report
	journal  *journal
	nobody   *client.User
	told     map[*client.User]bool                         // who cannot be logged in any more, and it was said
	abouts   map[string]string                             // what descriptions say of requests, by method and address
	seen     map[*client.User]map[string]*message.Response // what the map saw as each user, by address
	ctx      context.Context                               //nolint:containedctx // of Run, for what checks report from theirs

	mu       sync.Mutex
	merged   map[string]int // index into report.Findings by cause
	pending  []Finding      // of the batch, when sessions are needed
	batching bool
	classes  map[string]bool // that were found at a place
	probed   map[string]int  // targets whose other places were all tested, by host
	samples  map[string]*sample
	undo     []func() // takes samples of the batch back
	stage    Progress
}

// crawlShare is the part of the budget that the map may take.
const crawlShare = 3

// Run tests an application. The error is that of the context, of the journal, of a login that could not be tried or
// repeated, or of starts that do not answer; the report has what was done until then and is nil only where nothing was.
// An account that is refused, or for which there is no login, is left out: see Report.Refused.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	r, err := newRun(cfg)
	if err != nil {
		return nil, err
	}
	defer r.client.Close()
	defer r.journal.close()
	r.ctx = ctx
	err = r.all(ctx)
	for _, s := range r.sessions {
		r.report.Logins += s.Renewals()
	}
	r.report.Requests = r.client.Sent()
	if r.report.Over == "" {
		r.report.Over = r.client.Over()
	}
	r.refusals()
	return r.report, err
}

func newRun(cfg Config) (*run, error) {
	if cfg.Targets == 0 {
		cfg.Targets = 8
	}
	if cfg.Client.Now == nil {
		cfg.Client.Now = time.Now
	}
	r := &run{Config: cfg, report: &Report{Coverage: coverage.New()}, merged: map[string]int{}, classes: map[string]bool{},
		abouts: map[string]string{}, probed: map[string]int{}, samples: map[string]*sample{}, nobody: client.NewUser(""),
		told: map[*client.User]bool{}}
	var err error
	if r.journal, err = openJournal(cfg.Journal); err != nil {
		return nil, err
	}
	cfg.Client.Sent += r.journal.sent
	if cfg.Client.Level >= client.Active {
		cfg.Client.Requests, cfg.Client.Until = forTests(cfg.Client)
	}
	r.report.Resumed = r.journal.resumed
	r.client = client.New(cfg.Client)
	return r, nil
}

func (r *run) all(ctx context.Context) error {
	r.publishedAPI(ctx)
	if err := r.logIn(ctx); err != nil {
		return err
	}
	r.world = &kit.World{Client: r.client, Browser: r.Browser, OAST: r.OAST, Level: r.Client.Level, Defaults: r.Guess,
		Pages: r.pages, Skip: r.skip, Report: r.found}
	r.signedIn()
	r.world.Login, r.world.LoginWith, r.world.LoginLeads = r.freshLogin, r.loginWith, r.loginLeads
	r.world.Seen, r.world.About = r.seenAs, r.about
	r.world.Registered = map[string]string{}
	if r.Client.Level >= client.Active && !r.Only {
		r.world.Enrol = r.enrol
		r.world.Registrations = func() []*message.Request { return registration.Requests(r.report.Map) }
	}
	r.world.Password = func(u *client.User) string {
		a, err := r.account(u)
		if err != nil {
			return ""
		}
		return a.Password
	}
	if err := r.mapped(ctx); err != nil {
		return err
	}
	r.restore(ctx) // the map may have followed a link that ends a session, and checks look at what users carry
	for _, why := range r.client.Untrusted() {
		r.note("A certificate is not trusted on this machine, and what it protects is tested all the same: " + why + ".")
	}
	r.take(false, r.journal.findings...)
	targets := r.targets()
	r.look(targets)
	steps := r.steps(targets)
	err := r.test(ctx, targets)
	if err == nil {
		steps, err = r.later(ctx, targets, steps)
	}
	if err == nil {
		err = r.batches(ctx, steps)
	}
	if err == nil {
		err = r.after(ctx)
	}
	if err == nil || endsRun(err) {
		err = errors.Join(err, r.clean(ctx))
	}
	return err
}

// logIn logs the accounts in.
func (r *run) logIn(ctx context.Context) error {
	for _, a := range r.Accounts {
		a.Seeds, a.Browser = append(a.Seeds, r.loginSeeds()...), r.Browser
		s, err := session.Open(ctx, r.client, r.Starts, a)
		if err != nil {
			err = fmt.Errorf("logging in as %s: %w", named(a.Name, a.User), err)
		}
		if errors.Is(err, session.ErrRefused) || errors.Is(err, session.ErrNoLogin) {
			r.refused(err, "not tested")
			continue
		}
		if err != nil {
			return err
		}
		s.Guard()
		r.sessions = append(r.sessions, s)
		r.note(s.Describe())
		if s.Call != nil && len(r.sessions) == 1 && !r.Only { // who is logged in is not led there any more
			r.Seeds = append(r.Seeds, s.Call)
		}
	}
	return nil
}

// refused notes that an account is not there for the run, or for the rest of it: what needs no login, and the other
// accounts, are tested.
func (r *run) refused(err error, what string) {
	r.report.Refused = append(r.report.Refused, err.Error())
	r.note("The login failed: " + err.Error() + ". What that user alone is shown is " + what + ".")
	if len(r.Starts) > 0 {
		r.report.Coverage.Note(message.From(http.MethodGet, r.Starts[0]), message.Place{}, "login",
			"the login failed: "+err.Error())
	}
}

// account is that of a user of the run.
func (r *run) account(u *client.User) (session.Account, error) {
	for _, s := range slices.Concat(r.sessions, r.made) {
		if s.User == u {
			return s.Account, nil
		}
	}
	return session.Account{}, errors.New("there is no such user")
}

// freshLogin logs a user of the run in once more, beside their session.
func (r *run) freshLogin(ctx context.Context, u *client.User) (*client.User, error) {
	account, err := r.account(u)
	if err != nil {
		return nil, err
	}
	again, err := session.Open(ctx, r.client, r.Starts, account)
	if err != nil {
		return nil, err
	}
	return again.User, nil
}

// loginWith logs a user of the run in with another password, beside their session.
func (r *run) loginWith(ctx context.Context, u *client.User, password string) error {
	account, err := r.account(u)
	if err != nil {
		return err
	}
	account.Password = password
	_, err = session.Open(ctx, r.client, r.Starts, account)
	return err
}

// loginLeads logs a user of the run in by an altered form, beside their session. What it sent is returned without the
// password.
func (r *run) loginLeads(ctx context.Context, u *client.User, alter func(*message.Request) *message.Request) (
	shown *message.Request, to *url.URL, err error,
) {
	account, err := r.account(u)
	if err != nil {
		return nil, nil, err
	}
	account.Alter = func(form *message.Request) *message.Request {
		form = alter(form)
		shown = form
		for _, p := range message.Places(form) {
			if p.Value == account.Password {
				shown = shown.Put(p, "********")
			}
		}
		return form
	}
	to, err = session.Leads(ctx, r.client, r.Starts, account)
	return shown, to, err
}

// user is who crawls and tests. Nobody's cookies are kept, too, as a browser keeps them.
func (r *run) user() *client.User {
	if len(r.sessions) > 0 {
		return r.sessions[0].User
	}
	return r.nobody
}

// mapped makes the map, or takes the one of the journal.
func (r *run) mapped(ctx context.Context) error {
	r.progress("map", 0, 0)
	if m := r.journal.entries; m != nil {
		r.report.Map = m
		r.note(fmt.Sprintf("It goes on after a run that was interrupted: %d of %d targets were tested.", len(r.journal.done),
			len(m.Entries)))
		if err := errors.Join(r.enterShown(ctx, m, true), r.enterGuessed(ctx, m, true)); err != nil {
			return err
		}
		return r.enterRegistered(ctx, m, true)
	}
	if n := len(r.journal.answers); n > 0 {
		r.note(fmt.Sprintf("It goes on after a run that was interrupted while it mapped: %d answers are known.", n))
	}
	r.described(ctx)
	share, until := r.part(crawlShare)
	m, err := sitemap.Crawl(
		ctx,
		sitemap.Config{Until: until, Client: r.client, As: r.user(), Starts: r.startsOf(r.user()), Seeds: r.Seeds,
			Depth: r.Depth, Share: share, Only: r.Only, Browser: r.Browser, Known: r.journal.known,
			Note: func(identity string, answer *message.Response) { r.journal.asked(identity, answer, r.client.Sent()) }},
	)
	r.report.Map = m
	r.remember(m, r.user())
	for why, n := range m.Skipped {
		r.report.Coverage.NotMapped(why, n)
	}
	switch {
	case errors.Is(err, client.ErrScope) && len(m.Entries) == 0:
		r.report.Denied = true
	case errors.Is(err, client.ErrDown):
		r.report.Down = true
	case errors.Is(err, client.ErrSignedOut): // others, and nobody, may be shown something
		err = nil
	}
	if err == nil {
		err = r.publishedLater(ctx, m)
	}
	if err == nil {
		err = r.enterShown(ctx, m, false)
	}
	if err == nil {
		err = r.enterGuessed(ctx, m, false)
	}
	if err == nil {
		err = r.enterRegistered(ctx, m, false)
	}
	if err == nil {
		err = r.mappedOthers(ctx, m)
	}
	if err != nil {
		return err
	}
	return r.journal.note(record{Map: m})
}

func (r *run) pages() []*message.Request {
	var out []*message.Request
	for _, e := range slices.Concat(r.report.Map.Entries, r.report.Map.Others) {
		out = append(out, e.Request)
	}
	return out
}

// target is an entry of the map that is to be tested.
type target struct {
	*kit.Target
	entry  *sitemap.Entry
	key    string // in the journal
	others []message.Place
	later  bool // its places are of requests before it
	turn   int  // how many targets of its script come before it
	whole  bool // no check of it was cut short

	once  sync.Once
	built string // how its page is built
}

// targets are the entries of the map that were answered: those with inputs first, and the first of each script before
// the second of any.
func (r *run) targets() (out []*target) {
	for _, e := range r.report.Map.Entries {
		if e.Response == nil && !r.journal.resumed || e.Why != "" {
			r.report.Coverage.Untested(e, e.Why)
			continue
		}
		t := &target{Target: &kit.Target{Request: e.Request, Response: e.Response, User: r.userOf(e), Kind: e.Kind,
			From: e.From},
			entry: e, key: keyOf(e.Request)}
		t.Places, t.others = r.plan(t)
		out = append(out, t)
	}
	turns := map[string]int{}
	for _, t := range out {
		script := sampleKey(t.Request, message.Place{})
		t.turn = turns[script]
		turns[script]++
	}
	slices.SortStableFunc(out, func(a, b *target) int { return cmp.Or(rank(a)-rank(b), a.turn-b.turn) })
	return out
}

// rank has targets with inputs tested before those without.
func rank(t *target) int {
	switch {
	case t.entry.How == sitemap.ByForm, t.entry.How == sitemap.BySpec, len(t.Places) > 0:
		return 0
	case t.Response != nil && t.Response.Status >= http.StatusBadRequest:
		return 2
	}
	return 1
}

func (r *run) note(text string) {
	if text == "" {
		return
	}
	r.report.Notes = append(r.report.Notes, text)
	if r.OnNote != nil {
		r.OnNote(text)
	}
}

// progress tells of a stage; the run is not locked.
func (r *run) progress(stage string, done, total int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stage = Progress{stage, done, total, r.client.Sent(), len(r.report.Findings)}
	if r.OnProgress != nil {
		r.OnProgress(r.stage)
	}
}
