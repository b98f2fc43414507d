package model

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Period is the unit of a summary.
type Period string

// The periods, in UTC. A week begins on Monday.
const (
	Daily   Period = "day"
	Weekly  Period = "week"
	Monthly Period = "month"
)

func (p Period) first(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	switch p {
	case Monthly:
		d = 1
	case Weekly:
		d -= (int(t.UTC().Weekday()) + 6) % 7
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// Sum is the usage of several streams.
type Sum struct {
	Tasks, Streams int
	Micros         int64 // millionths of a US dollar
	Server         int64 // with the server's models
	Steps, Calls   int
	Agents         int
	Total          time.Duration

	last string // task counted last
}

func (s *Sum) add(r Row) {
	if r.TaskID != s.last { // rows are sorted by task
		s.last = r.TaskID
		s.Tasks++
	}
	s.Streams++
	s.Micros += r.Micros
	if !r.BYOK {
		s.Server += r.Micros
	}
	s.Steps += r.Steps
	s.Calls += r.Calls
	s.Agents += r.Agents
	s.Total += r.Total
}

// Share is the part of a model, status, email address, or period, named by its first day.
type Share struct {
	Name string
	Sum
}

// Summary is usage in total and in parts.
type Summary struct {
	All, BYOK         Sum
	ByModel, ByStatus []Share // by name
	ByEmail           []Share // most expensive first; only for an admin of several
	ByPeriod          []Share // earliest first, without empty ones
}

// Summarise sums up the usage that the caller may see, between from and to unless they are zero. A task counts in each
// part with one of its streams.
func (s *Models) Summarise(ctx context.Context, from, to time.Time, by Period) (Summary, error) {
	var out Summary
	if !slices.Contains([]Period{Daily, Weekly, Monthly}, by) {
		return out, errs.Field("group_by", "group_by must be day, week or month.")
	}
	where, err := s.reader(ctx)
	if err != nil {
		return out, err
	}
	UsageFilter{From: from, To: to}.where(&where, s.db.Dialect())
	models, statuses, emails, periods := parts{}, parts{}, parts{}, parts{}
	err = db.Each(ctx, s.db, func(row db.Row) error {
		var r Row
		var ms int64
		err := row.Scan(&r.TaskID, &r.Email, &r.Model, &r.Status, &r.BYOK, &r.Micros, &r.Steps, &r.Calls, &r.Agents, &ms,
			db.Into(&r.CreatedAt))
		if err != nil {
			return err
		}
		r.Total = time.Duration(ms) * time.Millisecond
		out.All.add(r)
		if r.BYOK {
			out.BYOK.add(r)
		}
		models.of(r.Model).add(r)
		statuses.of(r.Status).add(r)
		emails.of(r.Email).add(r)
		periods.of(by.first(r.CreatedAt).Format(time.DateOnly)).add(r)
		return nil
	}, `SELECT u.task_id, a.email, u.model, u.status, u.byok, u.micros, u.steps, u.tool_calls, u.agent_triggers,
		u.total_ms, u.created_at`+usageFrom+where.String()+` ORDER BY u.task_id`, where.Args...)
	out.ByModel, out.ByStatus, out.ByEmail, out.ByPeriod = models.list(), statuses.list(), emails.list(), periods.list()
	slices.SortStableFunc(out.ByEmail, func(a, b Share) int { return cmp.Compare(b.Micros, a.Micros) })
	return out, err
}

type parts map[string]*Sum

func (p parts) of(name string) *Sum {
	if p[name] == nil {
		p[name] = &Sum{}
	}
	return p[name]
}

func (p parts) list() []Share {
	out := make([]Share, 0, len(p))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		out = append(out, Share{name, *p[name]})
	}
	return out
}
