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

// enumerate launches an enumeration.
func (c caller) enumerate(order map[string]any) (id string) {
	c.t.Helper()
	var made struct{ ID string }
	c.call("POST", "/v1/asset/enumerate", order, &made)
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

// field is one of its fields in words; a dot leads into a field.
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

// inventory is the assets of an enumeration by place; one that is there twice fails.
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
				c.t.Errorf("%s is there twice", place)
			}
			out[place] = a
		}
		if len(list.Data) < 1000 {
			return out
		}
	}
}

// compare holds an inventory against the truth of a street: everything is there, nothing
// else, and each field says what it must.
func (s *street) compare(t *testing.T, inventory map[string]assetDoc) {
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
		for _, field := range []string{"id", "asset_hash", "enumeration_id", "enumeration_name", "name", "created_at", "updated_at", "type", "source", "source_type", "extended_metadata.last_seen"} {
			if a.field(field) == "" {
				fail("%s has no %s", place, field)
			}
		}
	}
	for place, a := range inventory {
		if _, is := truth[place]; !is && (a.field("port") != "" || !s.zone.Inner(place)) {
			fail("%s is made up: %v", place, a)
		}
	}
	if wrong > 20 {
		t.Errorf("and %d more", wrong-20)
	}
}

// TestEnumerationFindsTheStreet: one enumeration finds every asset of the lab, with all
// that is to be seen of it, and invents none, however often it is killed, and at whichever
// step. What the operator and the enumeration leave out is not dialled, also where a CNAME
// or a redirect leads there, and each refusal is told.
//
// With VEDETTE_KILL_EVERYWHERE it is killed at each step on each database, and takes
// pictures, too: in two enumerations, since a chunk whose process dies six times is given up,
// and in one after the other, since a browser needs a machine for itself.
func TestEnumerationFindsTheStreet(t *testing.T) {
	killed := map[string][][]string{
		"sqlite": {{"dns_permute", "port_scan", "tls_scan"}}, "postgres": {{"dns_bruteforce", "dns_resolve", "http_probe", "endpoint_crawling"}},
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
				findTheStreet(t, newHouse(t, engine), steps, killed)
			})
		}
	}
}

// findTheStreet runs an enumeration that is killed at some steps.
func findTheStreet(t *testing.T, h house, steps, killed []string) {
	s := newStreet(t, killed...)
	h.env = append(h.env, "SSL_CERT_FILE="+s.roots)
	serve := func() server {
		return h.serve("--resolvers", s.resolver, "--origin-zone", "", "--deny-targets", denied[0].String())
	}
	token := h.admin("ada@example.com")
	server := serve()
	c := server.as(token)
	id := c.enumerate(s.order(steps))
	for len(s.gates.left()) > 0 {
		at := s.gates.next(takeover + patience)
		if at == nil {
			t.Fatalf("nobody comes to %v: %+v", s.gates.left(), c.enumeration(id))
		}
		server.kill()
		s.gates.open(at...)
		s.gates.forget()
		server = serve()
		c = server.as(token)
	}
	within := takeover + 2*patience
	if slices.Contains(steps, "http_screenshot") {
		within *= 3
	}
	e := c.enumerationEnds(id, within)
	inventory := c.inventory(id)
	if e.Status != "finished" || e.Assets != len(inventory) || e.Processed != e.Targets {
		t.Errorf("%+v, %d assets", e, len(inventory))
	}
	s.compare(t, inventory)
	if n := s.trapped.Load(); n > 0 {
		t.Errorf("%d connections to what is out of scope", n)
	}
	c.refusals(id, "127.2.0.3", "127.1.0.8", "admin.lab.example", "127.200.0.1", fmt.Sprintf("http://127.200.0.1:%d/away", s.ports[web]))
	var history struct {
		Data []struct {
			Status    string
			New       int `json:"new_assets_discovered"`
			Processed int `json:"total_targets_processed"`
		}
	}
	c.call("GET", "/v1/asset/enumerate/"+id+"/history", nil, &history)
	if h := history.Data; len(h) != 1 || h[0].New != len(inventory) || h[0].Processed != e.Processed || h[0].Status != "finished" {
		t.Errorf("%+v", h)
	}
}

// refusals looks for events that say that something was not dialled.
func (c caller) refusals(id string, subjects ...string) {
	c.t.Helper()
	var told []string
	for offset := 0; ; offset += 1000 {
		var list struct {
			Data []struct{ Kind, Subject, Detail string }
		}
		c.call("GET", fmt.Sprintf("/v1/asset/enumerate/%s/events?limit=1000&offset=%d", id, offset), nil, &list)
		for _, e := range list.Data {
			if e.Kind == "denied" && e.Detail != "" {
				told = append(told, e.Subject)
			}
		}
		if len(list.Data) < 1000 {
			break
		}
	}
	for _, subject := range subjects {
		if !slices.ContainsFunc(told, func(s string) bool { return s == subject || strings.HasPrefix(s, subject+":") }) {
			c.t.Errorf("no event tells of %s (%d do of others)", subject, len(told))
		}
	}
}
