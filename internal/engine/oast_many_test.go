package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/oast"
)

// A thousand targets at once contact the names that they were told, in any order, some at once and some when all others
// have been tested, some not at all and some more than once: each finding names the target, the template and the payload
// whose name was contacted, none is missing, and none is of a target that contacted nothing.
func TestInteractionsOfManyTargetsAreNotMixedUp(t *testing.T) {
	server, err := oast.NewServer(oast.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	at, err := server.Listen("http://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	crowd := &crowd{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	site, err := url.Parse(serve(t, crowd.ServeHTTP))
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, site.Host)
	}
	var programs []*program.Program
	for _, id := range []string{"first", "second"} {
		p, err := compile(id+".yaml", []byte(fmt.Sprintf(manyTargets, id)))
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, p)
	}
	const many = 1000
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	crowd.begin(many, random)
	client, err := oast.NewClient(t.Context(), http.DefaultClient, "http://"+at, "")
	if err != nil {
		t.Fatal(err)
	}
	s := oob.NewSession(client, oob.Config{Poll: 50 * time.Millisecond, Cooldown: time.Millisecond})
	e := engine.New(engine.Config{Dial: dial, Names: s.Name, Timeout: time.Minute, Concurrency: 100})
	var mu sync.Mutex
	found := map[string]int{}
	_, err = e.Run(t.Context(), engine.Scan{
		Targets: crowd.targets(), Programs: programs, Parallel: many,
		Expect: func(p *engine.Pending) { s.Expect(p.IDs, p.Size(), p.Found) },
		Settle: func(ctx context.Context) {
			crowd.late()
			if err := s.Settle(ctx); err != nil {
				t.Error(err)
			}
		},
		OnEvent: func(ev engine.Event) {
			mu.Lock()
			defer mu.Unlock()
			who, _, _ := strings.Cut(strings.TrimPrefix(ev.Target, "http://"), ":")
			contact := fmt.Sprintf("%s %s %v", who, ev.TemplateID, ev.Meta["word"])
			if !strings.Contains(ev.Interaction.RawRequest, "X-Contact: "+contact+"\r\n") {
				t.Errorf("%s is said to have sent %q", contact, ev.Interaction.RawRequest)
			}
			found[contact]++
		},
	})
	e.Close()
	if err != nil {
		t.Fatal(err)
	}
	for contact := range crowd.made {
		if found[contact] == 0 {
			t.Errorf("%s was not found", contact)
		}
		delete(found, contact)
	}
	if len(found) > 0 {
		t.Errorf("found, and not made: %v", found)
	}
}

const manyTargets = `
id: %[1]s
info: {name: n, author: a, severity: high}
http:
  - method: GET
    path: ["{{BaseURL}}/?template=%[1]s&word={{word}}&url=http://{{interactsh-url}}"]
    payloads: {word: [one, two]}
    matchers:
      - {type: word, part: interactsh_protocol, words: [http]}
`

// crowd are many targets behind one address.
type crowd struct {
	client *http.Client

	mu      sync.Mutex
	does    map[string]int // by host
	made    map[string]bool
	waiting [][2]string // who and the URL
}

// begin decides by chance what each target does with the names that it is told.
func (c *crowd) begin(many int, random *rand.Rand) {
	c.does, c.made, c.waiting = map[string]int{}, map[string]bool{}, nil
	for i := range many {
		c.does[fmt.Sprintf("10.1.%d.%d", i/250, i%250)] = random.IntN(4)
	}
}

func (c *crowd) targets() (all []string) {
	for host := range c.does {
		all = append(all, "http://"+host+":80")
	}
	return all
}

// ServeHTTP contacts what it is told never, once, twice, or when all has been tested.
func (c *crowd) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	query := r.URL.Query()
	if !query.Has("url") { // the engine looks around
		return
	}
	to, contact := query.Get("url"), fmt.Sprintf("%s %s %s", host, query.Get("template"), query.Get("word"))
	c.mu.Lock()
	what := c.does[host]
	if what > 0 {
		c.made[contact] = true
	}
	if what == 3 {
		c.waiting = append(c.waiting, [2]string{contact, to})
	}
	c.mu.Unlock()
	for range what % 3 {
		c.contact(contact, to)
	}
}

func (c *crowd) late() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.waiting {
		c.contact(one[0], one[1])
	}
}

func (c *crowd) contact(who, url string) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return
	}
	req.Header.Set("X-Contact", who)
	if resp, err := c.client.Do(req); err == nil {
		resp.Body.Close()
	}
}
