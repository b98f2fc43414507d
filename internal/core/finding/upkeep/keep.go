package upkeep

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/feed"
	"github.com/vedette-sec/vedette/internal/core/finding/due"
	"github.com/vedette-sec/vedette/internal/core/finding/job"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// looking is one look at findings of a team.
type looking struct {
	*Upkeep
	teamID     string
	policy     due.Policy
	rev        int64 // of the policy
	generation int64 // of the feeds
}

func (u *Upkeep) looking(ctx context.Context, tx *db.Tx, teamID string) (looking, error) {
	k := looking{Upkeep: u, teamID: teamID}
	var err error
	if k.policy, k.rev, err = policyOf(ctx, tx, teamID); err != nil {
		return k, err
	}
	k.generation, err = feed.Generation(ctx, tx)
	return k, err
}

// row is what a finding has, and what it depends on.
type row struct {
	no             int64
	weakness, host string
	port           int
	severity       string
	status         listing.Status
	isRepeat       bool
	createdAt      db.Time
	cves           []string

	has follows
}

// follows is what follows from elsewhere.
type follows struct {
	dueAt int64 // in microseconds; NoDate: never
	state due.State
	epss  int64
	isKEV bool
}

// keep brings some findings up to date, in a transaction that has the lock of the team's findings.
func (k looking) keep(ctx context.Context, tx *db.Tx, numbers []int64) error {
	slices.Sort(numbers)
	for part := range slices.Chunk(slices.Compact(numbers), atOnce) {
		if err := k.keepPart(ctx, tx, part); err != nil {
			return err
		}
	}
	return nil
}

func (k looking) keepPart(ctx context.Context, tx *db.Tx, numbers []int64) error {
	rows, err := k.rows(ctx, tx, numbers)
	if err != nil {
		return err
	}
	from, err := k.from(ctx, tx, rows)
	if err != nil {
		return err
	}
	labels, err := k.labels(ctx, tx, rows)
	if err != nil {
		return err
	}
	scores, exploited, err := k.feeds(ctx, tx, rows)
	if err != nil {
		return err
	}
	now := k.now()
	var changed []int64
	news := map[due.State][]string{}
	for _, r := range rows {
		to := follows{dueAt: listing.NoDate, epss: -1}
		if at := k.policy.At(from[r.no], r.severity, labels[r.no]); !at.IsZero() {
			to.dueAt = at.UnixMicro()
			to.state = k.policy.StateAt(now, at, r.status)
		}
		for _, cve := range r.cves {
			if s, is := scores[cve]; is {
				to.epss = max(to.epss, int64(math.Round(s.Score*listing.PerOne)))
			}
			_, is := exploited[cve]
			to.isKEV = to.isKEV || is
		}
		if to == r.has {
			continue
		}
		if err := k.store(ctx, tx, r, to); err != nil {
			return err
		}
		changed = append(changed, r.no)
		if to.state != r.has.state && !r.isRepeat && (to.state == due.Soon || to.state == due.Overdue) {
			news[to.state] = append(news[to.state], r.weakness)
		}
	}
	if err := k.findings.Reindex(ctx, tx, k.teamID, changed...); err != nil {
		return err
	}
	return k.tell(ctx, tx, news)
}

// store stores what follows for a finding. That a date has moved is in the timeline of the one that stands for its
// weakness, and so is that it is over.
func (k looking) store(ctx context.Context, tx *db.Tx, r row, to follows) error {
	if _, err := tx.Exec(ctx, `UPDATE finding SET due_at = ?, due_state = ?, epss = ?, is_kev = ? WHERE team_id = ? AND no = ?`,
		to.dueAt, to.state, to.epss, to.isKEV, k.teamID, r.no); err != nil || r.isRepeat {
		return err
	}
	date := func(at int64) string {
		if at == listing.NoDate {
			return ""
		}
		return time.UnixMicro(at).UTC().Format(time.RFC3339)
	}
	e := timeline.Entry{Kind: timeline.DueChange, Field: "due_at", From: date(r.has.dueAt), To: date(to.dueAt)}
	if r.has.dueAt != listing.NoDate && to.dueAt != r.has.dueAt {
		if err := k.findings.Note(ctx, tx, k.teamID, r.weakness, e); err != nil {
			return err
		}
	}
	if to.state != due.Overdue || r.has.state == due.Overdue {
		return nil
	}
	e = timeline.Entry{Kind: timeline.Overdue, Field: "due_at", To: date(to.dueAt)}
	return k.findings.Note(ctx, tx, k.teamID, r.weakness, e)
}

const maxNews = 1000 // weaknesses that one job names

// tell queues jobs that tell people what is late, or soon will be.
func (k looking) tell(ctx context.Context, tx *db.Tx, news map[due.State][]string) error {
	if k.queue == nil {
		return nil
	}
	for _, state := range []due.State{due.Soon, due.Overdue} {
		kind := job.DueSoon
		if state == due.Overdue {
			kind = job.Overdue
		}
		for part := range slices.Chunk(news[state], maxNews) {
			a := job.News{TeamID: k.teamID, About: kind, Weaknesses: part, Operation: ids.New()}
			if _, err := k.queue.Insert(ctx, tx, k.teamID, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k looking) rows(ctx context.Context, tx *db.Tx, numbers []int64) ([]row, error) {
	if len(numbers) == 0 {
		return nil, nil
	}
	w := db.InTeam(k.teamID, "f.no", numbers)
	where := strings.Replace(w.String(), "team_id", "f.team_id", 1)
	return db.Select(ctx, tx, func(r db.Row) (out row, err error) {
		var doc struct {
			Event struct {
				Info struct {
					Classification struct {
						CVE []string `json:"cve-id"`
					} `json:"classification"`
				} `json:"info"`
			} `json:"event"`
		}
		var template string
		var text []byte
		err = r.Scan(&out.no, &out.weakness, &out.host, &out.port, &out.severity, &out.status, &out.isRepeat, &out.createdAt,
			&template, &out.has.dueAt, &out.has.state, &out.has.epss, &out.has.isKEV, &text)
		if err != nil {
			return out, err
		}
		_ = json.Unmarshal(text, &doc) // what a sender wrote in another form names no CVE
		for _, cve := range append(doc.Event.Info.Classification.CVE, template) {
			if cve = strings.ToUpper(strings.TrimSpace(cve)); strings.HasPrefix(cve, "CVE-") {
				out.cves = append(out.cves, cve)
			}
		}
		slices.Sort(out.cves)
		out.cves = slices.Compact(out.cves)
		out.cves = out.cves[:min(len(out.cves), maxCVEs)]
		return out, nil
	}, `SELECT f.no, CASE WHEN f.weakness = '' THEN f.hash ELSE f.weakness END, f.host, f.port, f.severity, f.status, f.is_repeat,
		f.created_at, f.template_id, f.due_at, f.due_state, f.epss, f.is_kev, d.event
		FROM finding f JOIN finding_doc d ON d.team_id = f.team_id AND d.no = f.no`+where+` ORDER BY f.no`, w.Args...)
}

const maxCVEs = 50 // of a finding that are looked for in feeds

// from is when the days of findings begin: when their weakness was seen first, or (by the policy) reopened last.
func (k looking) from(ctx context.Context, tx *db.Tx, rows []row) (map[int64]time.Time, error) {
	out := make(map[int64]time.Time, len(rows))
	heads := map[string]row{} // by weakness
	var missing []string
	for _, r := range rows {
		out[r.no] = r.createdAt.Time
		if r.isRepeat {
			missing = append(missing, r.weakness)
		} else {
			heads[r.weakness] = r
		}
	}
	if len(k.policy.Days)+len(k.policy.Labels) == 0 {
		return out, nil
	}
	if err := k.heads(ctx, tx, missing, heads); err != nil {
		return nil, err
	}
	again := map[int64]time.Time{}
	if k.policy.From == due.Reopened {
		numbers := make([]int64, 0, len(heads))
		for _, h := range heads {
			numbers = append(numbers, h.no)
		}
		slices.Sort(numbers)
		w := db.InTeam(k.teamID, "no", numbers)
		w.And("type = ?", timeline.Reopened)
		if err := db.Each(ctx, tx, func(r db.Row) error {
			var no int64
			var at db.Time
			err := r.Scan(&no, &at)
			again[no] = at.Time
			return err
		}, `SELECT no, max(at) FROM finding_change`+w.String()+` GROUP BY no`, w.Args...); err != nil {
			return nil, err
		}
	}
	for _, r := range rows {
		h, is := heads[r.weakness]
		if !is {
			continue
		}
		out[r.no] = h.createdAt.Time
		if at := again[h.no]; at.After(h.createdAt.Time) {
			out[r.no] = at
		}
	}
	return out, nil
}

// heads adds the findings that stand for weaknesses.
func (k looking) heads(ctx context.Context, tx *db.Tx, weaknesses []string, into map[string]row) error {
	slices.Sort(weaknesses)
	weaknesses = slices.Compact(weaknesses)
	for _, cond := range []string{"weakness = ''", "weakness <> ''"} {
		column := map[bool]string{true: "hash", false: "weakness"}[cond == "weakness = ''"]
		w := db.InTeam(k.teamID, column, weaknesses)
		w.And("NOT is_repeat AND " + cond)
		if err := db.Each(ctx, tx, func(r db.Row) error {
			var one row
			err := r.Scan(&one.weakness, &one.no, &one.createdAt)
			into[one.weakness] = one
			return err
		}, `SELECT `+column+`, no, created_at FROM finding`+w.String(), w.Args...); err != nil {
			return err
		}
	}
	return nil
}

// labels are the labels of the assets at findings' hosts and ports, where the policy asks for them.
func (k looking) labels(ctx context.Context, tx *db.Tx, rows []row) (map[int64][]string, error) {
	out := map[int64][]string{}
	if len(k.policy.Labels) == 0 {
		return out, nil
	}
	byHost := map[string][]row{}
	var hosts []string
	for _, r := range rows {
		if r.host != "" {
			byHost[r.host] = append(byHost[r.host], r)
			hosts = append(hosts, r.host)
		}
	}
	slices.Sort(hosts)
	w := db.InTeam(k.teamID, "host", slices.Compact(hosts))
	w.And("labels <> '' AND NOT is_missing")
	return out, db.Each(ctx, tx, func(r db.Row) error {
		var host, labels string
		var port int
		err := r.Scan(&host, &port, &labels)
		for _, f := range byHost[host] {
			if port == 0 || f.port == 0 || port == f.port {
				out[f.no] = append(out[f.no], strings.Split(labels, "\n")...)
			}
		}
		return err
	}, `SELECT DISTINCT host, port, labels FROM asset`+w.String(), w.Args...)
}

// feeds are what feeds know of the CVEs of findings.
func (k looking) feeds(
	ctx context.Context, tx *db.Tx, rows []row,
) (scores map[string]feed.Score, exploited map[string]feed.Exploited, err error) {
	var cves []string
	for _, r := range rows {
		cves = append(cves, r.cves...)
	}
	slices.Sort(cves)
	cves = slices.Compact(cves)
	if k.generation == 0 || len(cves) == 0 {
		return nil, nil, nil
	}
	if scores, err = feed.Scores(ctx, tx, cves); err != nil {
		return nil, nil, err
	}
	exploited, err = feed.KnownExploited(ctx, tx, cves)
	return scores, exploited, err
}
