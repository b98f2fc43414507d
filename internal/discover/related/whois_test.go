package related

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/vedette-sec/vedette/internal/infra/whois"
)

// TestWhoisFormats reads answers in the formats of many registries: testdata/whois.
func TestWhoisFormats(t *testing.T) {
	files, err := filepath.Glob("testdata/whois/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Org, Registrar, Created, Updated, Expires, Servers, Referral, Mail string
				Veiled                                                             bool
			}
			if err := json.Unmarshal(a.Files[1].Data, &want); err != nil {
				t.Fatal(err)
			}
			record := readWhois(strings.ReplaceAll(string(a.Files[0].Data), "\n", "\r\n"))
			r := record.registration("acme.example")
			for _, c := range []struct{ what, got, want string }{
				{"org", r.org, want.Org}, {"registrar", r.registrar, want.Registrar}, {"created", day(r.created), want.Created},
				{"updated", day(r.updated), want.Updated},
				{"expires", day(r.expires), want.Expires}, {"servers", strings.Join(r.nameServers, " "), want.Servers},
				{"referral", record.referral(), want.Referral},
				{"mail", strings.Join(r.mail, " "), want.Mail},
			} {
				if c.got != c.want {
					t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
				}
			}
			if err := record.refusal(); err != nil {
				t.Error(err)
			}
			if r.known() != (want.Registrar != "" || want.Servers != "") {
				t.Errorf("known: %v", r.known())
			}
			if want.Veiled && isOwner(r.org) {
				t.Errorf("%q is an owner", r.org)
			}
		})
	}
}

func TestDates(t *testing.T) {
	for _, s := range []string{
		"2021-03-04", "2021-03-04T05:06:07Z", "2021-03-04T05:06:07.891Z", "2021-03-04T05:06:07+0000", "2021-03-04 05:06:07",
		"2021-03-04 05:06:07 UTC", "2021-03-04 05:06:07+00", "04-Mar-2021", "2021.03.04",
		"2021/03/04", "04.03.2021", "4.3.2021 05:06:07", "2021. 03. 04.", "20210304", "20210304 #123", "March 4 2021",
		"March 4, 2021", "Thu Mar 4 05:06:07 UTC 2021", "Thu Mar  4 2021", "2021/03/04 05:06:07 (JST)", "4 March 2021",
	} {
		if got := day(date(s)); got != "2021-03-04" {
			t.Errorf("%q is %q", s, got)
		}
	}
	for _, s := range []string{"", " ", "before Aug-1996", "0000-00-00", "9999-99-99", "99999999",
		strings.Repeat("2", 100), "not 2021", "-"} {
		if got := date(s); !got.IsZero() {
			t.Errorf("%q is %s", s, got)
		}
	}
}

func FuzzWhois(f *testing.F) {
	files, _ := filepath.Glob("testdata/whois/*.txtar")
	for _, file := range files {
		if a, err := txtar.ParseFile(file); err == nil {
			f.Add(string(a.Files[0].Data))
		}
	}
	f.Add("a:b\n\tc\n[d]e\n::\n[\n]\n: :\nrefer: whois://x:1/y\n")
	f.Fuzz(func(t *testing.T, text string) {
		record := readWhois(whois.Text([]byte(text)))
		_ = record.refusal()
		r := record.registration("acme.com")
		if len(r.nameServers) > maxNameServers || len(r.mail) > maxNameServers || len(r.org) > maxText+10 {
			t.Errorf("%d name servers, %d mail domains, %d bytes", len(r.nameServers), len(r.mail), len(r.org))
		}
		if to := record.referral(); to != "" && !whoisHost.MatchString(to) {
			t.Errorf("a referral to %q", to)
		}
		_ = r.relates(r)
	})
}

func FuzzCRTSh(f *testing.F) {
	f.Add(`[{"issuer_name":"C=US, O=\"A, B\", CN=R1","common_name":"*.acme.com","name_value":"a.com\nb@c.com\n*.d.com","id":1,"not_before":"2026-01-01T00:00:00","serial_number":"0"}]`)
	f.Add(`[{"name_value":"acme.com\nxn--zz\n\u202e.com\n..\n*.*.com"},[],{}`)
	f.Add(`{}`)
	f.Add(``)
	f.Fuzz(func(t *testing.T, text string) {
		certs, err := readCRTSh(strings.NewReader(text))
		if len(certs) == 0 && err == nil && strings.Contains(text, "common_name") && json.Valid([]byte(text)) &&
			strings.HasPrefix(text, `[{"common_name":"a`) {
			t.Error("an entry is lost")
		}
		for _, a := range relatedBy(certs, "acme.com", "") {
			if a.Domain == "" || strings.ContainsAny(a.Domain, " \n@/*\x00") || a.Domain != strings.ToLower(a.Domain) {
				t.Errorf("%q is related", a.Domain)
			}
		}
		_ = eachOf(strings.NewReader(text), func(i issuance) { _ = i.certificate() })
		var rows []binding
		_ = decode(strings.NewReader(text), &rows)
		_ = companiesOf(rows)
	})
}

// BenchmarkCRTSh reads and relates an answer of 20,000 certificates (4.6 MB).
func BenchmarkCRTSh(b *testing.B) {
	entry := `{"issuer_ca_id":1,"issuer_name":"C=US, O=Let's Encrypt, CN=R3","common_name":"www.acme.com","name_value":"acme.com\nwww.acme.com\nacme-shop.com","id":1,"entry_timestamp":"2026-01-01T00:00:00","not_before":"2026-01-01T00:00:00","not_after":"2026-04-01T00:00:00","serial_number":"0"}`
	text := "[" + strings.Repeat(entry+",", 19_999) + entry + "]"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		certs, err := readCRTSh(strings.NewReader(text))
		if err != nil || len(relatedBy(certs, "acme.com", "")) != 2 {
			b.Fatal(len(certs), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(time.Millisecond)/float64(b.N), "ms/answer")
}
