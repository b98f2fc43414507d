package app

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/vedette-sec/vedette/internal/api/agentapi"
	"github.com/vedette-sec/vedette/internal/api/console"
	"github.com/vedette-sec/vedette/internal/api/inbound"
	"github.com/vedette-sec/vedette/internal/api/mcp"
	"github.com/vedette-sec/vedette/internal/api/platform"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/asset/report"
	"github.com/vedette-sec/vedette/internal/core/billing"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/feed"
	"github.com/vedette-sec/vedette/internal/core/finding/moment"
	"github.com/vedette-sec/vedette/internal/core/finding/undo"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/membership"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/vulnerability"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/outage"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// routes mounts the two APIs, MCP, the console, documentation, health checks and metrics.
func (a *App) routes(
	kit rest.Config, registry *prometheus.Registry, hooks *hook.Hooks, webhooks *netguard.Guard,
) (http.Handler, error) {
	servers := Servers(a.config)
	egress, err := a.config.egressIPs()
	if err != nil {
		return nil, err
	}
	members := membership.New(a.db, a.Accounts, a.audit, a.config.PublicURL)
	agent := agentapi.New(kit, servers, agentapi.Deps{
		Accounts: a.Accounts, Audit: a.audit, Failures: a.failures, Members: members, Credits: billing.New(a.db, time.Now),
		BillingLink: a.config.BillingLink, EgressIPs: a.config.EgressIPs,
		Tasks: a.Tasks, Issues: a.issues, Triage: a.triage, Exports: a.exports, Network: a.network,
		Secrets: a.secrets, Files: a.files,
		CustomAgents: a.agents, Extensions: a.extensions, Toolkits: a.toolkits, Schedules: a.schedules,
		Projects: a.projects, SSHKeys: a.sshKeys, Skills: a.skills, Prompts: a.prompts, Knowledge: a.knowledge,
		Models: a.Models, Hooks: hooks, Webhooks: webhooks, Closing: a.closing, Reviews: a.reviews, Chats: a.chats,
	})
	plat := platform.New(kit, servers, platform.Deps{
		Accounts: a.Accounts, Settings: a.settings, Scans: a.Scans, Exclusions: exclusion.New(a.db),
		Enumerations: a.enumerations,
		Assets:       a.assets, AssetReports: report.New(a.db, a.assets), Policies: a.policies, Findings: a.Findings,
		Tickets: a.tickets, Comments: a.comments, Works: a.works, Undos: undo.New(a.db, a.Findings),
		Moments: moment.New(a.db, a.Findings),
		Inbox:   a.inbox, Exports: a.exports, Reports: a.reports, Proofs: a.proofs, Fixes: a.fixes(), Upkeep: a.upkeep(),
		Feeds:   feed.New(a.db),
		Catalog: a.catalog, Domains: a.related.Domains, Audit: a.audit, Notifications: notification.New(a.db, a.queue),
		EgressIPs: egress, Models: a.Models, Leaks: a.leaks,
		CVEs: vulnerability.New(a.db), Signers: a.Scans.Signers,
	})
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		queueMetrics{a.queue})

	mux := http.NewServeMux()
	surfaces := map[string]http.Handler{agentapi.Prefix: agent}
	for _, prefix := range platform.Prefixes {
		surfaces[prefix] = plat
	}
	for prefix, surface := range surfaces {
		mux.Handle(prefix, surface)
		mux.Handle(strings.TrimSuffix(prefix, "/"), surface)
	}
	mux.Handle(mcp.Path, mcp.New(kit,
		mcp.Deps{Tasks: a.Tasks, Scans: a.Scans, Findings: a.Findings, Assets: a.assets, Enumerations: a.enumerations,
			Catalog: a.catalog}))
	mux.Handle(inbound.Path, inbound.New(a.tickets, a.reviews, a.chats, a.logger))
	a.mountContracts(mux, agent, plat)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { state(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", a.ready)
	mux.Handle("GET /metrics", metrics(a.config.MetricsToken, promhttp.HandlerFor(registry, promhttp.HandlerOpts{})))
	mux.Handle("/", console.New(a.Accounts, a.audit, members, a.logger))
	return hardened(a.config.PublicURL, asWritten(mux, surfaces)), nil
}

// hardened sets the headers that keep a browser from running, framing or guessing the type of any answer. Pages with
// scripts of their own replace the policy by theirs. Once a browser has seen a server whose public address is https, it
// uses nothing else there for a year.
func hardened(publicURL string, next http.Handler) http.Handler {
	isTLS := strings.HasPrefix(publicURL, "https://")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if isTLS {
			h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
		}
		next.ServeHTTP(w, r)
	})
}

// metrics shows metrics to clients that send the token as a bearer token. Without a configured token it shows them to
// clients on this machine, and not to those of a proxy on it: they say how much the teams of this server work.
func metrics(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := []byte(r.Header.Get("Authorization"))
		switch {
		case token != "" && subtle.ConstantTimeCompare(sent, []byte("Bearer "+token)) != 1:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "Send the server's metrics_token as a bearer token.", http.StatusUnauthorized)
		case token == "" && !isLocal(r):
			http.Error(w, "Metrics are shown on this machine only; set metrics_token to read them from elsewhere.",
				http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isLocal reports whether a request comes from this machine and not through a proxy.
func isLocal(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip",
		"Via"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

// asWritten passes paths with empty or dot segments to their API, which answers errors in its own
// shape. The mux would redirect them with an HTML page.
func asWritten(mux *http.ServeMux, surfaces map[string]http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Clean(r.URL.Path) != strings.TrimSuffix(r.URL.Path, "/") {
			for prefix, surface := range surfaces {
				if strings.HasPrefix(r.URL.Path, prefix) {
					surface.ServeHTTP(w, r)
					return
				}
			}
		}
		mux.ServeHTTP(w, r)
	})
}

// Servers are the server URLs in the OpenAPI documents: production and development if configured,
// and the local one.
func Servers(c Config) []rest.Server {
	var out []rest.Server
	for _, s := range []rest.Server{{URL: c.PublicURL, Description: "production"},
		{URL: c.DevelopmentURL, Description: "development"}} {
		if s.URL != "" {
			out = append(out, s)
		}
	}
	return append(out, rest.Server{URL: "http://localhost:8080", Description: "local"})
}

func state(w http.ResponseWriter, status int, word string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "{\"status\":%q}\n", word) // the client may have disconnected
}

// ready reports whether requests can be served: the database answers, the disk takes what is written and has room,
// there are descriptors, and the process is not stopping.
func (a *App) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if a.closing.Err() != nil {
		state(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	err := a.db.Ping(ctx)
	if err != nil && outage.Of(err) == nil { // it does not answer in time, or the connection broke
		state(w, http.StatusServiceUnavailable, "database unavailable")
		return
	}
	if err == nil {
		err = a.db.CheckRoom()
	}
	if found := outage.Of(err); found != nil {
		err = found
	}
	if err != nil {
		state(w, http.StatusServiceUnavailable, strings.ReplaceAll(errs.From(err).Code, "_", " "))
		return
	}
	state(w, http.StatusOK, "ready")
}

// queueMetrics collects queue statistics at each scrape.
type queueMetrics struct{ queue *queue.Queue }

var (
	jobsDesc = prometheus.NewDesc("vedette_jobs", "Jobs in the queue.", []string{"kind", "state"}, nil)
	lateDesc = prometheus.NewDesc("vedette_job_late_seconds", "How long the oldest due job has waited for a worker.",
		[]string{"kind"}, nil)
)

// Describe implements prometheus.Collector.
func (queueMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- jobsDesc
	out <- lateDesc
}

// Collect implements prometheus.Collector.
func (m queueMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	stats, err := m.queue.Stats(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(jobsDesc, err)
		return
	}
	for _, s := range stats {
		out <- prometheus.MustNewConstMetric(jobsDesc, prometheus.GaugeValue, float64(s.Waiting), s.Kind, "waiting")
		out <- prometheus.MustNewConstMetric(jobsDesc, prometheus.GaugeValue, float64(s.Running), s.Kind, "running")
		out <- prometheus.MustNewConstMetric(lateDesc, prometheus.GaugeValue, s.Late.Seconds(), s.Kind)
	}
}

// Contract is the OpenAPI document of the agent or the platform API as YAML, without opening a database.
func Contract(c Config, agent bool) ([]byte, error) {
	if agent {
		return agentapi.New(rest.Config{}, Servers(c), agentapi.Deps{}).Contract()
	}
	return platform.New(rest.Config{}, Servers(c), platform.Deps{}).Contract()
}
