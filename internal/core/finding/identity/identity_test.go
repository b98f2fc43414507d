package identity

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// The hashes of rows of years ago must be those of sightings of today: never change these.
func TestHashesStay(t *testing.T) {
	for want, p := range map[string]Parts{
		"95339b9be5714ca4ff228fa3d4c7ac19": Of(engine.Event{TemplateID: "git-config", MatchedAt: "https://Shop.example./.git/config",
			Host: "shop.example"}, ""),
		"a1ce7e30371bdba58febf8979662e3f2": Of(engine.Event{TemplateID: "xss", MatcherName: "m", ExtractorName: "e",
			MatchedAt: "http://127.0.0.1:8080/a/?q=%3Cx%3E&a=1", Host: "127.0.0.1", Port: "8080", IP: "127.0.0.1",
			Fuzzed: true, FuzzingPosition: "query", FuzzingParameter: "q"}, ""),
		"6ab3fce5643c4f6948c8e552235da9b6": {Check: "trivy:CVE-2024-1", Subject: "pkg:npm/left-pad in image shop"},
	} {
		if got := p.Hash(); got != want {
			t.Errorf("%+v: %s, want %s", p, got, want)
		}
	}
}

func at(check, url, ip string) Parts {
	return Of(engine.Event{TemplateID: check, MatchedAt: url, IP: ip}, "")
}

func with(p Parts, position, parameter string, cwes ...string) Parts {
	p.Position, p.Parameter, p.CWEs = position, parameter, cwes
	return p
}

func cve(p Parts, cves ...string) Parts {
	p.CVEs = cves
	return p
}

func TestSameAndApart(t *testing.T) {
	sqli := with(at("sqli", "http://shop.example/item?id=1", ""), "query", "id", "CWE-89")
	for _, test := range []struct {
		name string
		seen []Parts
		want []int // the index of the sighting whose weakness each belongs to
		by   Rule  // of the last
	}{
		{"values of a query", []Parts{at("a", "http://h/p?x=1", ""), at("a", "http://h/p?x=2", "")}, []int{0, 0}, Seen},
		{"names of a query", []Parts{at("a", "http://h/p?x=1", ""), at("a", "http://h/p?y=1", "")}, []int{0, 1}, Seen},
		{"scheme", []Parts{at("a", "http://h/p", ""), at("a", "https://h/p", "")}, []int{0, 1}, Seen},
		{"a written default port", []Parts{at("a", "https://h/p", ""), at("a", "https://H.:443/p/", "")}, []int{0, 0}, Seen},
		{"parameters of one page", []Parts{sqli, with(sqli, "query", "name", "CWE-89")}, []int{0, 1}, Seen},
		{"two tools, one class", []Parts{sqli, with(at("zap:40018", "http://shop.example/item?id=9", ""), "query", "id", "cwe-89")},
			[]int{0, 0}, Class},
		{"two classes", []Parts{sqli, with(sqli, "query", "id", "CWE-79")}, []int{0, 0}, Seen}, // the same check
		{"two classes of two checks", []Parts{sqli, with(at("xss", "http://shop.example/item?id=9", ""), "query", "id", "CWE-79")},
			[]int{0, 1}, Seen},
		{"a CWE alone", []Parts{{Check: "a", Host: "h", Port: 80, CWEs: []string{"CWE-89"}},
			{Check: "b", Host: "h", Port: 80, CWEs: []string{"CWE-89"}}}, []int{0, 1}, Seen},
		{"two tools, one CVE", []Parts{cve(at("CVE-2021-1", "https://h/cgi-bin/x", ""), "cve-2021-1"),
			cve(Parts{Check: "nessus:7", Host: "h", Port: 443}, "CVE-2021-1")}, []int{0, 0}, CVE},
		{"a CVE at two ports", []Parts{cve(at("CVE-2021-1", "https://h/x", ""), "cve-2021-1"),
			cve(Parts{Check: "nessus:7", Host: "h", Port: 8443}, "CVE-2021-1")}, []int{0, 1}, Seen},
		{"a plugin of many CVEs", []Parts{cve(at("CVE-2021-1", "https://h/x", ""), "cve-2021-1"),
			cve(Parts{Check: "nessus:7", Host: "h", Port: 443}, "CVE-2021-1", "CVE-2021-2")}, []int{0, 1}, Seen},
		{"a package", []Parts{cve(Parts{Check: "trivy:CVE-1", Subject: "pkg:npm/a in image x"}, "CVE-1"),
			cve(Parts{Check: "grype:GHSA-1", Subject: "pkg:npm/a in image x"}, "CVE-1"),
			cve(Parts{Check: "grype:GHSA-1", Subject: "pkg:npm/a in image y"}, "CVE-1")}, []int{0, 0, 2}, Seen},
		{"pages of products", []Parts{with(at("x", "http://h/product/1?q=1", ""), "query", "q"),
			with(at("x", "http://h/product/2?q=1", ""), "query", "q"),
			with(at("x", "http://h/product/0f8fad5b-d9cb-469f-a165-70867728950e?q=1", ""), "query", "q")}, []int{0, 0, 0}, Route},
		{"pages of other kinds", []Parts{with(at("x", "http://h/product/1?q=1", ""), "query", "q"),
			with(at("x", "http://h/customer/1?q=1", ""), "query", "q")}, []int{0, 1}, Seen},
		{"files with numbers, without a parameter", []Parts{at("x", "http://h/backup/2023", ""), at("x", "http://h/backup/2024", "")},
			[]int{0, 1}, Seen},
		{"a name after its address", []Parts{at("a", "http://192.0.2.1/p", "192.0.2.1"), at("a", "http://shop.example/p", "192.0.2.1")},
			[]int{0, 0}, Address},
		{"an address after its name", []Parts{at("a", "http://localhost:8080/p", "127.0.0.1"), at("a", "http://127.0.0.1:8080/p", "127.0.0.1")},
			[]int{0, 0}, Address},
		{"two names of an address", []Parts{at("a", "http://a.example/p", "192.0.2.1"), at("a", "http://b.example/p", "192.0.2.1"),
			at("a", "http://192.0.2.1/p", "192.0.2.1")}, []int{0, 1, 2}, Seen},
		{"another name of an address that has one", []Parts{at("a", "http://192.0.2.1/p", "192.0.2.1"), at("a", "http://a.example/p", "192.0.2.1"),
			at("a", "http://b.example/p", "192.0.2.1")}, []int{0, 0, 2}, Seen},
	} {
		t.Run(test.name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				team := newTeam(t, d)
				for i, p := range test.seen { // one by one, as scans find them
					got := resolve(t, d, team, p)[0]
					if want := test.seen[test.want[i]].Hash(); got != want {
						t.Errorf("sighting %d belongs to %s, want %s (that of %d)", i, got, want, test.want[i])
					}
				}
				last := test.seen[len(test.seen)-1]
				links, err := find(t.Context(), d, team, "hash", []string{last.Hash()})
				if test.by == Seen && len(links) != 0 || test.by != Seen && (len(links) != 1 || links[0].Rule != test.by) {
					t.Errorf("linked by %+v, %v; want %s", links, err, test.by)
				}
				together := newTeam(t, d)
				for i, got := range resolve(t, d, together, test.seen...) { // all at once, as imports do
					if want := test.seen[test.want[i]].Hash(); got != want {
						t.Errorf("at once: sighting %d belongs to %s, want %s", i, got, want)
					}
				}
			})
		})
	}
}

func newTeam(t testing.TB, d *db.DB) string {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: ids.New() + "@example.com", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	return u.TeamID
}

func resolve(t rapid.TB, d *db.DB, team string, parts ...Parts) (weaknesses []string) {
	t.Helper()
	seen := make([]Sighting, len(parts))
	for i, p := range parts {
		seen[i] = Sighting{Hash: p.Hash(), Parts: p}
	}
	err := d.Tx(context.Background(), func(tx *db.Tx) (err error) {
		weaknesses, _, err = Resolve(context.Background(), tx, team, someTime, seen)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return weaknesses
}

// What people join or split stays so, whatever is seen and said later; each hash has one weakness, and is among its
// hashes.
func TestPeopleWin(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rapid.Check(t, func(rt *rapid.T) {
			team := newTeam(t, d)
			model := map[string]string{} // hash: weakness
			for range rapid.IntRange(1, 15).Draw(rt, "steps") {
				var hashes []string
				for h := range model {
					hashes = append(hashes, h)
				}
				slices.Sort(hashes)
				switch op := rapid.SampledFrom([]string{"see", "join", "split"}).Draw(rt, "op"); {
				case op == "see" || len(hashes) == 0:
					n := rapid.IntRange(0, 4).Draw(rt, "host")
					p := cve(at(fmt.Sprint("c", rapid.IntRange(0, 2).Draw(rt, "check")), fmt.Sprintf("http://h%d/", n), ""), "CVE-1")
					got := resolve(rt, d, team, p)[0]
					if known, is := model[p.Hash()]; is && got != known {
						rt.Fatalf("%s moved from %s to %s", p.Hash(), known, got)
					}
					model[p.Hash()] = got
				case op == "join":
					into, other := model[rapid.SampledFrom(hashes).Draw(rt, "into")], model[rapid.SampledFrom(hashes).Draw(rt, "other")]
					if into == other {
						continue
					}
					change(rt, d, func(tx *db.Tx) error {
						return Join(context.Background(), tx, team, ids.New(), "ada", someTime, into, []string{other})
					})
					for h, w := range model {
						if w == other {
							model[h] = into
						}
					}
				default:
					hash := rapid.SampledFrom(hashes).Draw(rt, "split")
					change(rt, d, func(tx *db.Tx) error {
						rest, own, err := Separate(context.Background(), tx, team, ids.New(), "ada", someTime, hash)
						for h, w := range model {
							if before := model[hash]; w == before && h != hash {
								model[h] = rest
							}
						}
						model[hash] = own
						return err
					})
				}
				checkLinks(rt, d, team, model)
			}
		})
	})
}

func change(t rapid.TB, d *db.DB, do func(tx *db.Tx) error) {
	if err := d.Tx(context.Background(), do); err != nil {
		t.Fatal(err)
	}
}

func checkLinks(t rapid.TB, d *db.DB, team string, model map[string]string) {
	for hash, want := range model {
		of, err := Weaknesses(context.Background(), d, team, []string{hash})
		if err != nil || of[hash] != want {
			t.Fatalf("%s belongs to %s, %v; want %s", hash, of[hash], err, want)
		}
		all, err := Hashes(context.Background(), d, team, []string{want})
		if err != nil || !slices.Contains(all[want], hash) {
			t.Fatalf("%s is not among %v, %v", hash, all, err)
		}
	}
}

var someTime = db.At(time.Unix(1_700_000_000, 0))
