// Package enumeration stores enumerations: their configurations, runs and chunks, and how each source of names
// behaved. Package run owns the life of a run.
//
// A run has two stages. A chunk of names searches below a domain, in a block of addresses, among given hosts or in a
// cloud account, and stores the hosts that it finds while it works, each once in a run. Some of them together make a
// chunk of hosts, which probes them. Rows have keys, so that a chunk that runs twice leaves the same rows.
package enumeration

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/policy"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Status is the state of an enumeration.
type Status = run.Status

// The states; docs/reference/states.md has the drawing.
const (
	Scheduled = run.Scheduled
	Queued    = run.Queued
	Starting  = run.Starting
	Running   = run.Running
	Finished  = run.Finished
	Failed    = run.Failed
	Stopped   = run.Stopped
)

// Statuses are all states that the API shows.
var Statuses = []Status{Scheduled, Queued, Starting, Running, Finished, Failed, Stopped}

// Type is the kind of an enumeration.
type Type string

// The types.
const (
	Discovery Type = "discovery" // domains, hosts, ranges
	Cloud     Type = "cloud"     // the inventory of cloud accounts
	Group     Type = "group"     // a group of assets, listed with the enumerations
)

// Types are all types.
var Types = []Type{Discovery, Cloud, Group}

// Config is what an enumeration does in each run.
type Config struct {
	RootDomains        []string        `json:"root_domains,omitempty"`
	Inputs             []string        `json:"-"` // hosts, addresses, ranges and URLs as given, in a column of their own
	CloudConfigIDs     []string        `json:"cloudlist_config_ids,omitempty"`
	SubfinderConfigIDs []string        `json:"subfinder_config_ids,omitempty"`
	AlertConfigIDs     []string        `json:"alerting_config_ids,omitempty"`
	NoGlobalAlerts     bool            `json:"disable_global_alert_config,omitempty"`
	Steps              []discover.Step `json:"steps,omitempty"` // none: all
	Ports              string          `json:"enumeration_ports,omitempty"`
	FollowRedirect     *bool           `json:"follow_redirects,omitempty"` // nil: as true
	Exclusions         []string        `json:"exclusions,omitempty"`       // patterns; one that begins with + allows
	AutomaticScans     bool            `json:"automatic_vuln_scans,omitempty"`
	Proxy              *setting.Proxy  `json:"socks5_proxy,omitempty"` // of all connections to targets; nil: none
	AgentID            string          `json:"agent_id,omitempty"`
	AgentTags          []string        `json:"agent_tags,omitempty"`
	AgentNetworks      []string        `json:"agent_networks,omitempty"`
	AgentBehavior      string          `json:"agent_behavior,omitempty"`
	AgentDiscover      bool            `json:"agent_auto_discover,omitempty"`
}

// Enumeration is one enumeration with the numbers of its last run.
type Enumeration struct {
	ID            string
	TeamID        string
	UserID        string
	Name          string
	Type          Type
	Status        Status
	FailureReason string
	Run           int64 // 0: never launched
	IsInternal    bool
	CreatedAt     time.Time
	UpdatedAt     time.Time

	Config     Config // without inputs in a list
	InputCount int
	Numbers    Numbers
	Filters    *asset.Filters     // of a group
	Totals     asset.Totals       // of its inventory, now
	Schedule   *schedule.Schedule // nil: none
}

// Numbers are the progress of a run.
type Numbers struct {
	Names, DoneNames   int // hosts found; hosts probed
	NewAssets          int // that no earlier run found
	Denials            int // dials that the scope refused
	StartedAt, EndedAt time.Time
}

// Rescans is how often the enumeration was launched after the first time.
func (e Enumeration) Rescans() int { return int(max(0, e.Run-1)) }

// Elapsed is how long a run took, or has taken until now.
func (n Numbers) Elapsed(now time.Time) time.Duration {
	return run.Elapsed(n.StartedAt, n.EndedAt, now)
}

// Enumerations is the service of enumerations.
type Enumerations struct {
	db       *db.DB
	queue    *queue.Queue
	assets   *asset.Assets
	policies *policy.Policies
	settings *setting.Settings
	logger   *slog.Logger
	now      func() time.Time
}

// New makes the service. logger may be nil.
func New(
	d *db.DB, q *queue.Queue, assets *asset.Assets, policies *policy.Policies, settings *setting.Settings,
	logger *slog.Logger,
) *Enumerations {
	return &Enumerations{
		db: d, queue: q, assets: assets, policies: policies, settings: settings, now: time.Now,
		logger: cmp.Or(logger, slog.New(slog.DiscardHandler)),
	}
}
