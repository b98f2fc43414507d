package fixed

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/decision"
	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const (
	atOnce   = 50  // weaknesses that one transaction looks at
	loaded   = 250 // findings that are read together
	perHash  = 50  // sightings of a hash, the newest first, whose targets are looked at
	maxCells = 5   // that a reason names
)

// judging is one comparison.
type judging struct {
	*Fixes
	Result

	args      scan.CoveredArgs
	teamID    string
	name      string
	began     db.Time
	isOn      bool
	operation string
	settings  map[string]string            // of scans, by id
	inline    map[string]string            // digests of the templates that came with the scan, by id
	parts     map[string]map[string]string // of weaknesses of several hashes: what was tested, by hash

	group group
}

// group is what is known of some targets: those of a chunk, or of several that have the same.
type group struct {
	targets []string
	heads   []finding.Finding // that are open at the hosts of the targets
	places  map[string]*place
}

// place is what the run did at one place.
type place struct {
	target  string
	cells   map[string]scan.Cell // by the template's id in the run
	reached bool                 // at least one check tested it
}

// take adds the cells of a chunk to its group, and compares the group before when it is complete.
func (j *judging) take(ctx context.Context, l *scan.Cells) error {
	if !slices.Equal(j.group.targets, l.Targets()) {
		if err := j.compare(ctx); err != nil {
			return err
		}
		if err := j.begin(ctx, l.Targets()); err != nil {
			return err
		}
	}
	if len(j.group.heads) == 0 {
		return nil
	}
	l.Each(func(c scan.Cell) bool {
		key, _, is := placeOf(c.Target)
		if !is {
			return true
		}
		p := j.group.places[key]
		if p == nil {
			p = &place{target: c.Target, cells: map[string]scan.Cell{}}
			j.group.places[key] = p
		}
		// Of two spellings of a place that the run tested, what showed least counts.
		if before, twice := p.cells[c.Template]; !twice || isClean(before) {
			p.cells[c.Template] = c
		}
		p.reached = p.reached || c.State == engine.Tested
		return true
	})
	return nil
}

// isClean reports whether a check has tested a place and matched nothing there.
func isClean(c scan.Cell) bool { return c.State == engine.Tested && !c.Matched }

// begin begins a group with what is open at the hosts of its targets.
func (j *judging) begin(ctx context.Context, targets []string) error {
	j.group = group{targets: targets, places: map[string]*place{}}
	var hosts []string
	for _, target := range targets {
		if _, host, is := placeOf(target); is {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	if hosts = slices.Compact(hosts); len(hosts) == 0 {
		return nil
	}
	numbers, err := j.findings.Picked(ctx, nil, j.teamID, finding.Filter{
		Hosts: hosts, Statuses: []finding.Status{finding.Open, finding.Triaged, finding.FixInProgress}, Once: true,
	}, nil)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(numbers, loaded) {
		heads, err := j.findings.Load(ctx, nil, j.teamID, part)
		if err != nil {
			return err
		}
		for _, f := range heads { // their events may be large
			f.Event = engine.Event{}
			j.group.heads = append(j.group.heads, f)
		}
	}
	return nil
}

// compare compares the group with its findings.
func (j *judging) compare(ctx context.Context) error {
	tested := map[string]bool{}
	for _, p := range j.group.places {
		for template := range p.cells {
			tested[template] = true
		}
	}
	heads := j.group.heads
	j.group.heads = nil
	for part := range slices.Chunk(heads, loaded) {
		weaknesses := make([]string, len(part))
		for i, f := range part {
			weaknesses[i] = f.Weakness
		}
		shared, err := identity.Shared(ctx, j.db, j.teamID, weaknesses)
		if err != nil {
			return err
		}
		part = slices.DeleteFunc(slices.Clone(part), func(f finding.Finding) bool {
			isOwn := f.TemplateURL == "" // its id in the run may be another than the written one
			return !tested[f.TemplateID] && !isOwn && !slices.Contains(shared, f.Weakness)
		})
		for some := range slices.Chunk(part, atOnce) {
			if err := j.judge(ctx, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// end compares the last group.
func (j *judging) end(ctx context.Context) error { return j.compare(ctx) }

// judge looks at some weaknesses in one transaction, in which nobody else changes findings.
func (j *judging) judge(ctx context.Context, heads []finding.Finding) error {
	var done Result
	err := j.db.Tx(ctx, func(tx *db.Tx) error {
		done = Result{}
		if err := j.findings.Lock(ctx, tx, j.teamID); err != nil {
			return err
		}
		for _, f := range heads {
			isFixed, isNoted, err := j.one(ctx, tx, f)
			if err != nil {
				return err
			}
			if isFixed {
				done.Fixed++
			}
			if isNoted {
				done.NotSeen++
			}
		}
		return nil
	})
	if err == nil {
		j.Fixed += done.Fixed
		j.NotSeen += done.NotSeen
	}
	return err
}

// one judges a weakness by the finding that stands for it.
func (j *judging) one(ctx context.Context, tx *db.Tx, f finding.Finding) (isFixed, isNoted bool, err error) {
	all, err := identity.Hashes(ctx, tx, j.teamID, []string{f.Weakness})
	if err != nil {
		return false, false, err
	}
	hashes := all[f.Weakness]
	last, isNow, err := j.lastSeen(ctx, tx, hashes)
	if err != nil || isNow || !last.Before(j.since()) { // it was seen since the run began
		return false, false, err
	}
	cells, away := map[string]string{}, ""
	for _, hash := range hashes {
		cell, missed, err := j.tested(ctx, tx, hash)
		if err != nil {
			return false, false, err
		}
		if cell != "" {
			cells[hash] = cell
		}
		away = cmp.Or(away, missed)
	}
	if len(hashes) > 1 && len(cells) > 0 { // the others may be in another chunk
		if j.parts[f.Weakness] == nil && len(j.parts) < maxKept {
			j.parts[f.Weakness] = map[string]string{}
		}
		maps.Copy(cells, j.parts[f.Weakness])
		maps.Copy(j.parts[f.Weakness], cells)
	}
	switch {
	case len(cells) == len(hashes) && j.isOn:
		n, err := j.findings.DecideAll(ctx, tx, j.teamID, hashes, decision.Decision{
			Status: move.Fixed, By: move.Scan, Since: j.began, Operation: j.operation, Reason: j.reason(cells),
		})
		return n > 0, false, err
	case away != "" && len(cells) == 0:
		isNoted, err = j.note(ctx, tx, f, last, away)
		return false, isNoted, err
	}
	return false, false, nil
}

// lastSeen is when a weakness was seen last, by whomever, and whether this run has seen it.
func (j *judging) lastSeen(ctx context.Context, tx *db.Tx, hashes []string) (last db.Time, isNow bool, err error) {
	var n int
	w := db.InTeam(j.teamID, "hash", hashes)
	err = tx.QueryRow(ctx, `SELECT max(seen_at), sum(CASE WHEN scan_id = ? AND run >= ? THEN 1 ELSE 0 END) FROM finding`+
		w.String(), append([]any{j.args.ScanID, j.args.Run}, w.Args...)...).Scan(&last, &n)
	return last, n > 0, err
}

// sighting is one row of a hash.
type sighting struct {
	scanID, template string
	isTask           bool
	doc              struct {
		Event struct {
			Interaction *struct{} `json:"interaction"`
		} `json:"event"`
		Target      string `json:"target"`
		TemplateURL string `json:"template_url"`
		Proof       *struct {
			Digest string `json:"digest"`
		} `json:"proof"`
	}
}

// tested says by which cell of the group what a hash names was tested and not shown: empty where there is none. away is
// a place of it that the run did not reach, and why.
func (j *judging) tested(ctx context.Context, tx *db.Tx, hash string) (cell, away string, err error) {
	rows, err := db.Select(ctx, tx, func(r db.Row) (s sighting, err error) {
		return s, r.Scan(&s.scanID, &s.template, &s.isTask, db.Into(&s.doc))
	}, `SELECT f.scan_id, f.template_id, f.is_task, d.event FROM finding f
		JOIN finding_doc d ON d.team_id = f.team_id AND d.no = f.no
		WHERE f.team_id = ? AND f.hash = ? ORDER BY +f.no DESC LIMIT ?`, j.teamID, hash, perHash)
	if err != nil {
		return "", "", err
	}
	for _, s := range rows {
		key, _, _ := placeOf(s.doc.Target)
		p := j.group.places[key]
		if p == nil || s.doc.Event.Interaction != nil {
			continue
		}
		names, err := j.checks(ctx, s)
		if err != nil {
			return "", "", err
		}
		for _, name := range names {
			c, is := p.cells[name]
			switch {
			case !is:
			case !p.reached && c.State == engine.Failed && c.Reason != scan.NotRun && c.Reason != scan.NoTemplate:
				away = p.target + ": " + cmp.Or(c.Reason, "it did not answer")
			case isClean(c):
				same, err := j.sameSettings(ctx, tx, s)
				if err != nil {
					return "", "", err
				}
				if same {
					return fmt.Sprintf("%s at %s", s.template, p.target), "", nil
				}
			}
		}
	}
	return "", away, nil
}

// checks are the names under which the run has the check of a sighting.
func (j *judging) checks(ctx context.Context, s sighting) ([]string, error) {
	digest, came := j.inline[s.template]
	switch {
	case s.doc.TemplateURL != "" && !came:
		return []string{s.template}, nil
	case s.doc.Proof == nil || s.doc.Proof.Digest == "":
		return nil, nil
	case came && digest == s.doc.Proof.Digest:
		return []string{s.template}, nil
	}
	return j.catalog.WithDigest(ctx, j.teamID, s.template, s.doc.Proof.Digest)
}

func (j *judging) sameSettings(ctx context.Context, tx *db.Tx, s sighting) (bool, error) {
	id := s.scanID
	if s.isTask {
		id = ""
	}
	key, err := j.settingsOf(ctx, tx, id)
	return key == j.settings[j.args.ScanID], err
}

// reason says in a timeline which cells showed that a weakness is gone.
func (j *judging) reason(cells map[string]string) string {
	names := slices.Sorted(maps.Values(cells))
	names = slices.Compact(names)
	text := strings.Join(names[:min(len(names), maxCells)], ", ")
	if more := len(names) - maxCells; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	why := fmt.Sprintf("%s, run %d, tested it and did not see it: %s.", j.describe(), j.args.Run, text)
	return errs.Clip(why, maxReason)
}

const maxReason = 1500 // bytes

// note writes once, until it is seen again, that a run did not reach a place.
func (j *judging) note(
	ctx context.Context, tx *db.Tx, f finding.Finding, last db.Time, away string,
) (isNew bool, err error) {
	n, err := db.Value[int](ctx, tx, `SELECT count(*) FROM finding_change WHERE team_id = ? AND no = ? AND type = ?
		AND at > ?`, j.teamID, f.No(), timeline.NotSeen, last)
	if err != nil || n > 0 {
		return false, err
	}
	return true, j.findings.Note(ctx, tx, j.teamID, f.Weakness, timeline.Entry{
		Kind: timeline.NotSeen, Field: "seen", To: "not_seen", Operation: j.operation,
		Reason: errs.Clip(fmt.Sprintf("%s, run %d, did not reach %s.", j.describe(), j.args.Run, away), maxReason),
	})
}
