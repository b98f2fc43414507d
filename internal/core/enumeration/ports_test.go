package enumeration

import (
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/pipeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// TestNamedPortsAreProbedWhicheverChunkFindsTheHost: a host that an input names with a port is also found in a range,
// and by a second run among the known hosts. The chunk that comes first stores it, with the port.
func TestNamedPortsAreProbedWhicheverChunkFindsTheHost(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		engine := NewEngine(pipeline.Config{}, &netguard.Guard{})
		e := y.create(t, Config{Inputs: []string{"192.0.2.1:8443", "192.0.2.0/31"}, Steps: []discover.Step{discover.PortScan}})
		must(t, y.Begin(t.Context(), BeginArgs{e.ID, 1}))
		must(t, y.RunChunk(t.Context(), ChunkArgs{e.ID, 1, 1}, engine)) // the range; chunk 0 has the input
		c := y.start(t, y.now(t, e.ID), 2)
		i := slices.IndexFunc(c.Hosts, func(f Found) bool { return f.Host == "192.0.2.1" })
		if i < 0 || !slices.Equal(c.Hosts[i].Ports, []uint16{8443}) {
			t.Errorf("%+v", c.Hosts)
		}
	})
}
