package e2e

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

type enumerationDoc struct {
	Status    string
	Assets    int `json:"total_assets"`
	Targets   int `json:"total_targets"`
	Processed int `json:"total_targets_processed"`
}

// enumerate creates an enumeration.
func (c caller) enumerate(request map[string]any) (id string) {
	c.t.Helper()
	var made struct{ ID string }
	c.call("POST", "/v1/asset/enumerate", request, &made)
	return made.ID
}

func (c caller) enumeration(id string) enumerationDoc {
	c.t.Helper()
	var doc struct{ Data enumerationDoc }
	c.call("GET", "/v1/asset/enumerate/"+id, nil, &doc)
	return doc.Data
}

func (c caller) enumerationEnds(id string, within time.Duration) (e enumerationDoc) {
	c.t.Helper()
	until(c.t, within, "the enumeration ends", func() bool {
		e = c.enumeration(id)
		return e.Status != "queued" && e.Status != "starting" && e.Status != "running"
	})
	return e
}

// assetDoc is an asset as the API shows it.
type assetDoc map[string]any

// field is a field as text; a dot selects an inner field.
func (a assetDoc) field(path string) string {
	var at any = map[string]any(a)
	for name := range strings.SplitSeq(path, ".") {
		inner, ok := at.(map[string]any)
		if !ok {
			return ""
		}
		at = inner[name]
	}
	if at == nil {
		return ""
	}
	return fmt.Sprint(at)
}

// inventory is the assets of an enumeration by host and port; a duplicate fails the test.
func (c caller) inventory(id string) map[string]assetDoc {
	c.t.Helper()
	out := map[string]assetDoc{}
	for offset := 0; ; offset += 1000 {
		var list struct{ Data []assetDoc }
		c.call("GET", fmt.Sprintf("/v1/asset/enumerate/%s/contents?limit=1000&offset=%d", id, offset), nil, &list)
		for _, a := range list.Data {
			place := a.field("host")
			if port := a.field("port"); port != "" {
				place = net.JoinHostPort(place, port)
			}
			if _, twice := out[place]; twice {
				c.t.Errorf("%s is listed twice", place)
			}
			out[place] = a
		}
		if len(list.Data) < 1000 {
			return out
		}
	}
}

// compare checks an inventory against the lab's expected assets: all of them and no others, with
// the expected fields.
func (s *labNetwork) compare(t *testing.T, inventory map[string]assetDoc) {
	t.Helper()
	truth := s.truth()
	wrong := 0
	fail := func(format string, args ...any) {
		if wrong++; wrong <= 20 {
			t.Errorf(format, args...)
		}
	}
	for place, seen := range truth {
		a, found := inventory[place]
		if !found {
			fail("%s is not found", place)
			continue
		}
		for field, want := range seen {
			if got := a.field(field); !regexp.MustCompile(`^(?s:` + want + `)$`).MatchString(got) {
				fail("%s: %s is %.200q, and not %s", place, field, got, want)
			}
		}
		for _, field := range []string{"id", "asset_hash", "enumeration_id", "enumeration_name", "name", "created_at",
			"updated_at", "type", "source", "source_type", "extended_metadata.last_seen"} {
			if a.field(field) == "" {
				fail("%s has no %s", place, field)
			}
		}
	}
	for place, a := range inventory {
		if _, is := truth[place]; !is && (a.field("port") != "" || !s.zone.Inner(place)) {
			fail("%s does not exist: %v", place, a)
		}
	}
	if wrong > 20 {
		t.Errorf("and %d more", wrong-20)
	}
}

// TestEnumerationFindsTheLab: one enumeration finds every asset of the lab with all its fields,
// and no others, although it is killed at several steps. Denied and excluded addresses are not
// dialled, even if a CNAME or a redirect leads there, and each refusal is an event.
//
// With VEDETTE_KILL_EVERYWHERE it is killed at each step on each database, and takes
// screenshots too: in two enumerations, because a chunk is given up after six crashes, and one
// after the other, because browsers need much CPU.
func TestEnumerationFindsTheLab(t *testing.T) {
	killed := map[string][][]string{
		"sqlite":   {{"dns_permute", "port_scan", "tls_scan"}},
		"postgres": {{"dns_bruteforce", "dns_resolve", "http_probe", "endpoint_crawling"}},
	}
	steps := steps
	everywhere := os.Getenv("VEDETTE_KILL_EVERYWHERE") != ""
	if everywhere {
		steps = append(slices.Clone(steps), "http_screenshot")
		for engine := range killed {
			killed[engine] = [][]string{steps[:4], steps[4:]}
		}
	}
	t.Parallel()
	for engine, runs := range killed {
		for _, killed := range runs {
			t.Run(engine+"/"+killed[0], func(t *testing.T) {
				if !everywhere {
					t.Parallel()
				}
				enumerateLab(t, newDeployment(t, engine), steps, killed)
			})
		}
	}
}

// enumerateLab runs an enumeration that is killed at some steps.
func enumerateLab(t *testing.T, dep deployment, steps, killed []string) {
	s := newLabNetwork(t, killed...)
	dep.env = append(dep.env, "SSL_CERT_FILE="+s.roots)
	serve := func() server {
		return dep.serve("--resolvers", s.resolver, "--origin-zone", "", "--deny-targets", denied[0].String())
	}
	token := dep.admin("ada@example.com")
	server := serve()
	c := server.as(token)
	id := c.enumerate(s.request(steps))
	for len(s.breakpoints.remaining()) > 0 {
		at := s.breakpoints.waitHit(takeoverWait + longWait)
		if at == nil {
			t.Fatalf("no request at the breakpoints %v: %+v", s.breakpoints.remaining(), c.enumeration(id))
		}
		server.kill()
		s.breakpoints.release(at...)
		s.breakpoints.drain()
		server = serve()
		c = server.as(token)
	}
	within := takeoverWait + 2*longWait
	if slices.Contains(steps, "http_screenshot") {
		within *= 3
	}
	e := c.enumerationEnds(id, within)
	inventory := c.inventory(id)
	if e.Status != "finished" || e.Assets != len(inventory) || e.Processed != e.Targets {
		t.Errorf("%+v, %d assets", e, len(inventory))
	}
	s.compare(t, inventory)
	if n := s.forbiddenDials.Load(); n > 0 {
		t.Errorf("%d connections to out-of-scope addresses", n)
	}
	c.refusals(id, "127.2.0.3", "127.1.0.8", "admin.lab.example", "127.200.0.1",
		fmt.Sprintf("http://127.200.0.1:%d/away", s.ports[web]))
	var history struct {
		Data []struct {
			Status    string
			New       int `json:"new_assets_discovered"`
			Processed int `json:"total_targets_processed"`
		}
	}
	c.call("GET", "/v1/asset/enumerate/"+id+"/history", nil, &history)
	if h := history.Data; len(h) != 1 || h[0].New != len(inventory) || h[0].Processed != e.Processed ||
		h[0].Status != "finished" {
		t.Errorf("%+v", h)
	}
}

// refusals checks that a run has a denied event for each subject.
func (c caller) refusals(id string, subjects ...string) {
	c.t.Helper()
	var denied []string
	for offset := 0; ; offset += 1000 {
		var list struct {
			Data []struct{ Kind, Subject, Detail string }
		}
		c.call("GET", fmt.Sprintf("/v1/asset/enumerate/%s/events?limit=1000&offset=%d", id, offset), nil, &list)
		for _, e := range list.Data {
			if e.Kind == "denied" && e.Detail != "" {
				denied = append(denied, e.Subject)
			}
		}
		if len(list.Data) < 1000 {
			break
		}
	}
	for _, subject := range subjects {
		if !slices.ContainsFunc(denied, func(s string) bool { return s == subject || strings.HasPrefix(s, subject+":") }) {
			c.t.Errorf("no denied event for %s (%d for others)", subject, len(denied))
		}
	}
}
