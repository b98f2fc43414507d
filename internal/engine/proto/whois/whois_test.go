package whois

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// run asks about lab.test with a server of RDAP, and a registry of WHOIS behind the dial for helpers.
func run(t *testing.T, server string, helper func(ctx context.Context, network, addr string) (net.Conn, error)) (*proto.Reply, error) {
	t.Helper()
	p, err := Compile("t.yaml", &syntax.Whois{Query: "{{Host}}", Server: server})
	if err != nil {
		t.Fatal(err)
	}
	env := &proto.Env{
		Target: rawurl.URL{Host: "lab.test"}, Timeout: time.Minute, Dial: (&net.Dialer{}).DialContext, DialHelper: helper,
		Begin: func(context.Context, string) (func(), error) { return func() {}, nil },
		Vars:  func(at rawurl.URL) *dsl.Env { return &dsl.Env{Vars: dsl.Map(at.Variables(false))} },
	}
	var reply *proto.Reply
	err = p.Run(t.Context(), env, func(r *proto.Reply) bool { reply = r; return true })
	return reply, err
}

func TestRDAP(t *testing.T) {
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/domain/lab.test" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/rdap+json")
		_, _ = io.WriteString(w, `{"objectClassName":"domain","ldhName":"LAB.TEST","status":["active"],
			"events":[{"eventAction":"expiration","eventDate":"2030-01-01T00:00:00Z"}]}`)
	}))
	defer registry.Close()
	reply, err := run(t, registry.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := reply.Fields["domain name"]; got != "LAB.TEST" {
		t.Errorf("%q of %v", got, reply.Fields)
	}
	if !strings.Contains(reply.Response, "2030-01-01") || reply.Host != "lab.test" {
		t.Errorf("%+v", reply)
	}
}

// Without RDAP the registry of WHOIS servers is asked, and the server that it names.
func TestWHOIS(t *testing.T) {
	answers := map[string]string{
		"whois.iana.org:43": "% IANA\nrefer:        whois.lab.test\ndomain:       TEST\n",
		"whois.lab.test:43": "Domain Name: LAB.TEST\nName Server: A\nName Server: B\n# a remark: none\n",
	}
	reply, err := run(t, "", func(_ context.Context, _, addr string) (net.Conn, error) {
		text, ok := answers[addr]
		if !ok {
			return nil, io.ErrUnexpectedEOF
		}
		ours, theirs := net.Pipe()
		go func() {
			b := make([]byte, 100)
			n, _ := theirs.Read(b)
			_, _ = io.WriteString(theirs, text+"query: "+string(b[:n]))
			_ = theirs.Close()
		}()
		return ours, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if f := reply.Fields; f["domain name"] != "LAB.TEST" || f["name server"] != "A,B" || f["query"] != "lab.test" {
		t.Errorf("%v", reply.Fields)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("refer: a\nx\n%y: z\n: \n")
	f.Fuzz(func(t *testing.T, text string) {
		for name, value := range read(text) {
			if name == "" || value == "" {
				t.Errorf("%q is %q", name, value)
			}
		}
	})
}

// An answer of a quarter of a million lines of one name takes memory in proportion to its length.
func TestManyLines(t *testing.T) {
	text := strings.Repeat("a:b\n", maxAnswer/4)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fields := read(text)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; len(fields["a"]) != maxAnswer/2-1 || took > 64*maxAnswer {
		t.Errorf("%d bytes for %d of a field", took, len(fields["a"]))
	}
}

// Registries that refer to each other are asked three times in all, and an answer without end is refused.
func TestHostileRegistries(t *testing.T) {
	for answer, want := range map[string]int{"refer: whois.a.test\nrefer: ": 3, "": 1} {
		asked := 0
		_, err := run(t, "", func(_ context.Context, _, addr string) (net.Conn, error) {
			if !strings.HasSuffix(addr, ":43") {
				return nil, io.ErrUnexpectedEOF // no RDAP
			}
			asked++
			text := answer
			if text != "" {
				text = map[string]string{"whois.a.test:43": "refer: whois.b.test\n"}[addr] + "x: y\n"
				if addr != "whois.a.test:43" {
					text = "refer: whois.a.test\n"
				}
			}
			ours, theirs := net.Pipe()
			go func() {
				_, _ = theirs.Read(make([]byte, 100))
				for _, err := io.WriteString(theirs, text); err == nil && answer == ""; {
					_, err = io.WriteString(theirs, strings.Repeat("name: value\n", 1000))
				}
				_ = theirs.Close()
			}()
			return ours, nil
		})
		if asked != want || (err == nil) != (answer != "") {
			t.Errorf("%q: asked %d times: %v", answer, asked, err)
		}
	}
}

// An answer of RDAP with a hundred thousand empty objects would become many times its length in memory.
func TestManyParts(t *testing.T) {
	for n, want := range map[int]bool{1000: true, 100_000: false} {
		registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/rdap+json")
			_, _ = io.WriteString(w, `{"objectClassName":"domain","ldhName":"LAB.TEST","entities":[`+strings.Repeat("{},", n)+`{}]}`)
		}))
		if _, err := run(t, registry.URL, nil); (err == nil) != want || err != nil && !strings.Contains(err.Error(), "parts") {
			t.Errorf("%d: %v", n, err)
		}
		registry.Close()
	}
}
