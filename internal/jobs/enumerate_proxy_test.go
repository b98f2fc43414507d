package jobs

import (
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/netguard/sockstest"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// doorman counts connections by who made them.
type doorman struct {
	net.Listener
	proxy *sockstest.Server

	mu              sync.Mutex
	direct, through int
}

func (d *doorman) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	made := d.proxy.Made(conn.RemoteAddr().String())
	d.mu.Lock()
	defer d.mu.Unlock()
	if made {
		d.through++
	} else {
		d.direct++
	}
	return conn, nil
}

func (d *doorman) counted() (direct, through int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	direct, through = d.direct, d.through
	d.direct, d.through = 0, 0
	return direct, through
}

// No connection of an enumeration, or of the scan that follows it, reaches a target but through the proxy. One that
// does not work is named in the events, and what was known stays.
func TestEnumerationsGoThroughAProxy(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		proxy := sockstest.Start(t, "ann", "hidden")
		site := httptest.NewUnstartedServer(weaksite.New(7))
		door := &doorman{Listener: site.Listener, proxy: proxy}
		site.Listener = door
		site.Start()
		t.Cleanup(site.Close)
		tls := httptest.NewUnstartedServer(weaksite.New(7))
		tlsDoor := &doorman{Listener: tls.Listener, proxy: proxy}
		tls.Listener = tlsDoor
		tls.StartTLS()
		t.Cleanup(tls.Close)
		address := site.Listener.Addr().String()
		o := open(t, d)
		ends := func(id string) (e enumeration.Enumeration) {
			t.Helper()
			until(t, "the enumeration's end", func() bool {
				var err error
				if e, err = o.enumerations.Find(o.ctx, id); err != nil {
					t.Fatal(err)
				}
				return !e.Status.Active()
			})
			return e
		}
		made, err := o.enumerations.Create(o.ctx, enumeration.NewEnumeration{
			Proxy: "socks5://ann:hidden@" + proxy.Addr,
			Config: enumeration.Config{Inputs: []string{"http://" + address, tls.URL, "169.254.169.254"}, Ports: "1",
				Steps:          []discover.Step{discover.PortScan, discover.HTTPProbe, discover.TLSScan, discover.EndpointCrawling},
				AutomaticScans: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		if e := ends(made.ID); e.Status != enumeration.Finished || e.FailureReason != "" {
			t.Fatalf("%s: %s", e.Status, e.FailureReason)
		}
		if direct, through := door.counted(); direct > 0 || through == 0 {
			t.Errorf("HTTP: %d direct, %d through the proxy", direct, through)
		}
		if direct, through := tlsDoor.counted(); direct > 0 || through == 0 {
			t.Errorf("TLS: %d direct, %d through the proxy", direct, through)
		}
		var all []scan.Scan
		until(t, "the scan of new assets", func() bool {
			all, _, err = o.scans.FindAll(o.ctx, scan.Filter{}, nil, page.Window{Limit: 10})
			return err != nil || len(all) == 1 && !all[0].Status.Active()
		})
		if err != nil || all[0].Config.Proxy.String() != "socks5://ann:xxxxx@"+proxy.Addr {
			t.Errorf("the scan: %v, %v", all, err)
		}
		if direct, through := door.counted(); direct > 0 || through == 0 {
			t.Errorf("the scan: %d direct, %d through the proxy", direct, through)
		}
		for _, asked := range proxy.Asked() {
			if !strings.HasPrefix(asked, "127.0.0.1:") {
				t.Errorf("the proxy was asked for %s", asked)
			}
		}
		stored, err := db.Value[string](o.ctx, d, `SELECT CAST(config AS TEXT) FROM enumeration_config
			WHERE enumeration_id = ?`, made.ID)
		if err != nil || strings.Contains(stored, "hidden") {
			t.Errorf("stored: %s, %v", stored, err)
		}

		before := ends(made.ID).Totals
		for _, broken := range []string{"socks5://127.0.0.1:1", "socks5://ann:guess@" + proxy.Addr} {
			if err := o.enumerations.UpdateConfig(o.ctx, made.ID, enumeration.ConfigUpdate{Proxy: &broken}, false); err != nil {
				t.Fatal(err)
			}
			if _, err := o.enumerations.Rescan(o.ctx, made.ID); err != nil {
				t.Fatal(err)
			}
			subject := strings.Replace(broken, "guess", "xxxxx", 1)
			until(t, "the event of "+subject, func() bool {
				events, _, err := o.enumerations.FindEvents(o.ctx, made.ID, 0, page.Window{Limit: 100})
				return err != nil || slices.ContainsFunc(events, func(e enumeration.Event) bool {
					return e.Kind == enumeration.EventProxy && e.Subject == subject &&
						strings.HasPrefix(e.Detail, "It does not work: ") && !strings.Contains(e.Detail, "guess")
				})
			})
			if err := o.enumerations.Stop(o.ctx, made.ID); err != nil {
				t.Fatal(err)
			}
			e := ends(made.ID)
			before.New = 0 // in this run
			if e.Totals != before {
				t.Errorf("%s: %+v, before it %+v", broken, e.Totals, before)
			}
		}
		if direct, through := door.counted(); direct > 0 || through > 0 {
			t.Errorf("with broken proxies: %d direct, %d through", direct, through)
		}
	})
}
