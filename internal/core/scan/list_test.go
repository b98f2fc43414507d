package scan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// TestListsAreTheDatabase: whatever several processes change, the list that each of them
// gives next is the one that plain Go makes of the scans as they are read one by one.
func TestListsAreTheDatabase(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		seed := uint64(time.Now().UnixNano())
		t.Log("seed", seed)
		y := setUp(t, d)
		c := &changer{T: t, Rand: rand.New(rand.NewPCG(seed, 0)), yard: y, chunks: map[string]*Chunk{}}
		c.nodes = []*Scans{y.Scans, node(t, d)}
		for range 6 {
			c.make()
		}
		for range 90 {
			what := c.step()
			c.compare(what)
			if t.Failed() {
				return
			}
		}
	})
}

// changer changes scans, at random.
type changer struct {
	*testing.T
	*rand.Rand
	yard
	nodes  []*Scans
	chunks map[string]*Chunk // by scan
	made   int
}

func (c *changer) node() *Scans { return c.nodes[c.IntN(len(c.nodes))] }

// must takes refusals of what may not be done to a scan now.
func (c *changer) must(err error) {
	c.Helper()
	if err != nil && !errs.Is(err, errs.Conflict) && !errs.Is(err, errs.NotFound) &&
		err != ErrLate { //nolint:errorlint // it comes bare
		c.Fatal(err)
	}
}

func (c *changer) make() {
	c.made++
	targets := [][]string{{"10.0.0.1"}, {"example.com", "example.net"}, {"h"}}[c.IntN(3)]
	_, err := c.node().Create(c.alice, NewScan{
		Name:   fmt.Sprintf("Näme %c %d", 'A'+rune(c.IntN(4)), c.made%5),
		Config: Config{Targets: targets, Templates: []string{"git-config"}}, ScheduleOnly: c.IntN(2) == 0,
	})
	c.must(err)
}

func (c *changer) upload(ss *Scans, id string) {
	var body strings.Builder
	for range 1 + c.IntN(4) {
		fmt.Fprintf(&body, `{"template-id":"x","host":"h%d","info":{"severity":%q}}`+"\n", c.IntN(30),
			finding.Severities[c.IntN(3)])
	}
	var err error
	if id == "" {
		_, err = ss.Import(c.alice, "", strings.NewReader(body.String()))
	} else {
		_, err = ss.Append(c.alice, id, strings.NewReader(body.String()))
	}
	c.must(err)
}

// step changes something through one of the processes, and says what.
func (c *changer) step() string {
	all := c.all()
	if len(all) < 4 {
		c.make()
		return "make"
	}
	ss, s := c.node(), all[c.IntN(len(all))]
	steps := []string{"make", "import", "append", "begin", "start", "progress", "found", "finish", "stop", "rescan",
		"rename", "config", "schedule", "drop", "sweep", "delete", "forget", "weigh"}
	what := steps[c.IntN(len(steps))]
	switch what {
	case "make":
		c.make()
	case "import":
		c.upload(ss, "")
	case "append":
		c.upload(ss, s.ID)
	case "stop":
		c.must(ss.Stop(c.alice, s.ID))
	case "rescan":
		_, err := ss.Rescan(c.alice, s.ID)
		c.must(err)
	case "rename":
		c.must(ss.Rename(c.alice, s.ID, fmt.Sprint("renamed ", c.IntN(100))))
	case "config":
		c.must(ss.UpdateConfig(c.alice, s.ID,
			ConfigUpdate{Targets: []string{"192.168.0.1"}, AgentTags: []string{fmt.Sprint(c.IntN(9))}}, true))
	case "schedule":
		_, err := ss.Schedules().Set(c.alice,
			schedule.Schedule{Subject: s.ID, Rule: schedule.Rule{Frequency: schedule.Daily}})
		c.must(err)
	case "drop":
		c.must(ss.Schedules().Drop(c.alice, s.ID))
	case "sweep":
		now := ss.now
		ss.now = func() time.Time { return now().Add(49 * time.Hour) }
		c.must(ss.Schedules().Sweep(c.Context()))
		ss.now = now
	case "delete":
		c.must(ss.Delete(c.alice, []string{s.ID}))
	case "forget":
		_, err := ss.findings.Delete(c.alice, finding.Filter{ScanIDs: []string{s.ID}, Severities: finding.Severities[:2]})
		c.must(err)
	case "weigh":
		_, err := ss.findings.Override(c.alice,
			finding.Override{TemplateID: []string{"x", "git-config"}[c.IntN(2)], Custom: finding.Severities[c.IntN(5)]})
		c.must(err)
	default:
		c.work(what)
	}
	return what + " of " + s.ID
}

// work does a part of what workers do.
func (c *changer) work(what string) {
	for _, s := range c.all() {
		ss := c.node()
		chunk := c.chunks[s.ID]
		switch {
		case s.Status == Queued:
			c.must(ss.Begin(c.Context(), BeginArgs{s.ID, s.Run}))
		case s.Status != Running:
		case chunk == nil || chunk.Run != s.Run || what == "start":
			chunk, err := ss.StartChunk(c.Context(), ChunkArgs{s.ID, s.Run, 0})
			c.must(err)
			if err == nil {
				c.chunks[s.ID] = chunk
			}
		case what == "progress":
			c.must(chunk.Progress(c.Context(), c.IntN(5), 4))
		case what == "found":
			c.must(chunk.Found(c.Context(), seen(fmt.Sprint("http://h/", c.IntN(5)))))
		case what == "finish":
			c.must(chunk.Finish(c.Context(), ledger(chunk), 3))
		}
	}
}

// all reads every scan of the team, one by one.
func (c *changer) all() []Scan {
	caller, err := account.From(c.alice)
	if err != nil {
		c.Fatal(err)
	}
	rows, err := c.db.Query(c.Context(), `SELECT id FROM scan WHERE team_id = ?`, caller.TeamID)
	ids, err := db.Collect(rows, err, func(r db.Row) (id string, err error) { return id, r.Scan(&id) })
	if err != nil {
		c.Fatal(err)
	}
	out := make([]Scan, len(ids))
	for i, id := range ids {
		if out[i], err = c.Find(c.alice, id); err != nil {
			c.Fatal(err)
		}
		out[i].Config.Targets = nil
	}
	return out
}

// value is what a field of an order says of a scan: a number, or a text.
func value(s Scan, field string) (n int64, text string) {
	switch field {
	case "created_at":
		n = s.CreatedAt.UnixMicro()
	case "updated_at":
		n = s.UpdatedAt.UnixMicro()
	case "completed_at":
		n = max(0, s.Numbers.EndedAt.UnixMicro())
	case "progress":
		n = int64(s.Numbers.DoneCells)
	case "total_target":
		n = int64(s.Numbers.Targets)
	case "total_template":
		n = int64(s.Numbers.Templates)
	case "total_scan":
		n = int64(s.Numbers.Cells)
	case "total_result":
		n = int64(s.Results())
	case "severity":
		for rank, severity := range []string{"unknown", "info", "low", "medium", "high", "critical"} {
			if many := s.Severities[severity]; many > 0 {
				n = int64(rank)*10_000_000_000 + int64(many)
			}
		}
	case "rescan_count":
		n = s.Run
	case "scan_time_elapsed":
		if !s.Numbers.EndedAt.IsZero() {
			n = s.Elapsed(s.Numbers.EndedAt).Microseconds()
		}
	default:
		text = map[string]string{"name": s.Name, "status": string(s.Status), "scan_id": s.ID}[field]
	}
	return n, text
}

// fieldOf is the field that an order by a column was asked for with.
func fieldOf(column string) string {
	for field, expression := range Sortable {
		if expression == column {
			return field
		}
	}
	return ""
}

// compare asks every process for a list, and for the counts.
func (c *changer) compare(what string) {
	c.Helper()
	all := c.all()
	yes := c.IntN(2) == 0
	f := []Filter{{}, {}, {Search: "ME b"}, {Search: "renamed"}, {Internal: &yes},
		{Status: Statuses[c.IntN(len(Statuses))]}, {Search: all[0].ID, Internal: &yes}}[c.IntN(7)]
	var sorts []page.Sort
	for field := range Sortable { // in any order
		if len(sorts) < 2 && c.IntN(4) == 0 {
			sorts = append(sorts, page.Sort{Column: Sortable[field], Desc: c.IntN(2) == 0})
		}
	}
	w := page.Window{Offset: c.IntN(1 + len(all)/2), Limit: 1 + c.IntN(20)}
	var want []Scan
	launches, stats := 0, Stats{Statuses: map[Status]int{}}
	for _, s := range all {
		stats.Unique, stats.Statuses[s.Status], launches = stats.Unique+1, stats.Statuses[s.Status]+1, launches+int(s.Run)
		if s.Schedule != nil {
			stats.Scheduled++
		}
		if (f.Status == "" || f.Status == s.Status) && (f.Internal == nil || *f.Internal == s.IsInternal) &&
			(s.ID == f.Search || strings.Contains(strings.ToLower(s.Name), strings.ToLower(f.Search))) {
			want = append(want, s)
		}
	}
	stats.Uploaded = stats.Statuses[Uploaded]
	stats.Total = launches + stats.Uploaded
	order := sorts
	if len(sorts) == 0 {
		order = []page.Sort{{Column: Sortable["created_at"], Desc: true}}
	}
	slices.SortFunc(want, func(a, b Scan) int {
		for _, s := range order {
			field := fieldOf(s.Column)
			n, text := value(a, field)
			m, other := value(b, field)
			if by := cmp.Or(cmp.Compare(n, m), strings.Compare(text, other)); by != 0 && s.Desc {
				return -by
			} else if by != 0 {
				return by
			}
		}
		return strings.Compare(b.ID, a.ID)
	})
	total := len(want)
	want = want[min(w.Offset, total):min(w.Offset+w.Limit, total)]
	for i, ss := range c.nodes {
		got, n, err := ss.FindAll(c.alice, f, sorts, w)
		if err != nil || n != total || len(got) != len(want) {
			c.Errorf("after %s process %d lists %+v %v %+v: %d of %d, want %d of %d; %v", what, i, f, sorts, w, len(got), n,
				len(want), total, err)
			return
		}
		for j, one := range got {
			if !reflect.DeepEqual(one, want[j]) {
				c.Errorf("after %s process %d lists %+v %v %+v: at %d\n%+v, want\n%+v", what, i, f, sorts, w, j, one, want[j])
			}
		}
		if counted, err := ss.FindStats(c.alice); err != nil || !reflect.DeepEqual(counted, stats) {
			c.Errorf("after %s process %d counts %+v, want %+v; %v", what, i, counted, stats, err)
		}
	}
	if found, n, err := c.nodes[0].FindAll(c.stranger, Filter{}, nil, w); err != nil || n != 0 || found == nil ||
		len(found) != 0 {
		c.Errorf("a stranger sees %d: %+v, %v", n, found, err)
	}
}

// TestListsShowWhatWasCommitted: while several processes change scans of a team at once,
// who has changed one sees it so in the next list of any process.
func TestListsShowWhatWasCommitted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		reader := node(t, d)
		var work sync.WaitGroup
		for i := range 4 {
			ss, id := node(t, d), y.create(t, Config{Targets: []string{"h"}, All: true}).ID
			work.Go(func() {
				for n := range 12 {
					want := fmt.Sprint("name ", i, " ", n)
					if err := ss.Rename(y.alice, id, want); err != nil {
						t.Error(err)
						return
					}
					got, _, err := reader.FindAll(y.alice, Filter{Search: id}, nil, page.Window{Limit: 1})
					if err != nil || len(got) != 1 || got[0].Name != want {
						t.Errorf("%+v, want %s; %v", got, want, err)
						return
					}
				}
			})
		}
		work.Wait()
	})
}

// TestFoldNames: scans that were made before names were folded are found by any case.
func TestFoldNames(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		id := y.create(t, Config{Targets: []string{"h"}, All: true}).ID
		if err := y.Rename(y.alice, id, "ÄRGER in Łódź"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(t.Context(), `UPDATE scan SET folded_name = NULL`); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a second start changes nothing
			if err := y.FoldNames(t.Context()); err != nil {
				t.Fatal(err)
			}
			found, total, err := y.FindAll(y.alice, Filter{Search: "ärger IN łÓDŹ"}, nil, page.Window{Limit: 5})
			if err != nil || total != 1 || found[0].ID != id {
				t.Errorf("%d: %+v, %v", total, found, err)
			}
		}
	})
}
