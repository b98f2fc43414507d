// Package interaction waits for out-of-band interactions with what scans sent: it has a session with an out-of-band
// server for each team, remembers requests in the database, so that a restart loses none, asks for interactions, and
// inserts a job for each that belongs to a request.
package interaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/oast"
)

// Config names the server.
type Config struct {
	Server, Token string
	HTTP          *http.Client  // that dials it
	Keep          time.Duration // how long a request is remembered
	Poll          time.Duration // between two questions; default 5 s
	Wait          time.Duration // for interactions after a job of Run; default 5 s
}

// Interactions is the service.
type Interactions struct {
	db     *db.DB
	queue  *queue.Queue
	box    *seal.Box
	config Config
	logger *slog.Logger
	now    func() time.Time

	mu      sync.Mutex
	clients map[string]*oast.Client // by team

	early []early // of Poll alone
}

// early is an interaction whose request is not remembered yet: it is when it was answered.
type early struct {
	team  string
	one   oast.Interaction
	since time.Time
}

// The bounds of what is kept.
const (
	maxEarly    = 10_000
	earlyFor    = 2 * time.Minute
	maxRequests = 20_000 // remembered, of a team; more are not waited for
	maxHeard    = 20     // interactions with one name; more repeat them
)

// New makes the service.
func New(d *db.DB, q *queue.Queue, box *seal.Box, c Config, logger *slog.Logger) *Interactions {
	if c.Poll <= 0 {
		c.Poll = 5 * time.Second
	}
	return &Interactions{
		db: d, queue: q, box: box, config: c, logger: logger, now: time.Now, clients: map[string]*oast.Client{},
	}
}

// Names are those of a team's session, which begins now if there is none.
func (s *Interactions) Names(ctx context.Context, teamID string) (*oast.Names, error) {
	c, err := s.client(ctx, teamID, true)
	if err != nil {
		return nil, err
	}
	names := c.Names()
	return &names, nil
}

// Open begins a session for one piece of work, which closes it; nil without a server.
func (s *Interactions) Open(ctx context.Context) (*oast.Client, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // see above
	}
	return oast.NewClient(ctx, s.config.HTTP, s.config.Server, s.config.Token)
}

// client is a team's session; without begin, only one that there is.
func (s *Interactions) client(ctx context.Context, teamID string, begin bool) (*oast.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clients[teamID]; c != nil {
		return c, nil
	}
	c, err := s.stored(ctx, teamID)
	if err == nil && c == nil && begin {
		if c, err = s.begin(ctx, teamID); err == nil && c == nil {
			c, err = s.stored(ctx, teamID) // another process was first
		}
	}
	if err == nil && c != nil {
		s.clients[teamID] = c
	}
	return c, err
}

// stored is the session in the database; nil when there is none.
func (s *Interactions) stored(ctx context.Context, teamID string) (*oast.Client, error) {
	var sealed []byte
	err := s.db.QueryRow(ctx, `SELECT sealed FROM interaction_session WHERE team_id = ? AND server = ?`, teamID,
		s.config.Server).Scan(&sealed)
	if db.IsNoRows(err) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, err
	}
	plain, err := s.box.Open(sealed, sealContext(teamID))
	if err != nil {
		return nil, err
	}
	var state oast.State
	if err := json.Unmarshal(plain, &state); err != nil {
		return nil, err
	}
	return oast.Resume(s.config.HTTP, s.config.Server, s.config.Token, state)
}

// begin begins a session and stores it; nil when another process has.
func (s *Interactions) begin(ctx context.Context, teamID string) (*oast.Client, error) {
	c, err := oast.NewClient(ctx, s.config.HTTP, s.config.Server, s.config.Token)
	if err != nil {
		return nil, fmt.Errorf("the out-of-band server: %w", err)
	}
	plain, err := json.Marshal(c.State())
	if err != nil {
		return nil, err
	}
	sealed, err := s.box.Seal(plain, sealContext(teamID))
	if err != nil {
		return nil, err
	}
	n, err := s.db.Exec(ctx, `INSERT INTO interaction_session (team_id, server, sealed) VALUES (?, ?, ?)
		ON CONFLICT DO NOTHING`, teamID, s.config.Server, sealed)
	if err != nil || n > 0 {
		return c, err
	}
	return nil, c.Close(ctx)
}

func sealContext(teamID string) string { return "interaction:" + teamID }

// Request is a request of a scan with out-of-band names.
type Request struct {
	TeamID, ScanID string
	Run            int64
	TemplateID     string
	Pending        *engine.Pending
}

// Remember stores a request. A later one with the same name takes its place.
func (s *Interactions) Remember(ctx context.Context, r Request) error {
	text, err := json.Marshal(r.Pending)
	if err != nil {
		return err
	}
	return s.db.Tx(ctx, func(tx *db.Tx) error {
		n, err := db.Value[int](ctx, tx, `SELECT count(*) FROM interaction_request WHERE team_id = ?`, r.TeamID)
		if err != nil || n >= maxRequests {
			return err
		}
		for _, name := range r.Pending.IDs {
			if _, err := tx.Exec(ctx, `INSERT INTO interaction_request (name, team_id, scan_id, run, template_id, request, until)
				VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET request = excluded.request,
				until = excluded.until`, name, r.TeamID, r.ScanID, r.Run, r.TemplateID, text,
				db.At(s.now().Add(s.config.Keep))); err != nil {
				return err
			}
		}
		return nil
	})
}

// JudgeArgs is the job of judging an interaction with a remembered request.
type JudgeArgs struct {
	Name        string           `json:"name"`
	Interaction oast.Interaction `json:"interaction"`
}

// Kind implements queue.Args.
func (JudgeArgs) Kind() string { return "interaction.judge" }

// Request is the request of a job; false when it is not remembered any more.
func (s *Interactions) Request(ctx context.Context, a JudgeArgs) (r Request, ok bool, err error) {
	var text []byte
	err = s.db.QueryRow(ctx, `SELECT team_id, scan_id, run, template_id, request FROM interaction_request WHERE name = ?`,
		a.Name).Scan(&r.TeamID, &r.ScanID, &r.Run, &r.TemplateID, &text)
	if db.IsNoRows(err) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	r.Pending = &engine.Pending{}
	return r, true, json.Unmarshal(text, r.Pending)
}

// Keep asks for interactions until ctx ends.
func (s *Interactions) Keep(ctx context.Context) {
	tick := time.NewTicker(s.config.Poll)
	defer tick.Stop()
	for {
		if err := s.Poll(ctx); err != nil && ctx.Err() == nil {
			s.logger.ErrorContext(ctx, "asking for out-of-band interactions", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Poll asks once, for each team with requests or with a scan that this process knows, and forgets old requests.
func (s *Interactions) Poll(ctx context.Context) error {
	now := s.now()
	if _, err := s.db.Exec(ctx, `DELETE FROM interaction_request WHERE until < ?`, db.At(now)); err != nil {
		return err
	}
	teams, err := s.teams(ctx)
	if err != nil {
		return err
	}
	due := s.early
	s.early = nil
	var faults []error
	for _, team := range teams {
		all, err := s.ask(ctx, team)
		if err != nil {
			faults = append(faults, fmt.Errorf("team %s: %w", team, err))
		}
		for _, one := range all {
			due = append(due, early{team, one, now})
		}
	}
	for _, e := range due {
		known, err := s.heard(ctx, e)
		if err != nil {
			known = false // it is tried again
			faults = append(faults, err)
		}
		if !known && now.Sub(e.since) < earlyFor && len(s.early) < maxEarly {
			s.early = append(s.early, e)
		}
	}
	return errors.Join(faults...)
}

// teams are those to ask for.
func (s *Interactions) teams(ctx context.Context) ([]string, error) {
	rows, err := s.db.Query(ctx, `SELECT DISTINCT team_id FROM interaction_request`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	seen := map[string]bool{}
	var all []string
	for rows.Next() {
		var team string
		if err := rows.Scan(&team); err != nil {
			return nil, err
		}
		seen[team] = true
		all = append(all, team)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for team := range s.clients {
		if !seen[team] {
			all = append(all, team)
		}
	}
	return all, rows.Err()
}

// ask asks the server for a team's interactions. One that has forgotten the session is told of it again.
func (s *Interactions) ask(ctx context.Context, team string) ([]oast.Interaction, error) {
	c, err := s.client(ctx, team, false)
	if err != nil || c == nil {
		return nil, err
	}
	all, err := c.Poll(ctx)
	if errors.Is(err, oast.ErrSession) {
		err = c.Register(ctx)
	}
	return all, err
}

// heard inserts the job of an interaction; false when no request has the name.
func (s *Interactions) heard(ctx context.Context, e early) (known bool, err error) {
	return known, s.db.Tx(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE interaction_request SET heard = heard + 1 WHERE name = ? AND team_id = ?`,
			e.one.UniqueID, e.team)
		if err != nil || n == 0 {
			return err
		}
		known = true
		times, err := db.Value[int](ctx, tx, `SELECT heard FROM interaction_request WHERE name = ?`, e.one.UniqueID)
		if err != nil || times > maxHeard {
			return err
		}
		_, err = s.queue.Insert(ctx, tx, e.team, JudgeArgs{e.one.UniqueID, e.one})
		return err
	})
}
