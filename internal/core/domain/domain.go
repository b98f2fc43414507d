// Package domain keeps the domains that a team has shown to be its own, and what is
// associated with domains (specification, Associated domain response): searches in the
// background, their answers with their age, how each place that was asked behaved.
//
// A domain is shown to be a team's by a token in a TXT record, in a meta tag of its home
// page or in a file (reference, platform API 4.8). The proof is looked for again and again:
//
//	pending  → verified (the proof is there), failed (it was not, for seven days), deleted
//	verified → expired (it is gone, three looks in a row, a day apart), deleted
//	failed, expired → verified (when somebody asks to look again and it is there), deleted
package domain

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Status is how far the proof of a domain is.
type Status string

// The states of a domain.
const (
	Pending  Status = "pending"
	Verified Status = "verified"
	Expired  Status = "expired"
	Failed   Status = "failed"
	Deleted  Status = "deleted"
)

// Statuses are all states.
var Statuses = []Status{Pending, Verified, Expired, Failed, Deleted}

// Domain is one that a team says is its own.
type Domain struct {
	ID            string
	Name          string // lower-case ASCII
	Type          discover.ProofType
	Token         string // that proves it
	Status        Status
	Attempts      int
	Note          string // what the last look found, in words
	CreatedAt     time.Time
	LastAttemptAt time.Time // zero: nobody has looked
	VerifiedAt    time.Time // zero: not yet
	NextLookAt    time.Time // zero: nobody looks by itself

	misses int
}

const (
	maxDomains  = 1000 // of a team
	tokenLength = 32   // of 62 letters: 190 bits
	maxNote     = 300

	patience    = 7 * 24 * time.Hour // with a domain whose proof never came
	lookEvery   = 24 * time.Hour     // at a verified one
	maxMisses   = 3
	firstLook   = 10 * time.Minute
	longestWait = 6 * time.Hour // between looks at a pending one
)

// Config is what the service needs of others.
type Config struct {
	// Verify looks whether a domain shows a token, and says what it found.
	Verify func(ctx context.Context, domain string, by discover.ProofType, token string) (ok bool, found string)
	Logger *slog.Logger
	Now    func() time.Time // time.Now when nil
	Wait   time.Duration    // how long the first question about a domain waits for answers; 5 s when 0
}

// Domains keeps the domains of teams, proves who owns them, and finds associated domains.
type Domains struct {
	Config
	db    *db.DB
	queue *queue.Queue
}

// New makes the service.
func New(d *db.DB, q *queue.Queue, c Config) *Domains {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Wait == 0 {
		c.Wait = 5 * time.Second
	}
	return &Domains{Config: c, db: d, queue: q}
}

// The documents of discovery that the APIs show as they are.
type (
	// ProofType is a way to prove that one owns a domain.
	ProofType = discover.ProofType
	// Evidence is what speaks for an association.
	Evidence = discover.Evidence
)

// Add notes that the caller's team says a domain is its own, to be proved by a TXT record
// when by is empty. Conflict when it has said so.
func (ds *Domains) Add(ctx context.Context, name string, by ProofType) (Domain, error) {
	by = cmp.Or(by, discover.ProofTXT)
	c, err := account.Writer(ctx)
	if err != nil {
		return Domain{}, err
	}
	if name, err = parse(name); err != nil {
		return Domain{}, err
	}
	if !slices.Contains([]discover.ProofType{discover.ProofTXT, discover.ProofMeta, discover.ProofFile}, by) {
		return Domain{}, errs.Field("verification_type", "verification_type %.40q is not known.", by)
	}
	now := db.At(ds.Now())
	d := Domain{
		ID: ids.New(), Name: name, Type: by, Token: ids.Random(tokenLength), Status: Pending, CreatedAt: now.Time, NextLookAt: db.At(now.Add(firstLook)).Time,
	}
	return d, ds.db.Tx(ctx, func(tx *db.Tx) error {
		var kept int
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM domain WHERE team_id = ? AND status <> ?`, c.TeamID, Deleted).Scan(&kept); err != nil {
			return err
		}
		if kept >= maxDomains {
			return errs.New(errs.Forbidden, "too_many_domains", "A team can keep %d domains.", maxDomains)
		}
		_, err := tx.Exec(ctx, `INSERT INTO domain (id, team_id, domain, type, token, status, created_at, updated_at, next_look_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			d.ID, c.TeamID, d.Name, d.Type, d.Token, d.Status, now, now, db.At(d.NextLookAt))
		if db.IsDuplicate(err) {
			return errs.New(errs.Conflict, "domain_exists", "The team has this domain already.").At("domain")
		}
		return err
	})
}

// parse reads a domain that a caller names.
func parse(name string) (string, error) {
	domain, ok := discover.ParseDomain(name)
	if !ok {
		return "", errs.Field("domain", "domain must be a domain that can be registered, such as example.com.")
	}
	return domain, nil
}

const columns = `SELECT id, domain, type, token, status, attempts, misses, note, created_at, last_attempt_at, verified_at, next_look_at FROM domain`

func row(r db.Row) (d Domain, err error) {
	var created, last, verified, next db.Time
	err = r.Scan(&d.ID, &d.Name, &d.Type, &d.Token, &d.Status, &d.Attempts, &d.misses, &d.Note, &created, &last, &verified, &next)
	d.CreatedAt, d.LastAttemptAt, d.VerifiedAt, d.NextLookAt = created.Time, last.Time, verified.Time, next.Time
	return d, err
}

// FindAll lists the domains of the caller's team by name; those in one state, or with an
// empty one all that are not deleted.
func (ds *Domains) FindAll(ctx context.Context, status Status, w page.Window) (found []Domain, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var where db.Where
	where.And("team_id = ?", c.TeamID)
	if status == "" {
		where.And("status <> ?", Deleted)
	} else {
		where.And("status = ?", status)
	}
	if err := ds.db.QueryRow(ctx, `SELECT count(*) FROM domain`+where.String(), where.Args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	limit, args := db.Limit(w)
	rows, err := ds.db.Query(ctx, columns+where.String()+` ORDER BY domain, id`+limit, append(where.Args, args...)...)
	found, err = db.Collect(rows, err, row)
	return found, total, err
}

// Find is one domain of the caller's team. NotFound when it has none such, and when it is
// deleted.
func (ds *Domains) Find(ctx context.Context, id string) (Domain, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Domain{}, err
	}
	return find(ctx, ds.db, c.TeamID, id)
}

func find(ctx context.Context, q db.Querier, teamID, id string) (Domain, error) {
	d, err := row(q.QueryRow(ctx, columns+` WHERE id = ? AND team_id = ? AND status <> ?`, db.Clean(id), teamID, Deleted))
	if db.IsNoRows(err) {
		err = errs.Missing("domain")
	}
	return d, err
}

// Delete gives up a domain of the caller's team; what was noted of it is kept as deleted.
// NotFound when the team has none such.
func (ds *Domains) Delete(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	n, err := ds.db.Exec(ctx, `UPDATE domain SET status = ?, next_look_at = NULL, updated_at = ? WHERE id = ? AND team_id = ? AND status <> ?`,
		Deleted, db.At(ds.Now()), db.Clean(id), c.TeamID, Deleted)
	if err == nil && n == 0 {
		err = errs.Missing("domain")
	}
	return err
}

// VerifyNow looks whether the proof of a domain of the caller's team is there, and gives
// the domain as it is then.
func (ds *Domains) VerifyNow(ctx context.Context, id string) (Domain, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Domain{}, err
	}
	if _, err := find(ctx, ds.db, c.TeamID, id); err != nil {
		return Domain{}, err
	}
	if err := ds.Look(ctx, VerifyArgs{c.TeamID, id}); err != nil {
		return Domain{}, err
	}
	return find(ctx, ds.db, c.TeamID, id)
}

// VerifyArgs is the job that looks for the proof of a domain.
type VerifyArgs struct {
	TeamID string `json:"team_id"`
	ID     string `json:"domain_id"`
}

// Kind implements queue.Args.
func (VerifyArgs) Kind() string { return "domain.verify" }

// Look looks for the proof of a domain and notes what was found. A domain that is gone is
// no error; of two that look at once, the first is noted.
func (ds *Domains) Look(ctx context.Context, a VerifyArgs) error {
	d, err := find(ctx, ds.db, a.TeamID, a.ID)
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	ok, found := ds.Verify(ctx, d.Name, d.Type, d.Token)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	before := d.Attempts
	d.after(ok, ds.Now())
	if len(found) > maxNote {
		found = found[:maxNote]
	}
	_, err = ds.db.Exec(ctx, `UPDATE domain SET status = ?, attempts = ?, misses = ?, note = ?, updated_at = ?, last_attempt_at = ?, verified_at = ?, next_look_at = ?
		WHERE id = ? AND team_id = ? AND status <> ? AND attempts = ?`,
		d.Status, d.Attempts, d.misses, db.Clean(found), db.At(d.LastAttemptAt), db.At(d.LastAttemptAt), db.At(d.VerifiedAt), db.At(d.NextLookAt), d.ID, a.TeamID, Deleted, before)
	return err
}

// after is what becomes of a domain after a look.
func (d *Domain) after(ok bool, now time.Time) {
	d.Attempts++
	d.LastAttemptAt = now
	switch {
	case ok:
		if d.Status != Verified {
			d.VerifiedAt = now
		}
		d.Status, d.misses, d.NextLookAt = Verified, 0, now.Add(lookEvery)
	case d.Status == Verified && d.misses+1 < maxMisses:
		d.misses, d.NextLookAt = d.misses+1, now.Add(lookEvery)
	case d.Status == Verified:
		d.Status, d.misses, d.NextLookAt = Expired, 0, time.Time{}
	case d.Status == Pending && now.Sub(d.CreatedAt) < patience:
		d.NextLookAt = now.Add(min(longestWait, firstLook<<min(d.Attempts, 10)))
	case d.Status == Pending:
		d.Status, d.NextLookAt = Failed, time.Time{}
	}
}

// Instructions says what to do to prove the domain.
func (d Domain) Instructions() string {
	const name = "vedette-verification"
	switch d.Type {
	case discover.ProofMeta:
		return "Put <meta name=\"" + name + "\" content=\"" + d.Token + "\"> into the head of the home page of " + d.Name + "."
	case discover.ProofFile:
		return "Put a file with the line " + d.Token + " at https://" + d.Name + "/.well-known/" + name + ".txt, or at /" + name + ".txt."
	default:
		return "Add the TXT record " + name + "=" + d.Token + " to " + d.Name + "."
	}
}

// verified are the verified domains of a team.
func (ds *Domains) verified(ctx context.Context, teamID string) ([]string, error) {
	rows, err := ds.db.Query(ctx, `SELECT domain FROM domain WHERE team_id = ? AND status = ? ORDER BY domain`, teamID, Verified)
	return db.Collect(rows, err, func(r db.Row) (name string, err error) { return name, r.Scan(&name) })
}

// registered is the domain under which answers about a name are kept.
func registered(name string) string {
	domain, _ := discover.Registered(name) // parse has seen to it
	return strings.ToLower(domain)
}
