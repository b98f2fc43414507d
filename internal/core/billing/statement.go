package billing

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Part is what one task, member, project or model has used, in millionths of a credit.
type Part struct {
	ID     string // of the task, member or project; of a model its name; empty: no project
	Name   string
	Calls  int // of models; of a model its streams
	Micros int64
}

// By is what consumption is split by.
type By string

// The ways to split.
const (
	ByTask    By = "task"
	ByMember  By = "member"
	ByProject By = "project"
	ByModel   By = "model"
)

// MaxParts is how many parts are listed, those that used the most.
const MaxParts = 1000

// The queries give id, name, calls and micros. Calls are in reservation, which has each call; the model of a stream is
// known by model_usage alone. What belongs to nobody any more keeps its id.
var queries = map[By]string{
	ByTask: `SELECT r.task_id, coalesce(t.title, ''), count(*), CAST(sum(r.spent) AS BIGINT) FROM reservation r
		LEFT JOIN task t ON t.id = r.task_id AND t.team_id = r.team_id` + settled + `GROUP BY r.task_id, t.title`,
	ByMember: `SELECT r.user_id, coalesce(u.email, ''), count(*), CAST(sum(r.spent) AS BIGINT) FROM reservation r
		LEFT JOIN user_account u ON u.id = r.user_id` + settled + `GROUP BY r.user_id, u.email`,
	ByProject: `SELECT coalesce(t.project_id, ''), coalesce(p.name, ''), count(*), CAST(sum(r.spent) AS BIGINT) FROM reservation r
		LEFT JOIN task t ON t.id = r.task_id AND t.team_id = r.team_id
		LEFT JOIN project p ON p.id = t.project_id AND p.team_id = r.team_id` + settled + `GROUP BY coalesce(t.project_id, ''), p.name`,
	ByModel: `SELECT u.model, u.model, count(*), CAST(sum(u.micros) AS BIGINT) FROM model_usage u
		WHERE u.team_id = ? AND NOT u.byok AND u.micros > 0 AND u.created_at >= ? AND u.created_at < ? GROUP BY u.model`,
}

const settled = ` WHERE r.team_id = ? AND NOT r.byok AND r.spent > 0 AND r.settled_at >= ? AND r.settled_at < ? `

// Consumption is what the caller's team has used of the server's models between two times, split, the most first. Its
// admins may see it, and who is alone in it.
func (s *Credits) Consumption(ctx context.Context, by By, from, to time.Time) ([]Part, error) {
	c, err := s.payer(ctx)
	if err != nil {
		return nil, err
	}
	return consumption(ctx, s.db, c.TeamID, by, from, to)
}

func consumption(ctx context.Context, q db.Querier, teamID string, by By, from, to time.Time) ([]Part, error) {
	query, ok := queries[by]
	if !ok {
		return nil, errs.Field("group_by", "group_by must be task, member, project or model.")
	}
	if !from.Before(to) {
		return nil, errs.Field("from", "from must be before to.")
	}
	return db.Select(ctx, q, func(r db.Row) (p Part, err error) {
		return p, r.Scan(&p.ID, &p.Name, &p.Calls, &p.Micros)
	}, query+` ORDER BY 4 DESC, 1 LIMIT ?`, teamID, db.At(from), db.At(to), MaxParts)
}

// Statement says what a team was granted and has used between two times.
type Statement struct {
	TeamID, Team string
	From, To     time.Time
	WrittenAt    time.Time
	Total        int64 // of the calls that ended in this time
	Grants       []Grant
	Parts        map[By][]Part
}

// Splits are the ways to split, in the order of a statement.
func Splits() []By { return []By{ByProject, ByMember, ByModel, ByTask} }

// Statement is that of the caller's team. Its admins may see it, and who is alone in it.
func (s *Credits) Statement(ctx context.Context, from, to time.Time) (st Statement, err error) {
	c, err := s.payer(ctx)
	if err != nil {
		return st, err
	}
	st = Statement{TeamID: c.TeamID, From: from.UTC(), To: to.UTC(), WrittenAt: db.At(s.now()).Time,
		Parts: map[By][]Part{}}
	return st, s.db.Snapshot(ctx, func(q db.Querier) error {
		for _, by := range Splits() {
			parts, err := consumption(ctx, q, c.TeamID, by, from, to)
			if err != nil {
				return err
			}
			st.Parts[by] = parts
		}
		if err := q.QueryRow(ctx, `SELECT name, (SELECT CAST(coalesce(sum(r.spent), 0) AS BIGINT) FROM reservation r`+settled+
			`) FROM team WHERE id = ?`, c.TeamID, db.At(from), db.At(to), c.TeamID).Scan(&st.Team, &st.Total); err != nil {
			return db.OrMissing(err, "team")
		}
		grants, err := s.grants(ctx, q, c.TeamID)
		for _, g := range grants {
			if !g.CreatedAt.Before(from) && g.CreatedAt.Before(to) {
				st.Grants = append(st.Grants, g)
			}
		}
		return err
	})
}

// Display writes an amount with its credits and, where it has some, its fractions.
func Display(micros int64) string {
	text := fmt.Sprintf("%d.%06d", micros/MicrosPerCredit, micros%MicrosPerCredit)
	whole, fraction, _ := strings.Cut(text, ".")
	return whole + "." + fraction[:2] + strings.TrimRight(fraction[2:], "0")
}

// WriteCSV writes a statement for a spreadsheet: a row for each grant and each part.
func (st Statement) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{
		{"kind", "id", "name", "calls", "credits", "at", "expires_at"},
		{"total", st.TeamID, st.Team, "", Display(st.Total), st.From.Format(time.RFC3339), st.To.Format(time.RFC3339)},
	}
	for _, g := range st.Grants {
		expires := ""
		if g.ExpiresAt != nil {
			expires = g.ExpiresAt.Format(time.RFC3339)
		}
		rows = append(rows, []string{"grant", g.ID, g.Note, "", Display(g.Micros), g.CreatedAt.Format(time.RFC3339), expires})
	}
	for _, by := range Splits() {
		for _, p := range st.Parts[by] {
			rows = append(rows, []string{string(by), p.ID, p.Name, strconv.Itoa(p.Calls), Display(p.Micros), "", ""})
		}
	}
	for _, row := range rows {
		for i := range row {
			row[i] = inert(row[i])
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// inert keeps a spreadsheet from taking a text for a formula.
func inert(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
