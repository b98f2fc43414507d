// Package jobs takes jobs from the queue and does each with one service or engine; register.go lists their kinds. A
// job that fails is tried again or given up; its results until then are stored.
package jobs

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/chat"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/customagent/install"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/extension"
	"github.com/vedette-sec/vedette/internal/core/file"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/news"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/knowledge"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/policy"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/core/proof"
	"github.com/vedette-sec/vedette/internal/core/reportschedule"
	"github.com/vedette-sec/vedette/internal/core/review"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/scan/fixed"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/core/skill"
	"github.com/vedette-sec/vedette/internal/core/sshkey"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/core/toolkit"
	"github.com/vedette-sec/vedette/internal/core/triage"
	"github.com/vedette-sec/vedette/internal/discover/pipeline"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/alert"
	"github.com/vedette-sec/vedette/internal/tools/toolset"
)

// Deps is what the jobs need.
type Deps struct {
	Tasks         *task.Tasks
	Models        *model.Models
	Secrets       *secret.Secrets
	Files         *file.Files
	Network       *network.Events // nil: nothing is captured
	Projects      *project.Projects
	SSHKeys       *sshkey.Keys
	Agents        *customagent.Agents
	Extensions    *extension.Extensions
	Toolkits      *toolkit.Toolkits
	Installs      *install.Installs
	Skills        *skill.Skills
	Knowledge     *knowledge.Knowledge
	Exclusions    *exclusion.Exclusions
	Hooks         *hook.Hooks
	Scans         *scan.Scans
	Fixes         *fixed.Fixes
	Engines       *child.Pool // of scans
	Findings      *finding.Findings
	Exports       *export.Exports
	Reports       *reportschedule.Schedules
	Proofs        *proof.Proofs
	Assets        *asset.Assets
	Policies      *policy.Policies
	Enumerations  *enumeration.Enumerations
	Discovery     pipeline.Config  // the operator's
	Guard         *netguard.Guard  // for the sources and clouds of enumerations
	Catalog       *catalog.Catalog // of scans
	Settings      *setting.Settings
	Notifications *notification.Notifications
	Alerts        *alert.Sender
	Tickets       *ticket.Tickets
	Reviews       *review.Reviews
	Chats         *chat.Chats
	News          *news.News
	Triage        *triage.Triage
	Related       Related
	Backoff       func(attempt int) time.Duration // before notifications are sent again; nil: the queue's own
	Deny          []netip.Prefix                  // networks that are never scanned
	PublicURL     string                          // where people reach the console; empty: it is not known
	Logger        *slog.Logger
}

type worker struct {
	Deps
	tools      toolset.Services // of tasks
	dispatcher *notification.Dispatcher
	discovery  enumeration.Engine
}

// Register registers all kinds of jobs. It fails when a starter template cannot be read.
func Register(q *queue.Queue, d Deps) error {
	d.Discovery.Deny = d.Deny
	kits, err := toolset.New(toolset.Services{
		Agents: d.Agents, Assets: d.Assets, Catalog: d.Catalog, Enumerations: d.Enumerations, Exclusions: d.Exclusions,
		Extensions: d.Extensions, Toolkits: d.Toolkits, Installs: d.Installs, Skills: d.Skills,
		Knowledge: d.Knowledge, Files: d.Files, Projects: d.Projects, SSHKeys: d.SSHKeys, Network: d.Network,
		Scans: d.Scans, Engines: d.Engines, Deny: d.Deny, Logger: d.Logger,
	})
	if err != nil {
		return err
	}
	w := worker{
		Deps: d, tools: kits, dispatcher: notification.NewDispatcher(d.Notifications, d.Settings, d.Alerts, d.Logger),
		discovery: enumeration.NewEngine(d.Discovery, d.Guard),
	}
	w.register(q)
	return nil
}
