package chain

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Source is what led to a record.
type Source string

// The sources.
const (
	Scan   Source = "scan"
	Task   Source = "task"
	Import Source = "import"
	Retest Source = "retest"
	Replay Source = "replay"
)

// Origin is the scan, the task or the import that saw something.
type Origin struct {
	TeamID, ID string
	Run        int64
	Source     Source
	Version    string // of the engine
}

// AppendSightings appends entries about new findings, asked for by the caller in ctx, if there is one.
func AppendSightings(
	ctx context.Context, tx *db.Tx, at db.Time, from Origin, secret []byte, leaves []evidence.Leaf,
) error {
	e := evidence.Entry{
		TeamID: from.TeamID, Kind: evidence.Sighting, Source: string(from.Source), ID: from.ID, Run: from.Run,
		Engine: from.Version,
	}
	if c, err := account.From(ctx); err == nil { // a worker has none
		e.By = clean(c.Email)
	}
	for part := range slices.Chunk(leaves, perEntry) {
		if _, err := Append(ctx, tx, at, e, secret, part); err != nil {
			return err
		}
	}
	return nil
}

// perEntry is how many sightings an entry has at most: the evidence of one of them has the hashes of all.
const perEntry = 250

// Again is a proof that was sent again.
type Again struct {
	ID      string // of the run
	TeamID  string
	No      int64 // of the finding
	Seen    Seen  // what the finding was made of
	Source  Source
	By      string // who asked; empty: the service
	AskedAt db.Time
	Version string // of the engine

	Result evidence.Result // Same stands for Changed too: they are compared
	Note   string          // why it failed
	Event  *engine.Event   // what was seen; nil: nothing
	Digest string          // of the template that was used
}

// storedAgain is what is stored of what was seen.
type storedAgain struct {
	Event  engine.Event `json:"event"`
	Target string       `json:"target"`
	Proof  *Proof       `json:"proof"`
}

// Store stores a run that has ended, and appends it to the chain. It takes the place of a run that was queued under its
// id. The caller holds the lock of the team's findings.
func (a Again) Store(ctx context.Context, tx *db.Tx, at time.Time) error {
	if a.Result == evidence.Same && a.Event != nil {
		was := a.Seen.Event
		a.Result = evidence.Compare(evidence.Answer{Response: was.Response, Extracted: was.ExtractedResults},
			evidence.Answer{Response: a.Event.Response, Extracted: a.Event.ExtractedResults})
	}
	seen := a.seen(at)
	secret := NewSecret()
	leaf, err := seen.Leaf(secret)
	if err != nil {
		return err
	}
	doc, err := json.Marshal(storedAgain{seen.Event, seen.Target, seen.Proof})
	if err != nil {
		return err
	}
	seq, err := Append(ctx, tx, db.At(at), evidence.Entry{
		TeamID: a.TeamID, Kind: evidence.Run, Source: string(a.Source), ID: a.Seen.FindingID, By: clean(a.By),
		Engine: a.Version,
	}, secret, []evidence.Leaf{{No: a.No, Hash: leaf}})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO evidence_run (team_id, id, no, seq, source, state, note, asked_by, asked_at, ended_at, seen)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, state = excluded.state,
		note = excluded.note, ended_at = excluded.ended_at, seen = excluded.seen`,
		a.TeamID, a.ID, a.No, seq, a.Source, a.Result, seen.Note, a.By, a.AskedAt, db.At(at), doc)
	return err
}

// seen is what the record of the run is made of.
func (a Again) seen(at time.Time) Seen {
	s := Seen{
		FindingID: a.Seen.FindingID, Hash: a.Seen.Hash, Target: a.Seen.Target, RunID: a.ID, Result: a.Result,
		Note: db.Clean(a.Note), Proof: &Proof{Digest: a.Digest},
	}
	was := a.Seen.Event
	s.Event = engine.Event{TemplateID: was.TemplateID, Type: was.Type, Host: was.Host, Port: was.Port, Timestamp: at.UTC()}
	if a.Event != nil {
		s.Event = *a.Event
		s.Event.Timestamp = cmp.Or(s.Event.Timestamp, at).UTC()
	}
	if a.Result != evidence.Failed {
		s.Proof.Runs = 1
	}
	if a.Result == evidence.Same || a.Result == evidence.Changed {
		s.Proof.Shown = 1
	}
	if p := a.Seen.Proof; p != nil {
		s.Proof.Template = p.Template
	}
	return s
}

// SeenAgain is what the record of a stored run is made of.
func SeenAgain(runID, findingID, hash string, result evidence.Result, note string, doc []byte) (Seen, error) {
	var stored storedAgain
	err := json.Unmarshal(doc, &stored)
	return Seen{
		FindingID: findingID, Hash: hash, Event: stored.Event, Target: stored.Target, Proof: stored.Proof, RunID: runID,
		Result: result, Note: note,
	}, err
}
