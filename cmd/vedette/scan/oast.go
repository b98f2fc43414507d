package scan

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/oast"
)

// oastFlags name the out-of-band server of a scan, and how it is asked.
type oastFlags struct {
	server, token string
	insecure, off bool
	config        oob.Config
}

func (f *scanFlags) oastOptions() []option {
	o := &f.oast
	return []option{
		{"oast",
			"out-of-band server for templates that need one, of 'vedette oast serve' or interactsh (default: none)",
			text(&o.server, "url")},
		{"oast-token", "token of that server (default: VEDETTE_OAST_TOKEN, which other users of this machine cannot see)",
			text(&o.token, "token")},
		{"oast-insecure", "do not verify that server's certificate", toggle(&o.insecure)},
		{"no-interactsh,ni", "use no out-of-band server, whatever a configuration says", toggle(&o.off)},
		{"interactions-poll-duration", "time between two questions for interactions (default 5s)", span(&o.config.Poll)},
		{"interactions-cooldown-period",
			"how long interactions are waited for at the end (default 5s)", span(&o.config.Cooldown)},
		{"interactions-eviction",
			"how long a request is remembered (default: as long as the scan)", span(&o.config.Keep)},
		{"interactions-cache-size",
			"how many requests are remembered, the newest ones (default 20000)", number(&o.config.Requests, 1)},
	}
}

// synonyms are nuclei's names.
func (o *oastFlags) synonyms() []option {
	return []option{
		{"interactsh-server,iserver", "the same as --oast", text(&o.server, "url")},
		{"interactsh-token,itoken", "the same as --oast-token", text(&o.token, "token")},
	}
}

// watch is the session of a scan with its out-of-band server.
type watch struct {
	*oob.Session
	stderr io.Writer
}

// open registers with the server, if one is named, which gives the engine its names; nil without. With a proxy (nil for
// none) it is asked through that.
func (o *oastFlags) open(
	ctx context.Context, proxy *netguard.Proxy, stderr io.Writer, engine *engine.Config,
) (*watch, error) {
	if o.server == "" || o.off {
		return nil, nil
	}
	token := o.token
	if token == "" {
		token = os.Getenv("VEDETTE_OAST_TOKEN")
	}
	with := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		MaxResponseHeaderBytes: 64 << 10,

		DialContext:     cli.ProxyGuard().Helper(nil, proxy),
		TLSClientConfig: &tls.Config{InsecureSkipVerify: o.insecure}, //nolint:gosec // the user asked for it
	}}
	client, err := oast.NewClient(ctx, with, o.server, token)
	if err != nil {
		return nil, fmt.Errorf("--oast: %w", err)
	}
	c := o.config
	c.OnFault = func(err error) { fmt.Fprintf(stderr, "note: %s\n", cli.Plain(err)) }
	w := &watch{oob.NewSession(client, c), stderr}
	engine.Names = w.Name
	return w, nil
}

// join makes a scan hand its requests over.
func (w *watch) join(scan *engine.Scan) {
	if w == nil {
		return
	}
	scan.Expect = func(p *engine.Pending) { w.Expect(p.IDs, p.Size(), p.Found) }
	scan.Settle = func(ctx context.Context) {
		if err := w.Settle(ctx); err != nil {
			fmt.Fprintf(w.stderr, "note: %s\n", cli.Plain(err))
		}
	}
}
