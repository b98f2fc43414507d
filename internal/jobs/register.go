package jobs

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/chat"
	"github.com/vedette-sec/vedette/internal/core/domain"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/arrival"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/interaction"
	"github.com/vedette-sec/vedette/internal/core/knowledge"
	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/policy"
	"github.com/vedette-sec/vedette/internal/core/proof"
	"github.com/vedette-sec/vedette/internal/core/reportschedule"
	"github.com/vedette-sec/vedette/internal/core/review"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/core/triage"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

// How often jobs are tried, where the queue's own number does not fit.
const (
	searchAttempts       = 2
	notificationAttempts = 8 // with the waits between them they last some eight minutes
	ticketAttempts       = 10
	chatAttempts         = 10
	purgeAttempts        = 100 // each deletes more rows
)

const (
	searchTimeout    = 5 * time.Minute
	knowledgeTimeout = 10 * time.Minute
)

// register registers the handlers of all kinds of jobs.
func (w worker) register(q *queue.Queue) { //nolint:funlen // a line a kind of job
	queue.Handle(q, queue.Handler[scan.BeginArgs]{
		Quick: true, Work: args(w.Scans.Begin), GiveUp: giveUp(w, w.Scans.GiveUpBegin),
	})
	queue.Handle(q, queue.Handler[scan.ChunkArgs]{
		Work:   args(w.runChunk),
		GiveUp: giveUp(w, w.Scans.GiveUpChunk),
	})
	queue.Handle(q, queue.Handler[interaction.JudgeArgs]{
		Work: args(func(ctx context.Context, a interaction.JudgeArgs) error { return w.Scans.Judge(ctx, a, w.Engines) }),
	})
	queue.Handle(q, queue.Handler[scan.CoveredArgs]{Work: args(w.Fixes.Work)})
	queue.Handle(q, queue.Handler[scan.AlertArgs]{Quick: true, Work: args(w.alertOfScan)})
	queue.Handle(q, queue.Handler[finding.RetestArgs]{
		Work: args(w.retestFinding),
		GiveUp: giveUp(w, func(ctx context.Context, tx *db.Tx, a finding.RetestArgs) error {
			return w.Findings.EndRetest(ctx, tx, a, finding.RetestResult{State: finding.RetestFailed, Note: noRetest})
		}),
	})
	queue.Handle(q, queue.Handler[proof.ReplayArgs]{
		Work: args(func(ctx context.Context, a proof.ReplayArgs) error {
			return w.Proofs.RunReplay(ctx, a, w.Engines, w.Deny)
		}),
		GiveUp: giveUp(w, func(ctx context.Context, tx *db.Tx, a proof.ReplayArgs) error {
			return w.Proofs.GiveUp(ctx, tx, a, "The replay could not be run. The server's log says why.")
		}),
	})
	queue.Handle(q, queue.Handler[network.ReplayArgs]{
		Work: args(w.replayRequest),
		GiveUp: giveUp(w, func(ctx context.Context, tx *db.Tx, a network.ReplayArgs) error {
			return w.Network.EndReplay(ctx, tx, a, network.Outgoing{}, traffic.Exchange{},
				"The replay could not be run. The server's log says why.")
		}),
	})
	queue.Handle(q, queue.Handler[finding.NewsArgs]{Quick: true, Work: args(w.tellOfFindings)})
	queue.Handle(q, queue.Handler[finding.FileArgs]{
		Quick: true, MaxAttempts: ticketAttempts, Backoff: w.Backoff, Work: args(w.Tickets.FileOne),
	})
	queue.Handle(q, queue.Handler[finding.TicketArgs]{
		Quick: true, MaxAttempts: ticketAttempts, Backoff: w.Backoff, Work: args(w.Tickets.Sync),
	})
	queue.Handle(q, queue.Handler[arrival.Args]{Quick: true, Work: args(w.Triage.Arrived)})
	queue.Handle(q, queue.Handler[triage.NotifyArgs]{Quick: true, Work: args(w.alertOfRule)})
	queue.Handle(q, queue.Handler[ticket.PollArgs]{
		Quick: true, MaxAttempts: ticketAttempts, Backoff: w.Backoff, Work: args(w.Tickets.Poll),
	})

	queue.Handle(q, queue.Handler[enumeration.BeginArgs]{
		Quick: true, Work: args(w.Enumerations.Begin), GiveUp: giveUp(w, w.Enumerations.GiveUpBegin),
	})
	queue.Handle(q, queue.Handler[enumeration.ChunkArgs]{
		Work: args(func(ctx context.Context, a enumeration.ChunkArgs) error {
			return w.Enumerations.RunChunk(ctx, a, w.discovery)
		}),
		GiveUp: giveUp(w, w.Enumerations.GiveUpChunk),
	})
	queue.Handle(q, queue.Handler[enumeration.AlertArgs]{Quick: true, Work: args(w.alertOfEnumeration)})
	queue.Handle(q, queue.Handler[enumeration.ScanArgs]{Work: args(w.scanNewAssets)})
	queue.Handle(q, queue.Handler[enumeration.TidyArgs]{Work: args(w.Enumerations.Tidy)})
	queue.Handle(q, queue.Handler[enumeration.PurgeArgs]{MaxAttempts: purgeAttempts, Work: args(w.Enumerations.Purge)})

	queue.Handle(q, queue.Handler[asset.LabelArgs]{Work: w.Assets.RunLabels})
	queue.Handle(q, queue.Handler[policy.RunArgs]{Work: w.Policies.Run})
	queue.Handle(q, queue.Handler[policy.AlertArgs]{Quick: true, Work: args(w.alertOfPolicy)})
	queue.Handle(q, queue.Handler[domain.SearchArgs]{
		Work: args(w.searchDomain), Timeout: searchTimeout, MaxAttempts: searchAttempts,
		GiveUp: giveUp(w, w.Related.Domains.Finish),
	})
	queue.Handle(q, queue.Handler[domain.VerifyArgs]{Quick: true, Work: args(w.Related.Domains.Check)})
	queue.Handle(q, queue.Handler[export.RunArgs]{
		Work: w.makeExport,
		GiveUp: giveUp(w, func(ctx context.Context, tx *db.Tx, a export.RunArgs) error {
			return w.Reports.GiveUp(ctx, tx, a.ExportID)
		}),
	})
	queue.Handle(q, queue.Handler[reportschedule.FailedArgs]{Quick: true, Work: args(w.tellOfFailedReport)})
	queue.Handle(q, queue.Handler[notification.Args]{
		Quick: true, MaxAttempts: notificationAttempts, Backoff: w.Backoff,
		Work: args(func(ctx context.Context, a notification.Args) error { return w.dispatcher.Send(ctx, a.ID) }),
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[notification.Args], cause error) error {
			return w.Notifications.End(ctx, tx, job.Args.ID, notification.Failed, cause.Error())
		},
	})

	queue.Handle(q, queue.Handler[task.RunArgs]{
		Work: args(w.runTask),
		GiveUp: giveUp(w, func(ctx context.Context, tx *db.Tx, a task.RunArgs) error {
			return w.Tasks.GiveUp(ctx, tx, a, "The task could not be run. The server's log says why.")
		}),
	})
	queue.Handle(q, queue.Handler[task.RetestArgs]{
		Work: args(w.retestIssue),
		GiveUp: giveUp(w, func(ctx context.Context, tx *db.Tx, a task.RetestArgs) error {
			return w.Tasks.EndRetest(ctx, tx, a, task.RetestFailed, noRetest)
		}),
	})
	queue.Handle(q, queue.Handler[knowledge.IndexArgs]{
		Work: args(w.Knowledge.Index), Timeout: knowledgeTimeout, GiveUp: giveUp(w, w.Knowledge.GiveUp),
	})
	queue.Handle(q, queue.Handler[review.RunArgs]{
		Backoff: w.Backoff, Work: w.Reviews.Run, GiveUp: giveUp(w, w.Reviews.GiveUp),
	})
	queue.Handle(q, queue.Handler[review.ReleaseArgs]{Quick: true, Backoff: w.Backoff, Work: w.Reviews.Release})
	queue.Handle(q, queue.Handler[chat.EventArgs]{
		Quick: true, MaxAttempts: chatAttempts, Backoff: w.Backoff, Work: w.Chats.Act, GiveUp: w.Chats.GiveUpAct,
	})
	queue.Handle(q, queue.Handler[chat.PostArgs]{
		Quick: true, MaxAttempts: chatAttempts, Backoff: w.Backoff, Work: w.Chats.Post, GiveUp: w.Chats.GiveUpPost,
	})
	queue.Handle(q, queue.Handler[task.TellArgs]{Quick: true, Work: args(w.Chats.Tell)})
	queue.Handle(q, queue.Handler[review.ObeyArgs]{Quick: true, Backoff: w.Backoff, Work: w.Reviews.Obey})
	queue.Handle(q, queue.Handler[knowledge.EmbedArgs]{
		Work: args(w.Knowledge.Embed), Timeout: knowledgeTimeout, GiveUp: giveUp(w, w.Knowledge.GiveUpEmbed),
	})
	queue.Handle(q, queue.Handler[hook.DeliverArgs]{Quick: true, Work: args(w.deliver)})
}

const noRetest = "The retest could not be run. The server's log says why."

// args makes a handler of a function that needs only the arguments of a job.
func args[T queue.Args](do func(context.Context, T) error) func(context.Context, queue.Job[T]) error {
	return func(ctx context.Context, job queue.Job[T]) error { return do(ctx, job.Args) }
}

// giveUp logs the arguments and the error of a job that the queue will not run again, and calls do to record its
// failure.
func giveUp[T queue.Args](
	w worker, do func(context.Context, *db.Tx, T) error,
) func(context.Context, *db.Tx, queue.Job[T], error) error {
	return func(ctx context.Context, tx *db.Tx, job queue.Job[T], cause error) error {
		w.Logger.ErrorContext(ctx, "giving up a job", "kind", job.Args.Kind(), "args", job.Args, "error", cause)
		return do(ctx, tx, job.Args)
	}
}
