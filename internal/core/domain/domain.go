// Package domain stores the domains that a team has proved to own, and the domains that are associated with them
// (specification, Associated domain response): background searches, their answers, and the health of each source.
//
// A team proves its ownership by a token in a TXT record, in a meta tag of the home page or in a file
// (reference, platform API 4.8). The proof is checked repeatedly:
//
//	pending  → verified (the proof is there), failed (it was not, for seven days), deleted
//	verified → expired (it was missing in three checks, a day apart), deleted
//	failed, expired → verified (it is there at a requested check), deleted
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

// Status is the state of a domain.
type Status string

// The states.
const (
	Pending  Status = "pending"
	Verified Status = "verified"
	Expired  Status = "expired"
	Failed   Status = "failed"
	Deleted  Status = "deleted"
)

// Statuses are all states.
var Statuses = []Status{Pending, Verified, Expired, Failed, Deleted}

// Domain is a domain that a team claims to own.
type Domain struct {
	ID            string
	Name          string // lower-case ASCII
	Type          discover.ProofType
	Token         string // that proves it
	Status        Status
	Attempts      int
	Note          string // what the last check found, in words
	CreatedAt     time.Time
	LastAttemptAt time.Time // zero: never
	VerifiedAt    time.Time // zero: not yet
	NextCheckAt   time.Time // zero: only on request

	misses int
}

const (
	maxDomains  = 1000 // of a team
	tokenLength = 32   // of 62 letters: 190 bits
	maxNote     = 300

	pendingFor  = 7 * 24 * time.Hour // until an unproved domain has failed
	checkEvery  = 24 * time.Hour     // of a verified one
	maxMisses   = 3
	firstCheck  = 10 * time.Minute
	longestWait = 6 * time.Hour // between checks of a pending one
)

// Config configures Domains.
type Config struct {
	// Verify checks whether a domain shows a token, and describes what it found.
	Verify func(ctx context.Context, domain string, by discover.ProofType, token string) (ok bool, found string)
	Logger *slog.Logger
	Now    func() time.Time // time.Now when nil
	Wait   time.Duration    // how long the first query about a domain waits for answers; 5 s when 0
}

// Domains is the service of domains.
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
	c.Wait = cmp.Or(c.Wait, 5*time.Second)
	return &Domains{Config: c, db: d, queue: q}
}

// The documents of discovery that the APIs show as they are.
type (
	// ProofType is a way to prove that one owns a domain.
	ProofType = discover.ProofType
	// Evidence is the evidence of an association.
	Evidence = discover.Evidence
)

// Add adds a domain of the caller's team, to be proved by a TXT record when by is empty. Conflict when the
// team has it already.
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
		ID: ids.New(), Name: name, Type: by, Token: ids.Random(tokenLength), Status: Pending, CreatedAt: now.Time,
		NextCheckAt: now.Add(firstCheck),
	}
	return d, ds.db.Tx(ctx, func(tx *db.Tx) error {
		count, err := db.Value[int](ctx, tx, `SELECT count(*) FROM domain WHERE team_id = ? AND status <> ?`, c.TeamID,
			Deleted)
		if err != nil {
			return err
		}
		if count >= maxDomains {
			return errs.New(errs.Forbidden, "too_many_domains", "A team can keep %d domains.", maxDomains)
		}
		_, err = tx.Exec(ctx, `INSERT INTO domain (id, team_id, domain, type, token, status, created_at, updated_at,
			next_look_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			d.ID, c.TeamID, d.Name, d.Type, d.Token, d.Status, now, now, db.At(d.NextCheckAt))
		if db.IsDuplicate(err) {
			return errs.New(errs.Conflict, "domain_exists", "The team has this domain already.").At("domain")
		}
		return err
	})
}

func parse(name string) (string, error) {
	domain, ok := discover.ParseDomain(name)
	if !ok {
		return "", errs.Field("domain", "domain must be a domain that can be registered, such as example.com.")
	}
	return domain, nil
}

const domainQuery = `SELECT id, domain, type, token, status, attempts, misses, note, created_at, last_attempt_at,
	verified_at, next_look_at FROM domain`

func scan(r db.Row) (d Domain, err error) {
	err = r.Scan(&d.ID, &d.Name, &d.Type, &d.Token, &d.Status, &d.Attempts, &d.misses, &d.Note, db.Into(&d.CreatedAt),
		db.Into(&d.LastAttemptAt), db.Into(&d.VerifiedAt), db.Into(&d.NextCheckAt))
	return d, err
}

// FindAll lists the domains of the caller's team in a state, or (status empty) all that are not deleted, by name.
func (ds *Domains) FindAll(ctx context.Context, status Status, w page.Window) (found []Domain, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var where db.Where
	where.And("team_id = ?", c.TeamID)
	if status == "" {
		where.And("status <> ?", Deleted)
	}
	db.Equal(&where, "status", status)
	return db.Page(ctx, ds.db, scan, domainQuery, `domain`, where, ` ORDER BY domain, id`, w)
}

// Find is a domain of the caller's team. A deleted one is NotFound.
func (ds *Domains) Find(ctx context.Context, id string) (Domain, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Domain{}, err
	}
	return find(ctx, ds.db, c.TeamID, id)
}

func find(ctx context.Context, q db.Querier, teamID, id string) (Domain, error) {
	d, err := scan(q.QueryRow(ctx, domainQuery+` WHERE id = ? AND team_id = ? AND status <> ?`, db.Clean(id), teamID,
		Deleted))
	return d, db.OrMissing(err, "domain")
}

// Delete marks a domain of the caller's team as deleted.
func (ds *Domains) Delete(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, ds.db, errs.Missing("domain"), `UPDATE domain SET status = ?, next_look_at = NULL, updated_at = ?
		WHERE id = ? AND team_id = ? AND status <> ?`, Deleted, db.At(ds.Now()), db.Clean(id), c.TeamID, Deleted)
}

// VerifyNow checks the proof of a domain of the caller's team, and returns the changed domain.
func (ds *Domains) VerifyNow(ctx context.Context, id string) (Domain, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Domain{}, err
	}
	if _, err := find(ctx, ds.db, c.TeamID, id); err != nil {
		return Domain{}, err
	}
	if err := ds.Check(ctx, VerifyArgs{c.TeamID, id}); err != nil {
		return Domain{}, err
	}
	return find(ctx, ds.db, c.TeamID, id)
}

// VerifyArgs is the job that checks the proof of a domain.
type VerifyArgs struct {
	TeamID string `json:"team_id"`
	ID     string `json:"domain_id"`
}

// Kind implements queue.Args.
func (VerifyArgs) Kind() string { return "domain.verify" }

// Check checks the proof of a domain and stores the result, for a deleted domain nothing. Of two concurrent
// checks, the first is stored.
func (ds *Domains) Check(ctx context.Context, a VerifyArgs) error {
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
	note, at := db.Clean(found[:min(len(found), maxNote)]), db.At(d.LastAttemptAt)
	_, err = ds.db.Exec(ctx, `UPDATE domain SET status = ?, attempts = ?, misses = ?, note = ?, updated_at = ?,
		last_attempt_at = ?, verified_at = ?, next_look_at = ?
		WHERE id = ? AND team_id = ? AND status <> ? AND attempts = ?`, d.Status, d.Attempts, d.misses, note, at, at,
		db.At(d.VerifiedAt), db.At(d.NextCheckAt), d.ID, a.TeamID, Deleted, before)
	return err
}

func (d *Domain) after(ok bool, now time.Time) {
	d.Attempts++
	d.LastAttemptAt = now
	switch {
	case ok:
		if d.Status != Verified {
			d.VerifiedAt = now
		}
		d.Status, d.misses, d.NextCheckAt = Verified, 0, now.Add(checkEvery)
	case d.Status == Verified && d.misses+1 < maxMisses:
		d.misses, d.NextCheckAt = d.misses+1, now.Add(checkEvery)
	case d.Status == Verified:
		d.Status, d.misses, d.NextCheckAt = Expired, 0, time.Time{}
	case d.Status == Pending && now.Sub(d.CreatedAt) < pendingFor:
		d.NextCheckAt = now.Add(min(longestWait, firstCheck<<min(d.Attempts, 10)))
	case d.Status == Pending:
		d.Status, d.NextCheckAt = Failed, time.Time{}
	}
}

// Instructions describes how to prove the domain.
func (d Domain) Instructions() string {
	const name = "vedette-verification"
	switch d.Type {
	case discover.ProofMeta:
		return `Put <meta name="` + name + `" content="` + d.Token + `"> into the head of the home page of ` + d.Name + "."
	case discover.ProofFile:
		return "Put a file with the line " + d.Token + " at https://" + d.Name + "/.well-known/" + name + ".txt, or at /" +
			name + ".txt."
	default:
		return "Add the TXT record " + name + "=" + d.Token + " to " + d.Name + "."
	}
}

func (ds *Domains) verified(ctx context.Context, teamID string) ([]string, error) {
	return db.Values[string](ctx, ds.db,
		`SELECT domain FROM domain WHERE team_id = ? AND status = ? ORDER BY domain`, teamID, Verified)
}

// registered is the domain under which answers about a name are stored.
func registered(name string) string {
	domain, _ := discover.Registered(name) // parse has checked it
	return strings.ToLower(domain)
}
