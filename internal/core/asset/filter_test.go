package asset

import (
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// TestBadFilters: each refusal names its parameter.
func TestBadFilters(t *testing.T) {
	for param, all := range map[string][]Filters{
		"port":              {{Port: "x"}, {Port: "65536"}, {Port: "-1"}, {Port: "1.5"}},
		"status_code":       {{StatusCode: "1000"}, {StatusCode: "4xx"}},
		"content_length":    {{ContentLength: "-2"}},
		"ip":                {{IP: "10.0.0.0/33"}, {IP: "host"}, {IP: "1.2.3"}},
		"time":              {{Time: "ever"}},
		"start_date":        {{StartDate: "yesterday"}, {StartDate: "2026-02-30"}, {StartDate: "0001-01-01T00:00:00Z"}},
		"end_date":          {{EndDate: "2026"}, {StartDate: "2026-02-03", EndDate: "2026-02-02"}},
		"search":            {{Search: strings.Repeat("x", 201)}},
		"labels":            {{Labels: strings.Repeat("x,", 1001)}},
		"not_seen_for_days": {{NotSeenForDays: -1}, {NotSeenForDays: 1 << 40}},
		"domain": {{Domain: append(make([]string, 0),
			strings.Split(strings.Repeat("a.b|", 1)+strings.Join(manyWords(1001), "|"), "|")...)}},
		"custom_filter": {
			{CustomFilter: "nothing"}, {CustomFilter: "host"}, {CustomFilter: "host ="}, {CustomFilter: "host = a b"},
			{CustomFilter: "port ~ 1"}, {CustomFilter: "port > x"},
			{CustomFilter: "(host = a"}, {CustomFilter: "host = a)"}, {CustomFilter: "&& host = a"},
			{CustomFilter: "is_new = perhaps"}, {CustomFilter: "ip = host"},
			{CustomFilter: "created_at > yesterday"}, {CustomFilter: `host = "a`},
			{CustomFilter: strings.Repeat("!", 50) + "host = a"}, {CustomFilter: "host = " + strings.Repeat("a", 2000)},
		},
	} {
		for _, q := range all {
			_, err := q.Parse(time.Now())
			if e := errs.From(err); err == nil || e.Param != param {
				t.Errorf("%s: %s: %v", param, asJSON(t, q), err)
			}
		}
	}
}

func manyWords(n int) (out []string) {
	for i := range n {
		out = append(out, strings.Repeat("d", i+1))
	}
	return out
}

// FuzzCondition: whatever is written, it is refused, or holds for each asset where its opposite does not.
func FuzzCondition(f *testing.F) {
	for _, text := range []string{
		`host = a`, `status_code>=400&&!(title~"Log in"||port!=443)`, `host%20%3D%20a`, `ip = 10.0.0.0/8 || ip = ::1`,
		`last_seen < 2026-01-02T03:04:05Z && created_at > 2026-01-01`,
		`labels = "two words" && tls = expired`, `host = "`, `((((`, `!`, "\x00", `content_length = 9223372036854775807`,
		`port > 9223372036854775807`, `domain = *.com`, `host = ***`, `%`, `a&b|c`,
	} {
		f.Add(text)
	}
	var all []list.Row
	for i := range 40 {
		r, _, err := rowOf("e", many(i))
		if err != nil {
			f.Fatal(err)
		}
		r.no = int64(i + 1)
		all = append(all, r.withColumns())
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCondition(text)
		if err != nil {
			if errs.From(err).Param != "custom_filter" {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if c == nil {
			return
		}
		yes, no := meaning{rows: true}.condition(c),
			meaning{rows: true}.condition(&Condition{join: "!", parts: []*Condition{c}})
		for _, row := range all {
			if row.Meets(yes) == row.Meets(no) {
				t.Errorf("%q holds for %v, and so does its opposite", text, row.Values)
			}
		}
	})
}
