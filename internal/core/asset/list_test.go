package asset

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset/label"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"pgregory.net/rapid"
)

// drawn is one of some thousand different assets.
func drawn(t *rapid.T) discover.Asset {
	a := discover.Asset{
		Host: rapid.SampledFrom([]string{"a.example.com", "api.example.com", "b.dev.example.com", "example.com",
			"x.example.org", "10.0.0.7", "192.0.2.9"}).Draw(t, "host"),
		Port: rapid.SampledFrom([]int{0, 22, 80, 443}).Draw(t, "port"),
	}
	a.IP = rapid.SampledFrom([][]string{nil, {"10.0.0.7"}, {"192.0.2.9", "10.1.2.3"}, {"2001:db8::7"}}).Draw(t, "ip")
	a.CNAME = rapid.SampledFrom([][]string{nil, {"Edge1.cdn.example.net"},
		{"edge1.cdn.example.net", "edge2.cdn.example.net"}}).Draw(t, "cname")
	if a.Port == 80 || a.Port == 443 {
		a.StatusCode = rapid.SampledFrom([]int{200, 301, 404, 500}).Draw(t, "status")
		a.ContentLength = int64(rapid.IntRange(0, 3).Draw(t, "length"))
		a.Title = rapid.SampledFrom([]string{"", "Log in", "Shop, and <b>more</b>", "shop \x1b[31m"}).Draw(t, "title")
		a.Technologies = rapid.SampledFrom([][]string{nil, {"Nginx:1.25.1"}, {"PHP", "nginx:1.18.0"}}).Draw(t, "technologies")
		a.Favicon = rapid.SampledFrom([]string{"", "-1", "7"}).Draw(t, "favicon")
		a.TLS = rapid.SampledFrom([]*discover.TLS{nil, {Serial: "1", Expired: true}, {Serial: "2"}}).Draw(t, "tls")
	}
	return a
}

// drawnFilters are filters of up to three fields, and what they mean, said once more.
func drawnFilters(t *rapid.T, now time.Time) (q Filters, holds func(a Asset) bool) {
	var all []func(Asset) bool
	for _, field := range rapid.SliceOfNDistinct(rapid.IntRange(0, 18), 0, 3, rapid.ID[int]).Draw(t, "fields") {
		var h func(Asset) bool
		pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, what) }
		yes := rapid.Bool().Draw(t, "yes")
		switch field {
		case 0:
			q.Host = pick("host", "A.example.com", "a.example.com,example.com", "*.example.com", "*e*.com")
			h = func(a Asset) bool { return oneOf(q.Host, func(w string) bool { return glob(w, a.Host) }) }
		case 1:
			q.Port = pick("port", "443", "0,22")
			h = func(a Asset) bool { return oneOf(q.Port, func(w string) bool { return w == strconv.Itoa(a.Port) }) }
		case 2:
			q.StatusCode = pick("status", "404", "0,200")
			h = func(a Asset) bool {
				return oneOf(q.StatusCode, func(w string) bool { return w == strconv.Itoa(a.StatusCode) })
			}
		case 3:
			q.ContentLength = pick("length", "2,3", "0")
			h = func(a Asset) bool {
				return oneOf(q.ContentLength, func(w string) bool { return w == strconv.FormatInt(a.ContentLength, 10) })
			}
		case 4:
			q.Title = pick("title", "SHOP", "log,<b>")
			h = func(a Asset) bool {
				return oneOf(q.Title, func(w string) bool { return strings.Contains(strings.ToLower(a.Title), w) })
			}
		case 5:
			q.Domain = []string{pick("domain", "example.com", "dev.Example.com.", "org")}
			h = func(a Asset) bool {
				d := strings.Trim(strings.ToLower(q.Domain[0]), ".")
				return a.Host == d || strings.HasSuffix(a.Host, "."+d)
			}
		case 6:
			q.CNAME = pick("cname", "edge1.cdn.example.net", "*2.cdn*")
			h = func(a Asset) bool { return oneOf(q.CNAME, func(w string) bool { return anyOf(a.CNAME, w, glob) }) }
		case 7:
			q.Technologies = pick("technologies", "nginx", "Nginx:1.18.0,php", "apache")
			h = func(a Asset) bool {
				return oneOf(q.Technologies, func(w string) bool {
					return anyOf(a.Technologies, w, func(w, t string) bool {
						name, _, _ := strings.Cut(t, ":")
						return w == t ||
							w == name
					})
				})
			}
		case 8:
			q.IP = pick("ip", "10.0.0.7", "10.0.0.0/8,192.0.2.1", "2001:db8::/32", "::/0")
			h = func(a Asset) bool {
				return oneOf(q.IP, func(w string) bool {
					return anyOf(a.IP, w, func(w, ip string) bool {
						p, err := netip.ParsePrefix(w)
						return w == ip || err == nil && p.Contains(netip.MustParseAddr(ip))
					})
				})
			}
		case 9:
			q.Favicon = pick("favicon", "-1", "7,-1")
			h = func(a Asset) bool { return oneOf(q.Favicon, func(w string) bool { return w == a.Favicon }) }
		case 10:
			q.IsTech = &yes
			h = func(a Asset) bool { return len(a.Technologies) > 0 == yes }
		case 11:
			q.IsNew = &yes
			h = func(a Asset) bool { return a.IsNew == yes }
		case 12:
			q.IsInternal = &yes
			h = func(a Asset) bool { return a.IsInternal == yes }
		case 13:
			q.OnlyIP = &yes
			h = func(a Asset) bool { _, err := netip.ParseAddr(a.Host); return !yes || err == nil }
		case 14:
			q.OnlyDNS = &yes
			h = func(a Asset) bool { _, err := netip.ParseAddr(a.Host); return !yes || err != nil }
		case 15:
			q.Search = pick("search", "EXAMPLE", "0.0.7", "1.18", "login", "shop")
			h = func(a Asset) bool {
				text := strings.ToLower(strings.Join(slices.Concat([]string{a.Host, a.Title}, a.IP, a.Technologies, a.Labels),
					"\n"))
				return strings.Contains(text, strings.ToLower(q.Search))
			}
		case 16:
			q.Labels = pick("labels", "login page", "api,staging")
			h = func(a Asset) bool {
				return oneOf(q.Labels, func(w string) bool { return slices.Contains(a.Labels, w) })
			}
		case 17:
			q.EnumerationIDs = []string{pick("enumeration", "e", "f", "nobody's")}
			h = func(a Asset) bool { return a.EnumerationID == q.EnumerationIDs[0] }
		case 18:
			q.CustomFilter = pick("custom", `status_code >= 400 || !(host ~ "EXAMPLE")`, `tls = expired && port != 80`,
				`ip = 10.0.0.0/8 && is_missing = false`, `content_length<=1 && title="shop*"`)
			h = map[string]func(Asset) bool{
				`status_code >= 400 || !(host ~ "EXAMPLE")`: func(a Asset) bool {
					return a.StatusCode >= 400 ||
						!strings.Contains(a.Host, "example")
				},
				`tls = expired && port != 80`: func(a Asset) bool {
					return a.TLS != nil && a.TLS.Expired &&
						a.Port != 80
				},
				`ip = 10.0.0.0/8 && is_missing = false`: func(a Asset) bool {
					return !a.IsMissing && slices.ContainsFunc(a.IP, func(ip string) bool { return strings.HasPrefix(ip, "10.") })
				},
				`content_length<=1 && title="shop*"`: func(a Asset) bool {
					return a.ContentLength <= 1 &&
						strings.HasPrefix(strings.ToLower(a.Title), "shop")
				},
			}[q.CustomFilter]
		}
		all = append(all, h)
	}
	return q, func(a Asset) bool {
		return !slices.ContainsFunc(all, func(h func(Asset) bool) bool { return !h(a) })
	}
}

func oneOf(list string, holds func(word string) bool) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(list), ","), holds)
}

func anyOf(values []string, word string, holds func(word, value string) bool) bool {
	return slices.ContainsFunc(values, func(v string) bool { return holds(word, strings.ToLower(v)) })
}

// glob is matches, written as a recursion.
func glob(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return glob(pattern[1:], text) || text != "" && glob(pattern, text[1:])
	}
	return text != "" && pattern[0] == text[0] && glob(pattern[1:], text[1:])
}

// orders are some, and what each compares.
var orders = map[string]func(a, b Asset) int{
	"host":       func(a, b Asset) int { return strings.Compare(a.Host, b.Host) },
	"port":       func(a, b Asset) int { return a.Port - b.Port },
	"title":      func(a, b Asset) int { return strings.Compare(a.Title, b.Title) },
	"last_seen":  func(a, b Asset) int { return a.SeenAt.Compare(b.SeenAt) },
	"updated_at": func(a, b Asset) int { return a.UpdatedAt.Compare(b.UpdatedAt) },
	"created_at": func(a, b Asset) int { return cmp.Compare(a.ID, b.ID) },
}

// plainly is a list as plain Go makes it of all assets.
func plainly(all []Asset, holds func(Asset) bool, sorts []page.Sort) []Asset {
	out := slices.DeleteFunc(slices.Clone(all), func(a Asset) bool { return !holds(a) })
	slices.SortFunc(out, func(a, b Asset) int {
		for _, s := range sorts {
			c := orders[s.Column](a, b)
			if s.Desc {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return cmp.Compare(b.ID, a.ID)
	})
	return out
}

// TestLists holds every filter and order against plain Go, while runs see assets, and
// people label them: as it is, from two processes at once, and as of any moment before.
func TestLists(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		other := &room{Assets: New(d, nil, nil), alice: r.alice, team: r.team, clock: r.clock}
		other.now = r.now
		run := int64(0)
		rapid.Check(t, func(t *rapid.T) {
			r.tx(t, func(tx *db.Tx) error { return r.DeleteEnumerations(t.Context(), tx, r.team, []string{"e", "f"}) })
			for _, id := range []string{"e", "f"} { // which are enrolled again: nothing of them may be left
				if err := r.Purge(t.Context(), r.team, id); err != nil {
					t.Fatal(err)
				}
			}
			r.enroll(t, "e", "f")
			type moment struct {
				at  time.Time
				all []Asset
			}
			var moments []moment
			for range rapid.IntRange(1, 5).Draw(t, "steps") {
				r.clock = r.clock.Add(time.Hour)
				switch rapid.IntRange(0, 4).Draw(t, "step") {
				case 0:
					if _, _, err := r.LabelAll(r.alice, Filters{Host: "*.example.com"},
						rapid.SampledFrom([]label.Mode{label.Append, label.Replace, label.Delete}).Draw(t, "mode"),
						[]string{"api", "mine"}); err != nil {
						t.Fatal(err)
					}
				default:
					run++
					e := rapid.SampledFrom([]string{"e", "f"}).Draw(t, "of")
					r.observe(t, e, run, rapid.SliceOfN(rapid.Custom(drawn), 0, 12).Draw(t, "seen")...)
					r.end(t, e, run, rapid.Bool().Draw(t, "covered"))
				}
				moments = append(moments, moment{r.clock, r.list(t, Query{}).Assets})
			}
			for i, m := range moments {
				q, holds := drawnFilters(t, r.clock)
				var sorts []page.Sort
				for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"host", "port", "title", "updated_at",
					"created_at"}), 0, 2, rapid.ID[string]).Draw(t, "sorts") {
					sorts = append(sorts, page.Sort{Column: name, Desc: rapid.Bool().Draw(t, "desc")})
				}
				w := page.Window{Offset: rapid.IntRange(0, 5).Draw(t, "offset"), Limit: rapid.IntRange(1, 10).Draw(t, "limit")}
				want := plainly(m.all, holds, sorts)
				total := len(want)
				want = want[min(w.Offset, total):min(w.Offset+w.Limit, total)]
				query := Query{Filter: r.filter(t, q), Sorts: sorts, Window: w, AsOf: m.at}
				if i == len(moments)-1 && sorts == nil {
					r.policiesAgree(t, query.Filter, plainly(m.all, holds, nil))
				}
				for _, from := range []*room{r, other} {
					if i == len(moments)-1 {
						query.AsOf = time.Time{}
					}
					p := from.list(t, query)
					if p.Total != total || inBrief(p.Assets) != inBrief(want) {
						t.Fatalf("%s by %v, %+v, as of %v: %d of\n%s\nwant %d of\n%s", asJSON(t, q), sorts, w, query.AsOf, p.Total,
							inBrief(p.Assets), total, inBrief(want))
					}
				}
			}
		})
	})
}

// policiesAgree holds what a filter means to policies, which see one row at a time, against what
// lists show.
func (r *room) policiesAgree(t rapid.TB, f Filter, want []Asset) {
	t.Helper()
	runs, err := r.runs(r.alice, r.team, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := r.db.Query(r.alice, `SELECT `+rowColumns+` FROM asset WHERE team_id = ? ORDER BY no DESC`, r.team)
	all, err := db.Collect(rows, err, func(from db.Row) (one row, err error) { return one, from.Scan(one.dest()...) })
	if err != nil {
		t.Fatal(err)
	}
	filter := meaning{runs: runs, rows: true}.of(f)
	var got, numbers []int64
	for _, one := range all {
		if one.withColumns().Meets(filter) {
			got = append(got, one.no)
		}
	}
	for _, a := range want {
		numbers = append(numbers, a.no)
	}
	if !slices.Equal(got, numbers) {
		t.Fatalf("a policy would act on %v, and the list shows %v", got, numbers)
	}
}

// inBrief is what of assets was so at a moment; who saw them since is not.
func inBrief(assets []Asset) string {
	var b strings.Builder
	for _, a := range assets {
		fmt.Fprintln(&b, a.ID, a.EnumerationID, a.Host, a.Port, a.Title, a.Technologies, a.IP, a.Labels, a.IsNew, a.IsMissing,
			a.UpdatedAt)
	}
	return b.String()
}

// TestPagesDoNotShift reads lists while assets arrive, change and are deleted. What was
// there all the time is seen once; what arrived is not seen, and nothing is seen twice.
func TestPagesDoNotShift(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		rapid.Check(t, func(t *rapid.T) {
			e := fmt.Sprint("e", r.clock.UnixNano())
			r.clock = r.clock.Add(time.Hour)
			r.enroll(t, e)
			made := 0
			arrive := func(n int) {
				for range n {
					r.observe(t, e, 1, discover.Asset{Host: fmt.Sprintf("h%d.example.com", made*7%100), Port: made + 1})
					made++
				}
			}
			arrive(rapid.IntRange(0, 20).Draw(t, "assets"))
			f := Filter{Enumerations: []string{e}}
			first := r.list(t, Query{Filter: f})
			alive, gone := slices.Clone(first.Assets), map[int64]bool{}
			write := func(deletes bool) {
				arrive(rapid.IntRange(0, 2).Draw(t, "arrive"))
				if len(alive) == 0 {
					return
				}
				i := rapid.IntRange(0, len(alive)-1).Draw(t, "which")
				if !deletes {
					if err := r.SetLabels(r.alice, alive[i].ID, label.Append, []string{strconv.Itoa(made)}); err != nil {
						t.Fatal(err)
					}
					return
				}
				r.tx(t, func(tx *db.Tx) error {
					_, _, rev, err := r.reserve(t.Context(), tx, r.team, 0)
					if err != nil {
						return err
					}
					return r.remove(t.Context(), tx, r.team, []int64{alive[i].no}, rev)
				})
				gone[alive[i].ID] = true
				alive = slices.Delete(alive, i, i+1)
			}
			limit := rapid.IntRange(1, 7).Draw(t, "limit")
			times := map[int64]int{}
			sorts := rapid.SampledFrom([][]page.Sort{nil, {{Column: "host"}}, {{Column: "port", Desc: true}}}).Draw(t, "sorts")
			if sorts == nil { // behind the last of the page before
				for next := first.End; next > 0; {
					f.Before = next
					p := r.list(t, Query{Filter: f, Window: page.Window{Limit: limit}})
					for _, a := range p.Assets {
						times[a.ID]++
					}
					next = p.Next
					write(true)
				}
			} else { // by offset, without what arrives
				f.Before = first.End
				for offset := 0; offset < first.Total; offset += limit {
					p := r.list(t, Query{Filter: f, Sorts: sorts, Window: page.Window{Offset: offset, Limit: limit}})
					if p.Total != first.Total {
						t.Fatalf("the total was %d and is %d", first.Total, p.Total)
					}
					for _, a := range p.Assets {
						times[a.ID]++
					}
					write(false)
				}
			}
			for _, a := range first.Assets {
				if n := times[a.ID]; n > 1 || n == 0 && !gone[a.ID] {
					t.Fatalf("%d is seen %d times", a.ID, n)
				}
				delete(times, a.ID)
			}
			if len(times) > 0 {
				t.Fatalf("what arrived later is seen: %v", times)
			}
		})
	})
}
