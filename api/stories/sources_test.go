package stories

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// sources speaks as the sources of associated domains do: they know acme.com.
func sources() http.Handler {
	mux := http.NewServeMux()
	say := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
	}
	mux.HandleFunc("/crtsh", func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query().Get("q"); q == "many.com" {
			var certificates []string
			for i := 1; i <= 12; i++ {
				certificates = append(certificates, fmt.Sprintf(`{"issuer_ca_id":1,"issuer_name":"C=US, O=Example CA, CN=R1","common_name":"many.com","name_value":"many.com\nwww.d%d-many.com","id":%[1]d,"entry_timestamp":"2026-01-01T00:00:00.1","not_before":"2026-01-01T00:00:00","not_after":"2026-04-01T00:00:00","serial_number":"0b%[1]d","result_count":2}`, i))
			}
			_, _ = io.WriteString(w, "["+strings.Join(certificates, ",")+"]")
			return
		} else if q != "acme.com" {
			_, _ = io.WriteString(w, "[]")
			return
		}
		_, _ = io.WriteString(w, `[{"issuer_ca_id":1,"issuer_name":"C=US, O=Example CA, CN=R1","common_name":"acme.com","name_value":"*.acme.com\nacme.com\nops@acme.com\nwww.acme-shop.com\npay.acme-shop.com\nacme-robots.de","id":1,"entry_timestamp":"2026-01-01T00:00:00.1","not_before":"2026-01-01T00:00:00","not_after":"2026-04-01T00:00:00","serial_number":"0a1b","result_count":4}]`)
	})
	mux.HandleFunc("/certspotter", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	mux.HandleFunc("/rdap/domain/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if name != "acme.com" && name != "acme.net" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":%q,"events":[{"eventAction":"registration","eventDate":"1999-04-01T00:00:00Z"},{"eventAction":"last changed","eventDate":"2026-02-03T04:05:06Z"}],"nameservers":[{"objectClassName":"nameserver","ldhName":"ns1.dns.example"}],
"entities":[{"objectClassName":"entity","roles":["registrar"],"vcardArray":["vcard",[["version",{},"text","4.0"],["fn",{},"text","Big Registrar"]]]},{"objectClassName":"entity","roles":["registrant"],"vcardArray":["vcard",[["version",{},"text","4.0"],["org",{},"text","Acme Corporation"]]]}]}`, name)
	})
	mux.HandleFunc("/wikidata", say(`{"head":{"vars":[]},"results":{"bindings":[{"company":{"value":"http://www.wikidata.org/entity/Q1"},"companyLabel":{"value":"Acme"},"other":{"value":"http://www.wikidata.org/entity/Q2"},"otherLabel":{"value":"Acme Robots"},"website":{"value":"https://www.acme-robots.de/"},"down":{"value":"true"},"kind":{"value":"subsidiary"},"start":{"value":"2015-03-01T00:00:00Z"}}]}}`))
	return mux
}

// startRegistry serves routes over WHOIS on loopback until the test ends, as registries of
// routes do, and gives its address. AS64500 is said to announce that address, private
// networks, and more than anybody can look at.
func startRegistry(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(patience))
				question, _ := bufio.NewReader(conn).ReadString('\n')
				answer := "%  No entries found for the selected source(s).\r\n"
				if question == "-K -i origin AS64500\r\n" {
					answer = "route:      127.0.0.1/32\r\norigin:     AS64500\r\n\r\nroute:      10.20.0.0/24\norigin:     AS64500\n\nroute6:     2a00::/32\norigin:     AS64500\n\nroute:      127.0.0.9/32\norigin:     AS64501\n\n"
				}
				_, _ = io.WriteString(conn, answer)
			}()
		}
	}()
	return l.Addr().String()
}

// records is a name server that knows the TXT records which a story has set.
type records struct {
	mu  sync.Mutex
	txt map[string][]string // by name with its final dot
}

// startRecords serves records on loopback until the test ends, and gives its address.
func startRecords(t *testing.T) (*records, string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &records{txt: map[string][]string{}}
	server := &dns.Server{PacketConn: conn, Handler: r}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return r, conn.LocalAddr().String()
}

func (r *records) set(name, lines string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.txt[name+"."] = strings.Split(strings.TrimSpace(lines), "\n")
}

// ServeDNS implements dns.Handler.
func (r *records) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := new(dns.Msg).SetReply(q)
	about := q.Question[0]
	values, known := r.txt[about.Name]
	if !known {
		m.Rcode = dns.RcodeNameError
	}
	for _, value := range values {
		if about.Qtype == dns.TypeTXT {
			m.Answer = append(m.Answer, &dns.TXT{Hdr: dns.RR_Header{Name: about.Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET},
				Txt: []string{value}})
		}
	}
	_ = w.WriteMsg(m)
}
