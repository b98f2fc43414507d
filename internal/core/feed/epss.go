package feed

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// perOne is what a score of 1 is stored as.
const perOne = 100_000

// Score is the entry of a CVE in EPSS: how likely it is to be exploited in the next 30 days, and the part of all CVEs
// that is at most as likely. Both are 0 to 1.
type Score struct{ Score, Percentile float64 }

// LoadEPSS loads a file of EPSS scores: CSV with the columns cve, epss and percentile, as FIRST publishes it (a first
// line that begins with # says the version). The error is Invalid and names the line; then nothing has changed.
func (fs *Feeds) LoadEPSS(ctx context.Context, file io.Reader) (Loaded, error) {
	l := fs.begin(EPSS, "feed_epss (generation, cve, score, percentile)")
	version, err := l.readEPSS(ctx, file)
	return l.end(ctx, version, err)
}

func (l *load) readEPSS(ctx context.Context, file io.Reader) (version string, err error) {
	from, err := l.open(EPSS, file)
	if err != nil {
		return "", err
	}
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	var columns map[string]int
	n := 0
	for lines.Scan() {
		n++
		text := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		switch {
		case text == "":
		case strings.HasPrefix(text, "#"):
			version = strings.TrimPrefix(text, "#")
		case columns == nil:
			if columns, err = columnsOf(text); err != nil {
				return "", err
			}
		default:
			if err := l.putEPSS(ctx, columns, n, text); err != nil {
				return "", err
			}
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return "", errs.Field(EPSS, "%s is too long.", line(n+1))
	} else if err != nil {
		return "", err
	}
	return version, nil
}

func columnsOf(head string) (map[string]int, error) {
	columns := map[string]int{}
	for i, name := range strings.Split(head, ",") {
		columns[strings.ToLower(strings.TrimSpace(name))] = i
	}
	for _, name := range []string{"cve", "epss", "percentile"} {
		if _, is := columns[name]; !is {
			return nil, errs.Field(EPSS, "The file has no column %s: it is no file of EPSS scores.", name)
		}
	}
	return columns, nil
}

func (l *load) putEPSS(ctx context.Context, columns map[string]int, n int, text string) error {
	cells := strings.Split(text, ",")
	cell := func(name string) string {
		if i := columns[name]; i < len(cells) {
			return strings.Trim(strings.TrimSpace(cells[i]), `"`)
		}
		return ""
	}
	id, err := idOf(EPSS, line(n), cell("cve"))
	if err != nil {
		return err
	}
	values := make([]any, 2)
	for i, name := range []string{"epss", "percentile"} {
		v, err := strconv.ParseFloat(cell(name), 64)
		if err != nil || !(v >= 0 && v <= 1) {
			return errs.Field(EPSS, "%s: %s %.40q is not a number from 0 to 1.", line(n), name, cell(name))
		}
		values[i] = int64(math.Round(v * perOne))
	}
	return l.put(ctx, id, values...)
}

// Scores are those of CVEs, by CVE. Unknown ones are left out.
func Scores(ctx context.Context, q db.Querier, cves []string) (map[string]Score, error) {
	out := map[string]Score{}
	return out, each(ctx, q, "epss", "feed_epss", "score, percentile", cves, func(r db.Row) error {
		var cve string
		var score, percentile int64
		err := r.Scan(&cve, &score, &percentile)
		out[cve] = Score{float64(score) / perOne, float64(percentile) / perOne}
		return err
	})
}

// each reads the entries of CVEs in a feed.
func each(
	ctx context.Context, q db.Querier, name, table, columns string, cves []string, do func(db.Row) error,
) error {
	for len(cves) > 0 {
		n := min(len(cves), 250)
		var w db.Where
		w.And("generation = (SELECT generation FROM feed WHERE name = ?)", name)
		db.In(&w, "cve", cves[:n])
		if err := db.Each(ctx, q, do, `SELECT cve, `+columns+` FROM `+table+w.String(), w.Args...); err != nil {
			return err
		}
		cves = cves[n:]
	}
	return nil
}
